"""14 points in the plane.

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
POINTS = [
    (0.611946, 0.108194),
    (0.36944, 0.248268),
    (0.327268, 0.657857),
    (0.81707, 0.474988),
    (0.958002, 0.147531),
    (0.16899, 0.755822),
    (0.120339, 0.278605),
    (0.109025, 0.443348),
    (0.348832, 0.066117),
    (0.93921, 0.560009),
    (0.722784, 0.15357),
    (0.160845, 0.085995),
    (0.564738, 0.951136),
    (0.789727, 0.257416),
]


def layout():
    """The points."""
    return POINTS


# EVOLVE-BLOCK-END


def points():
    """Points [x, y]."""
    return [[float(x), float(y)] for x, y in layout()[:14]]
