"""Regular hexagons of side 1 in a regular hexagon as small as possible, with exact signs.

The direction of a hexagon is given by t = tan(angle / 2), a float, so its cosine and sine are fractions. Every corner
then has coordinates a + b * sqrt(3) with fractions a and b, and the sign of such a number is decided without rounding.
"""

import math
from fractions import Fraction

import exact

SIDES = 6
# The directions of the corners of a hexagon: cosine and sine of multiples of 60 degrees, as a + b * sqrt(3).
HALF = Fraction(1, 2)
TURNS = [
    ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(0))),
    ((HALF, Fraction(0)), (Fraction(0), HALF)),
    ((-HALF, Fraction(0)), (Fraction(0), HALF)),
    ((Fraction(-1), Fraction(0)), (Fraction(0), Fraction(0))),
    ((-HALF, Fraction(0)), (Fraction(0), -HALF)),
    ((HALF, Fraction(0)), (Fraction(0), -HALF)),
]


def score(outputs, count):
    """Score hexagons [x, y, degrees] by the side of the smallest hexagon around (0, 0) that holds them."""
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    rows, complaint = exact.read_rows(outputs[0]["value"], count, 3, "hexagon")
    if complaint:
        return {"error": complaint}
    hexagons = [corners(*row) for row in rows]
    for number, one in enumerate(hexagons):
        for other in range(number):
            if not _far(rows[number], rows[other]) and not apart(one, hexagons[other]):
                return {"error": f"hexagons {other} and {number} overlap"}
    side = outer_side(hexagons)
    outer = [(side * math.cos(math.pi * turn / 3), side * math.sin(math.pi * turn / 3)) for turn in range(SIDES)]
    shapes = [exact.polygon(outer, fill="#fff")]
    shapes += [exact.polygon([(_float(x), _float(y)) for x, y in one], fill="#0072b2") for one in hexagons]
    turned = sum(1 for row in rows if row[2] % 60)
    return {
        "outer_side": side,
        "turned": turned,
        "feedback": f"{turned} of the hexagons do not have the direction of the outer one",
        "view": exact.drawing(shapes, -side, -side, 2 * side, 2 * side),
    }


def corners(x, y, degrees):
    """The corners of a hexagon, anticlockwise, each two numbers a + b * sqrt(3) as pairs."""
    half = Fraction(math.tan(math.radians(float(degrees) % 60) / 2))
    cosine, sine = (1 - half * half) / (1 + half * half), 2 * half / (1 + half * half)
    found = []
    for (cos_a, cos_b), (sin_a, sin_b) in TURNS:
        across = (x + cosine * cos_a - sine * sin_a, cosine * cos_b - sine * sin_b)
        along = (y + sine * cos_a + cosine * sin_a, sine * cos_b + cosine * sin_b)
        found.append((across, along))
    return found


def apart(one, two):
    """Whether two convex polygons share no inner point: a side of one has all corners of the other beyond it."""
    return any(_divides(near, far) for near, far in ((one, two), (two, one)))


def _divides(near, far):
    for place in range(SIDES):
        start, end = near[place], near[(place + 1) % SIDES]
        if all(sign(_turn(start, end, corner)) <= 0 for corner in far):
            return True
    return False


def _far(one, two):
    """Whether the circles around two hexagons do not overlap."""
    return (one[0] - two[0]) ** 2 + (one[1] - two[1]) ** 2 >= 4


def outer_side(hexagons):
    """The side of the smallest outer hexagon, rounded up.

    A corner (x, y) is inside a hexagon of side s when x + y / sqrt(3), x - y / sqrt(3) and 2 y / sqrt(3) are at most s
    in size. 1 / sqrt(3) is sqrt(3) / 3, so y / sqrt(3) for y = a + b sqrt(3) is b + a / 3 sqrt(3).
    """
    reach = (Fraction(0), Fraction(0))
    for across, along in (corner for one in hexagons for corner in one):
        third = (along[1], along[0] / 3)
        for tried in (_plus(across, third), _minus(across, third), _plus(third, third)):
            size = tried if sign(tried) >= 0 else _minus((0, 0), tried)
            reach = size if sign(_minus(size, reach)) > 0 else reach
    return _float_above(reach)


def _turn(start, end, corner):
    """Twice the area of a triangle."""
    left = _times(_minus(end[0], start[0]), _minus(corner[1], start[1]))
    right = _times(_minus(end[1], start[1]), _minus(corner[0], start[0]))
    return _minus(left, right)


def sign(number):
    """-1, 0 or 1: the sign of a + b * sqrt(3)."""
    a, b = number
    if a >= 0 and b >= 0:
        return 1 if a or b else 0
    if a <= 0 and b <= 0:
        return -1
    larger = a * a - 3 * b * b  # never 0: sqrt(3) is not a fraction
    return (1 if larger > 0 else -1) * (1 if a > 0 else -1)


def _plus(one, two):
    return (one[0] + two[0], one[1] + two[1])


def _minus(one, two):
    return (one[0] - two[0], one[1] - two[1])


def _times(one, two):
    return (one[0] * two[0] + 3 * one[1] * two[1], one[0] * two[1] + one[1] * two[0])


def _float(number):
    return float(number[0]) + float(number[1]) * math.sqrt(3)


def _float_above(number):
    """The smallest float that is not below a + b * sqrt(3)."""
    guess = _float(number)
    while sign(_minus(number, (Fraction(guess), Fraction(0)))) > 0:
        guess = math.nextafter(guess, math.inf)
    while sign(_minus(number, (Fraction(math.nextafter(guess, -math.inf)), Fraction(0)))) <= 0:
        guess = math.nextafter(guess, -math.inf)
    return guess
