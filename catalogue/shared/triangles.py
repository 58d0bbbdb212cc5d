"""Heilbronn's problem: points whose smallest triangle is as large as possible, in exact fractions."""

from fractions import Fraction
from itertools import combinations, pairwise

import exact


def score_triangle(outputs, count):
    """Score points of the triangle (0, 0), (1, 0), (0, 1): the smallest area as a share of the triangle's.

    An affine map takes every triangle to this one and keeps the shares.
    """
    points, complaint = _read(outputs, count)
    if complaint:
        return {"error": complaint}
    for number, (x, y) in enumerate(points):
        if x < 0 or y < 0 or x + y > 1:
            return {"error": f"point {number} lies outside of the triangle x >= 0, y >= 0, x + y <= 1"}
    corners = [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))]
    return _scored(points, corners, Fraction(1))


def score_convex(outputs, count):
    """Score points of the plane: the smallest area as a share of the area of their convex hull."""
    points, complaint = _read(outputs, count)
    if complaint:
        return {"error": complaint}
    corners = hull(points)
    whole = sum(_twice(corners[0], one, two) for one, two in pairwise(corners[1:]))
    if not whole:
        return {"error": "all points lie on one line"}
    return _scored(points, corners, whole)


def hull(points):
    """Corners of the convex hull, anticlockwise (Andrew's monotone chain)."""
    ordered = sorted({(x, y) for x, y in points})
    chains = []
    for chain in (ordered, ordered[::-1]):
        kept = []
        for point in chain:
            while len(kept) > 1 and _twice(kept[-2], kept[-1], point) <= 0:
                kept.pop()
            kept.append(point)
        chains.append(kept[:-1])
    return [*chains[0], *chains[1]]


def _read(outputs, count):
    if outputs[0]["error"]:
        return [], outputs[0]["error"]
    return exact.read_rows(outputs[0]["value"], count, 2, "point")


def _scored(points, corners, whole):
    whole_points, unit = exact.to_integers(points)
    smallest, named = min(
        (abs(_twice(*(whole_points[place] for place in named))), named) for named in combinations(range(len(points)), 3)
    )
    share = Fraction(smallest, unit * unit) / whole
    if not share:
        return {"error": f"points {', '.join(map(str, named))} lie on one line"}
    radius = 0.012 * max(float(x) - float(corners[0][0]) for x, _ in corners)
    low_x, low_y = (min(float(corner[axis]) for corner in corners) for axis in (0, 1))
    high_x, high_y = (max(float(corner[axis]) for corner in corners) for axis in (0, 1))
    shapes = [exact.polygon(corners, fill="#fff"), exact.polygon([points[place] for place in named], fill="#e69f00")]
    shapes += [exact.dot(x, y, abs(radius) or 0.01) for x, y in points]
    return {
        "smallest_area": exact.float_below(share),
        "feedback": f"the smallest triangle has the points {named[0]}, {named[1]} and {named[2]}",
        "view": exact.drawing(shapes, low_x, low_y, high_x - low_x, high_y - low_y),
    }


def _twice(one, two, three):
    return (two[0] - one[0]) * (three[1] - one[1]) - (three[0] - one[0]) * (two[1] - one[1])
