"""Checks that a network sorts all 4,096 inputs of zeros and ones, and so all inputs (the zero-one principle)."""

WIRES = 12
MAX_COUNT = 500


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    network = outputs[0]["value"]
    if not isinstance(network, list) or len(network) > MAX_COUNT or not all(map(is_comparator, network)):
        return {"error": f"network() must return at most {MAX_COUNT} pairs [a, b] with 0 <= a < b < {WIRES}"}
    wires = start()
    for a, b in network:
        wires[a], wires[b] = wires[a] & wires[b], wires[a] | wires[b]
    for wire in range(WIRES - 1):
        if wrong := wires[wire] & ~wires[wire + 1]:
            number = wrong.bit_length() - 1
            return {"error": f"the input {number:012b} is not sorted"}
    depth = [0] * WIRES
    for a, b in network:
        depth[a] = depth[b] = max(depth[a], depth[b]) + 1
    return {"comparators": len(network), "layers": max(depth), "view": drawn(network)}


def start():
    """For each wire a whole number with a bit for each of the inputs."""
    return [sum(1 << number for number in range(2**WIRES) if number >> (WIRES - 1 - wire) & 1) for wire in range(WIRES)]


def is_comparator(pair):
    whole = isinstance(pair, list) and len(pair) == 2 and all(type(wire) is int for wire in pair)
    return whole and 0 <= pair[0] < pair[1] < WIRES


def drawn(network):
    """The comparators as lines between wires."""
    width = 10 * (len(network) + 2)
    lines = [f'<path d="M0 {20 * wire + 10}H{width}" stroke="#999"/>' for wire in range(WIRES)]
    for place, (a, b) in enumerate(network):
        x = 10 * (place + 1)
        lines.append(f'<path d="M{x} {20 * a + 10}V{20 * b + 10}" stroke="#0072b2" stroke-width="2"/>')
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 240" width="{width}">{"".join(lines)}</svg>'
