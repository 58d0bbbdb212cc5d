"""A second check of Heilbronn's problem, written apart from the first: areas by the shoelace formula in fractions.

The hull is found by its definition: a pair of points is a side when no point lies to the right of it.
"""

import math
from fractions import Fraction


def score(outputs, count, *, convex):
    """Score points of the triangle (0, 0), (1, 0), (0, 1), or of the plane in relation to their hull."""
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    points = [(Fraction(x), Fraction(y)) for x, y in outputs[0]["value"]]
    if len(points) != count or len(set(points)) != count:
        return {"error": f"{len(set(points))} different points instead of {count}"}
    if not convex and any(min(x, y, 1 - x - y) < 0 for x, y in points):
        return {"error": "a point is not in the triangle"}
    whole = _hull_area(points) if convex else Fraction(1, 2)
    if not whole:
        return {"error": "the points have no hull"}
    smallest = whole
    for first in range(count):
        for second in range(first):
            for third in range(second):
                smallest = min(smallest, abs(_shoelace([points[first], points[second], points[third]])))
    share = smallest / whole
    rounded = float(share)
    return {"smallest_area": rounded if Fraction(rounded) <= share else math.nextafter(rounded, -math.inf)}


def _shoelace(corners):
    turned = [*corners[1:], corners[0]]
    return sum(one[0] * two[1] - two[0] * one[1] for one, two in zip(corners, turned, strict=True)) / 2


def _hull_area(points):
    total = Fraction(0)
    for start in points:
        for end in points:
            sides = [_shoelace([start, end, other]) for other in points if other not in (start, end)]
            between = any(
                not side
                and (other[0] - start[0]) * (other[0] - end[0]) + (other[1] - start[1]) * (other[1] - end[1]) > 0
                for side, other in zip(sides, [other for other in points if other not in (start, end)], strict=True)
            )
            if start != end and min(sides) >= 0 and not between:
                total += (start[0] * end[1] - end[0] * start[1]) / 2
    return total
