"""Edit distance by the textbook's table.

Only what stands between the two markers may change.
"""


# EVOLVE-BLOCK-START
def distance(one, two):
    """The least number of changes."""
    rows = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for place in range(len(one) + 1):
        rows[place][0] = place
    for place in range(len(two) + 1):
        rows[0][place] = place
    for a in range(1, len(one) + 1):
        for b in range(1, len(two) + 1):
            change = 0 if one[a - 1] == two[b - 1] else 1
            rows[a][b] = min(rows[a - 1][b] + 1, rows[a][b - 1] + 1, rows[a - 1][b - 1] + change)
    return rows[-1][-1]


# EVOLVE-BLOCK-END


def solve(one, two):
    return distance(one, two)
