"""11 hexagons of side 1.

Only what stands between the two markers may change. `hexagons` below them scales any layout until it is valid.
"""

import math


def hexagons():
    """Entries [x, y, degrees], moved apart until no two overlap."""
    placed = [[float(part) for part in one] for one in layout()[:11]]
    low, high = 0.05, 8.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if valid(scaled(placed, middle)) else (middle, high)
    return scaled(placed, high)


# EVOLVE-BLOCK-START
PLACED = [
    (0.2, 0.1, 30.0),
    (-1.5321, 0.1, 30.0),
    (1.9321, 0.1, 30.0),
    (-0.666, 1.6, 30.0),
    (-0.666, -1.4, 30.0),
    (1.066, 1.6, 30.0),
    (1.066, -1.4, 30.0),
    (-3.2641, 0.1, 30.0),
    (3.6641, 0.1, 30.0),
    (-2.3981, 1.6, 30.0),
    (-1.5321, 3.1, 30.0),
]
