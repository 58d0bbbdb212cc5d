"""Packs items online by a table of priorities; the items are drawn here, and no program ever sees them.

A program decides by the size of the item and the room of the bin alone, for all sizes in advance, so it cannot look
ahead, overfill a bin or repack. Bins are counted in whole numbers. No packing, online or not, needs fewer than the
bound L2 of Martello and Toth.
"""

import math
import random

CAPACITY = 100
ITEMS = 1000
SCORED = range(1, 6)
UNSEEN = range(101, 106)


def draw(seed):
    """Items of FunSearch's kind: Weibull with shape 3 and scale 45, as whole numbers from 1 to 100."""
    chance = random.Random(seed)
    return [min(CAPACITY, max(1, round(chance.weibullvariate(45, 3)))) for _ in range(ITEMS)]


def minimum(items):
    """The bound L2: for each threshold, the bins of the large items and what the small ones need beyond their room."""
    count = [items.count(size) for size in range(CAPACITY + 1)]
    half, best = CAPACITY // 2, 0
    for small in range(half + 1):
        alone = sum(count[half + 1 :])
        room = sum(count[size] * (CAPACITY - size) for size in range(half + 1, CAPACITY - small + 1))
        rest = sum(count[size] * size for size in range(small, half + 1))
        best = max(best, alone + max(0, -(-(rest - room) // CAPACITY)))
    return best


def used(items, order):
    """Bins that a packing takes."""
    return sum(packed(items, order))


def packed(items, order):
    """How many bins of a packing have each room left; `order[item]` lists the rooms from the most wanted one."""
    bins = [0] * (CAPACITY + 1)
    for item in items:
        room = next(room for room in order[item] if bins[room] or room == CAPACITY)
        bins[room] -= room != CAPACITY
        bins[room - item] += 1
    return bins


def score(outputs, program):  # noqa: ARG001 - every scorer is given the program too
    order, complaint = wanted(outputs[0])
    if complaint:
        return {"error": complaint}
    bins = [used(items, order) for items in INSTANCES]
    return {
        "excess_percent": excess(bins, BOUNDS),
        "cases": {f"seed {seed}": bound / count for seed, bound, count in zip(SCORED, BOUNDS, bins, strict=True)},
        "feedback": f"bins {bins}, at least {BOUNDS} are needed",
    }


def render(outputs):
    """The first packing as a plot, drawn when somebody looks at it: how many of its bins were left with which room."""
    order, _ = wanted(outputs[0])
    bins = packed(INSTANCES[0], order)
    rooms = [room for room in range(CAPACITY) if bins[room]]
    return {
        "series": [{"x": rooms, "y": [bins[room] for room in rooms], "kind": "bars"}],
        "title": f"Instance 1: {sum(bins)} bins, at least {BOUNDS[0]} are needed",
        "x_label": "room that is left in a bin",
        "y_label": "bins",
    }


def holdout(outputs, program):  # noqa: ARG001 - as `score`
    """The same on instances that no search is scored by: Evolve asks for it once a run has ended."""
    order, complaint = wanted(outputs[0])
    if complaint:
        return {"error": complaint}
    return {"excess_percent": excess([used(items, order) for items in FRESH], FRESH_BOUNDS)}


def wanted(output):
    """The rooms for each item from the most wanted one, or a complaint."""
    table, complaint = ([], output["error"]) if output["error"] else read(output["value"])
    return {item: ranked(item, row) for item, row in enumerate(table, 1)}, complaint


def read(value):
    """The priorities by item and room, or a complaint."""
    complaint = f"table() must return {CAPACITY} rows of finite numbers; row i is for the rooms from i to {CAPACITY}"
    if not isinstance(value, list) or len(value) != CAPACITY:
        return [], complaint
    for item, row in enumerate(value, 1):
        if not isinstance(row, list) or len(row) != CAPACITY + 1 - item or not all(is_finite(part) for part in row):
            return [], complaint
    return value, ""


def is_finite(part):
    if isinstance(part, bool) or not isinstance(part, (int, float)):
        return False
    return isinstance(part, int) or math.isfinite(part)


def ranked(item, row):
    """Rooms from the highest priority down; of equal ones the tighter first."""
    return sorted(range(item, CAPACITY + 1), key=lambda room: (-row[room - item], room))


def excess(bins, bounds):
    return 100 * (sum(bins) - sum(bounds)) / sum(bounds)


INSTANCES = [draw(seed) for seed in SCORED]
FRESH = [draw(seed) for seed in UNSEEN]
BOUNDS = [minimum(items) for items in INSTANCES]
FRESH_BOUNDS = [minimum(items) for items in FRESH]
