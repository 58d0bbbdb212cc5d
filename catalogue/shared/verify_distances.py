"""Checks the distances of points by other means: each pair in floats of 1,000 digits, rounded up."""

import math
from decimal import Context, Decimal, localcontext


def score(outputs, count, dimensions):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    with localcontext(Context(prec=1000)):
        points = [[Decimal(part) for part in point] for point in outputs[0]["value"]]
        if len(points) != count or any(len(point) != dimensions for point in points):
            return {"error": "the number of points or of their coordinates is wrong"}
        squares = [
            sum((a - b) ** 2 for a, b in zip(one, two, strict=True))
            for one in points
            for two in points
            if one is not two
        ]
        if not min(squares):
            return {"error": "two points are the same"}
        ratio = max(squares) / min(squares)
        rounded = float(ratio)
        return {"squared_ratio": rounded if Decimal(rounded) >= ratio else math.nextafter(rounded, math.inf)}
