"""Connected components by labels that are lowered again and again.

Only what stands between the two markers may change.
"""


# EVOLVE-BLOCK-START
def components(count, edges):
    """The number of components."""
    labels = list(range(count))
    changed = True
    while changed:
        changed = False
        for one, two in edges:
            if labels[one] != labels[two]:
                high, low = max(labels[one], labels[two]), min(labels[one], labels[two])
                labels = [low if label == high else label for label in labels]
                changed = True
    return len(set(labels))


# EVOLVE-BLOCK-END


def solve(count, edges):
    return components(count, edges)
