"""14 points in 3 dimensions.

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
POINTS = [
    (0.4615, 0.3592, 0.1849),
    (0.1891, 0.0805, 0.7433),
    (0.2687, 0.9181, 0.0765),
    (0.2373, 0.4994, 0.0525),
    (0.1383, 0.9167, 0.4448),
    (0.874, 0.806, 0.5875),
    (0.9039, 0.0077, 0.1481),
    (0.867, 0.5052, 0.0764),
    (0.4607, 0.9073, 0.6898),
    (0.8304, 0.902, 0.1455),
    (0.2966, 0.3807, 0.724),
    (0.3662, 0.3083, 0.9994),
    (0.9302, 0.2416, 0.4168),
    (0.559, 0.7337, 0.9488),
]


def layout():
    """The points."""
    return POINTS


# EVOLVE-BLOCK-END


def points():
    """Points of as many coordinates."""
    return [[float(part) for part in point] for point in layout()]
