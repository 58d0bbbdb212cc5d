"""A sorting network for twelve wires: chosen comparators, then a bubble sort, without those that never swap.

Only what stands between the two markers may change. `network` below them makes any list a valid network.
"""

WIRES = 12

# EVOLVE-BLOCK-START
CHOSEN = [
    (0, 6), (1, 7), (2, 8), (3, 9), (4, 10), (5, 11),
    (0, 3), (1, 4), (2, 5), (6, 9), (7, 10), (8, 11),
    (0, 1), (3, 4), (6, 7), (9, 10), (1, 2), (4, 5), (7, 8), (10, 11),
]  # fmt: skip


def comparators():
    """The first comparators, in their order."""
    return CHOSEN


# EVOLVE-BLOCK-END


def network():
    """Pairs [a, b] that sort."""
    chosen = [sorted((int(a) % WIRES, int(b) % WIRES)) for a, b in comparators()][:300]
    bubble = [[wire, wire + 1] for last in range(WIRES - 1, 0, -1) for wire in range(last)]
    wires = [sum(1 << number for number in range(2**WIRES) if number >> wire & 1) for wire in range(WIRES)]
    kept = []
    for a, b in [*chosen, *bubble]:
        if a != b and wires[a] & ~wires[b]:
            wires[a], wires[b] = wires[a] & wires[b], wires[a] | wires[b]
            kept.append([a, b])
    return kept
