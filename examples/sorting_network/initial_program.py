"""A sorting network for ten values, as a list of comparators.

Only what stands between the two markers may change. `network` below them makes any list of comparators a network that
sorts: it drops those that never exchange anything, and finishes with rounds of neighbours what is left unsorted.
"""

WIRES = 10

# EVOLVE-BLOCK-START
COMPARATORS = [
    (0, 5), (1, 6), (2, 7), (3, 8), (4, 9),
    (0, 3), (5, 8), (1, 4), (6, 9), (2, 5),
    (0, 2), (3, 6), (7, 9), (1, 3), (4, 7),
    (0, 1), (2, 4), (5, 7), (8, 9), (3, 5),
    (1, 2), (3, 4), (5, 6), (7, 8), (4, 6),
    (2, 3), (4, 5), (6, 7), (1, 2), (7, 8),
]  # fmt: skip


def comparators():
    """Pairs of wires, in the order in which they are compared."""
    return [(int(one) % WIRES, int(two) % WIRES) for one, two in COMPARATORS]


# EVOLVE-BLOCK-END


def network():
    """Comparators [i, j] with i < j; each puts the smaller value on wire i."""
    inputs = 1 << WIRES
    # Bit b of wire w is the value that input b has there; all 0-1 inputs are sorted at once.
    wires = [sum(1 << bit for bit in range(inputs) if bit >> wire & 1) for wire in range(WIRES)]
    kept = []

    def compare(one, two):
        one, two = min(one, two), max(one, two)
        if wires[one] & ~wires[two]:
            wires[one], wires[two] = wires[one] & wires[two], wires[one] | wires[two]
            kept.append([one, two])

    for one, two in comparators()[:100]:
        compare(one, two)
    for turn in range(WIRES):
        for wire in range(turn % 2, WIRES - 1, 2):
            compare(wire, wire + 1)
    return kept
