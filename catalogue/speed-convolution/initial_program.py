"""A convolution by its definition.

Only what stands between the two markers may change.
"""


# EVOLVE-BLOCK-START
def convolved(one, two):
    """Sums of products, entry by entry."""
    found = []
    for place in range(len(one) + len(two) - 1):
        total = 0
        for a in range(len(one)):
            if 0 <= place - a < len(two):
                total += one[a] * two[place - a]
        found.append(total)
    return found


# EVOLVE-BLOCK-END


def solve(one, two):
    return convolved(one, two)
