"""12 hexagons of side 1.

Only what stands between the two markers may change. `hexagons` below them scales any layout until it is valid.
"""

import math

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
    (-2.3981, -1.4, 30.0),
]


def layout():
    """Centre and direction of each."""
    return PLACED


# EVOLVE-BLOCK-END


def hexagons():
    """Entries [x, y, degrees], moved apart until no two overlap."""
    placed = [[float(part) for part in one] for one in layout()[:12]]
    low, high = 0.05, 8.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if valid(scaled(placed, middle)) else (middle, high)
    return scaled(placed, high)


def scaled(placed, factor):
    return [[x * factor, y * factor, degrees] for x, y, degrees in placed]


def valid(placed):
    shapes = [corners(*one) for one in placed]
    return all(
        math.dist(placed[one][:2], placed[two][:2]) >= 2
        or divided(shapes[one], shapes[two])
        or divided(shapes[two], shapes[one])
        for one in range(len(placed))
        for two in range(one)
    )


def corners(x, y, degrees):
    angles = [math.radians(degrees + 60 * turn) for turn in range(6)]
    return [(x + math.cos(angle), y + math.sin(angle)) for angle in angles]


def divided(one, two):
    """Whether a side of one has the other beyond it, by a hair more than needed."""
    for place in range(6):
        (x, y), (next_x, next_y) = one[place], one[(place + 1) % 6]
        if all((next_x - x) * (b - y) - (next_y - y) * (a - x) <= -1e-12 for a, b in two):
            return True
    return False
