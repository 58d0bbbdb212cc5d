"""Points whose largest distance is a small multiple of their smallest, in exact fractions."""

from fractions import Fraction
from itertools import combinations

import exact


def score(outputs, count, dimensions):
    """Score points: the square of the largest distance over the square of the smallest."""
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    points, complaint = exact.read_rows(outputs[0]["value"], count, dimensions, "point")
    if complaint:
        return {"error": complaint}
    whole, _ = exact.to_integers(points)
    squares = {
        (one, two): sum((a - b) ** 2 for a, b in zip(whole[one], whole[two], strict=True))
        for one, two in combinations(range(count), 2)
    }
    nearest, farthest = min(squares, key=squares.get), max(squares, key=squares.get)
    if not squares[nearest]:
        return {"error": f"points {nearest[0]} and {nearest[1]} are the same"}
    return {
        "squared_ratio": exact.float_above(Fraction(squares[farthest], squares[nearest])),
        "feedback": f"points {nearest[0]} and {nearest[1]} are nearest, {farthest[0]} and {farthest[1]} farthest",
        "view": _drawn([[float(part) for part in point] for point in points], nearest, farthest),
    }


def _drawn(points, nearest, farthest):
    """The points from above; a third coordinate is the size of the dot."""
    lows, highs = ([limit(axis) for axis in zip(*points, strict=True)] for limit in (min, max))
    size = max(high - low for low, high in zip(lows, highs, strict=True)) or 1.0
    deep = [(point[2] - lows[2]) / size if len(point) > 2 else 0.5 for point in points]
    shapes = [exact.polygon([points[place][:2] for place in pair]) for pair in (nearest, farthest)]
    shapes += [exact.dot(*point[:2], size * (0.012 + 0.02 * part)) for point, part in zip(points, deep, strict=True)]
    return exact.drawing(shapes, lows[0], lows[1], highs[0] - lows[0], highs[1] - lows[1])
