"""Weights of a few whole numbers, for Chebyshev's bound.

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
WEIGHTS = [
    (2, -1.0),
    (3, -1.0),
    (4, 0.0),
    (5, -0.2),
    (6, 0.5),
    (7, 0.0),
    (10, 0.0),
    (12, 0.0),
    (15, 0.0),
    (30, 0.0),
    (42, 0.0),
    (60, 0.0),
]

# EVOLVE-BLOCK-END


def weights():
    """Pairs [k, f]; of equal k the first."""
    found = {}
    for k, weight in WEIGHTS:
        found.setdefault(int(k), float(weight))
    return [[k, weight] for k, weight in found.items()]
