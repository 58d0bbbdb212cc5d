"""11 points in the triangle (0, 0), (1, 0), (0, 1).

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
POINTS = [
    (0.524526, 0.201441),
    (0.009484, 0.734816),
    (0.095025, 0.597514),
    (0.079518, 0.916116),
    (0.472804, 0.402581),
    (0.413292, 0.292296),
    (0.824009, 0.093372),
    (0.163862, 0.11459),
    (0.176337, 0.358834),
    (0.409922, 0.470921),
    (0.244811, 0.264241),
]


def layout():
    """The points."""
    return POINTS


# EVOLVE-BLOCK-END


def points():
    """Points [x, y]."""
    return [inside(float(x), float(y)) for x, y in layout()[:11]]


def inside(x, y):
    """A point, moved into the triangle."""
    x, y = min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)
    return [x, y] if x + y <= 1 - 1e-15 else [x / (x + y) * (1 - 1e-12), y / (x + y) * (1 - 1e-12)]
