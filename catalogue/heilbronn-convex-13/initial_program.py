"""13 points in the plane.

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
POINTS = [
    (0.354297, 0.935747),
    (0.030166, 0.004511),
    (0.452065, 0.495951),
    (0.806918, 0.516748),
    (0.472222, 0.170612),
    (0.964348, 0.6585),
    (0.029216, 0.301779),
    (0.449864, 0.764683),
    (0.816323, 0.675905),
    (0.324507, 0.228229),
    (0.116477, 0.115404),
    (0.138226, 0.571171),
    (0.302475, 0.694564),
]


def layout():
    """The points."""
    return POINTS


# EVOLVE-BLOCK-END


def points():
    """Points [x, y]."""
    return [[float(x), float(y)] for x, y in layout()[:13]]
