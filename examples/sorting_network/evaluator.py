"""Checks a sorting network on all 1,024 inputs of zeros and ones, which by the zero-one principle is on all inputs.

Comparators and layers are counted here, from the list alone. A layer is a set of comparators with no wire in common;
each comparator stands in the earliest one that its two wires allow: no other way gives fewer layers for this order.
"""

WIRES = 10
MAX_COMPARATORS = 100


def score(outputs, program):  # noqa: ARG001 - every scorer is given the program too
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    comparators = output["value"]
    if (
        not isinstance(comparators, list)
        or len(comparators) > MAX_COMPARATORS
        or not all(map(is_comparator, comparators))
    ):
        return {
            "error": f"network() must return at most {MAX_COMPARATORS} comparators [i, j],"
            f" whole numbers with 0 <= i < j < {WIRES}"
        }
    unsorted = unsorted_input(comparators)
    if unsorted:
        return {"error": f"the network does not sort {unsorted}"}
    depth = [0] * WIRES
    for one, two in comparators:
        depth[one] = depth[two] = max(depth[one], depth[two]) + 1
    return {
        "comparators": len(comparators),
        "layers": max(depth),
        "feedback": f"layers reached wire by wire: {depth}",
    }


def is_comparator(pair):
    whole = isinstance(pair, list) and len(pair) == 2
    return (
        whole
        and all(isinstance(wire, int) and not isinstance(wire, bool) for wire in pair)
        and (0 <= pair[0] < pair[1] < WIRES)
    )


def unsorted_input(comparators):
    """The first input of zeros and ones that is left unsorted, or an empty list."""
    for number in range(1 << WIRES):
        values = given = [number >> wire & 1 for wire in range(WIRES)]
        values = list(given)
        for one, two in comparators:
            if values[one] > values[two]:
                values[one], values[two] = values[two], values[one]
        if values != sorted(given):
            return given
    return []
