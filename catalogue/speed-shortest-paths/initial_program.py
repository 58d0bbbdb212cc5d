"""Shortest paths by relaxing every edge again and again.

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
ROUNDS = 400


def lengths(count, edges):
    """The length of the shortest path to each node; None: there is no path."""
    found = [0] + [None] * (count - 1)
    for _ in range(ROUNDS):
        before = list(found)
        for start, end, length in edges:
            if found[start] is not None and (found[end] is None or found[start] + length < found[end]):
                found[end] = found[start] + length
        if before == found:
            break
    return found


# EVOLVE-BLOCK-END


def solve(count, edges):
    return [-1 if length is None else length for length in lengths(count, edges)]
