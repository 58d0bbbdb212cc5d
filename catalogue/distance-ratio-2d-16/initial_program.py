"""16 points in 2 dimensions.

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
POINTS = [
    (0.0, 0.0),
    (1.0, 0.0),
    (2.0, 0.0),
    (3.0, 0.0),
    (0.5, 0.87),
    (1.5, 0.87),
    (2.5, 0.87),
    (3.5, 0.87),
    (0.0, 1.74),
    (1.0, 1.74),
    (2.0, 1.74),
    (3.0, 1.74),
    (0.5, 2.61),
    (1.5, 2.61),
    (2.5, 2.61),
    (3.5, 2.61),
]


def layout():
    """The points."""
    return POINTS


# EVOLVE-BLOCK-END


def points():
    """Points of as many coordinates."""
    return [[float(part) for part in point] for point in layout()]
