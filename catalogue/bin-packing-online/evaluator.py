"""Packs items by a table of priorities, and counts bins above a bound."""

CAPACITY, LOW, HIGH, ITEMS = 150, 20, 100, 500
SCORED, UNSEEN = (101, 202, 303, 404, 505), (611, 712, 813, 914, 1015)


def draws(seed):
    """Whole numbers below 2^31 - 1, by the generator of Lehmer, the same on every machine."""
    while True:
        seed = 48271 * seed % (2**31 - 1)
        yield seed


def items_of(seed):
    numbers = draws(seed)
    return [LOW + next(numbers) % (HIGH - LOW + 1) for _ in range(ITEMS)]


def score(outputs, program):
    return scored(outputs, SCORED)


def holdout(outputs, program):
    return scored(outputs, UNSEEN)


def scored(outputs, seeds):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    table = outputs[0]["value"]
    if not isinstance(table, list) or len(table) != HIGH - LOW + 1:
        return {"error": f"table() must return a row for each item from {LOW} to {HIGH}"}
    for item, row in enumerate(table, start=LOW):
        if not isinstance(row, list) or len(row) != CAPACITY - item + 1 or not all(map(is_number, row)):
            return {"error": f"the row of item {item} must have {CAPACITY - item + 1} finite numbers"}
    sets = [items_of(seed) for seed in seeds]
    bins = [packed(items, table) for items in sets]
    bounds = [-(-sum(items) // CAPACITY) for items in sets]
    return {
        "excess_percent": 100 * (sum(bins) - sum(bounds)) / sum(bounds),
        "cases": [bound / count for bound, count in zip(bounds, bins, strict=True)],
        "feedback": f"bins {bins}, bounds {bounds}",
        "view": {"series": [{"name": "priority by room, for an item of 40", "y": table[40 - LOW]}]},
    }


def packed(items, table):
    """How many bins the items need."""
    order = [preferred(item, row) for item, row in enumerate(table, start=LOW)]
    rooms = [0] * (CAPACITY + 1)  # bins by the room that is left
    count = 0
    for item in items:
        for room in order[item - LOW]:
            if room == CAPACITY or rooms[room]:
                break
        count += room == CAPACITY
        rooms[room] -= room != CAPACITY
        rooms[room - item] += 1
    return count


def preferred(item, row):
    """Rooms by priority, of equal ones the tighter first."""
    return sorted(range(item, CAPACITY + 1), key=lambda room: (-row[room - item], room))


def is_number(part):
    return isinstance(part, (int, float)) and not isinstance(part, bool) and abs(part) < 1e18
