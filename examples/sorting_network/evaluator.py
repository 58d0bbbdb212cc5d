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


def render(outputs):
    """The network as SVG: wires from left to right, comparators as bars between two of them, layer by layer."""
    depth, layers = [0] * WIRES, []
    for one, two in outputs[0]["value"]:
        layer = depth[one] = depth[two] = max(depth[one], depth[two]) + 1
        layers += [[] for _ in range(layer - len(layers))]
        layers[layer - 1].append((one, two))
    x, bars = 20, []
    for layer in layers:
        columns = []  # comparators whose wires cross each other stand side by side
        for one, two in layer:
            column = next((number for number, last in enumerate(columns) if last < one), len(columns))
            columns[column:] = [two, *columns[column + 1 :]]
            at, top, bottom = x + 8 * column, 15 + 20 * one, 15 + 20 * two
            bars.append(f'<path d="M{at} {top}V{bottom}"/><circle cx="{at}" cy="{top}" r="3"/>')
            bars.append(f'<circle cx="{at}" cy="{bottom}" r="3"/>')
        x += 8 * len(columns) + 14
    wires = "".join(f'<path d="M4 {15 + 20 * wire}H{x}"/>' for wire in range(WIRES))
    size = f'viewBox="0 0 {x + 4} {20 * WIRES + 10}" width="{2 * x + 8}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><g stroke="#999">{wires}</g>'
        f'<g stroke="#0072b2" stroke-width="2" fill="#0072b2">{"".join(bars)}</g></svg>'
    )


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
