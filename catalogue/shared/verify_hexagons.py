"""Checks hexagons by other means: their corners as decimals of 80 digits, with room for their errors.

A pair overlaps unless a line along a side of one of them has the other beyond it, with at most 1e-50 to spare.
"""

import math
from decimal import Decimal, localcontext

SLACK = Decimal("1e-50")


def score(outputs, count):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    with localcontext() as context:
        context.prec = 80
        hexagons = [corners(*map(Decimal, row)) for row in outputs[0]["value"]]
        if len(hexagons) != count:
            return {"error": f"{len(hexagons)} hexagons instead of {count}"}
        for place, one in enumerate(hexagons):
            for two in hexagons[:place]:
                if not (beyond(one, two) or beyond(two, one)):
                    return {"error": f"hexagon {place} overlaps an earlier one"}
        root = Decimal(3).sqrt()
        reach = max(
            abs(size) for one in hexagons for x, y in one for size in (x + y / root, x - y / root, 2 * y / root)
        )
        return {"outer_side": up(reach)}


def corners(x, y, degrees):
    """Corners by turning the first one by 60 degrees again and again."""
    tangent = Decimal(math.tan(math.radians(float(degrees) % 60) / 2))
    across, along = (1 - tangent**2) / (1 + tangent**2), 2 * tangent / (1 + tangent**2)
    root, found = Decimal(3).sqrt(), []
    for _ in range(6):
        found.append((x + across, y + along))
        across, along = (across - root * along) / 2, (root * across + along) / 2
    return found


def beyond(one, two):
    """Whether a line along a side of a hexagon has all corners of another one beyond it."""
    for (x, y), (next_x, next_y) in zip(one, [*one[1:], one[0]], strict=True):
        if all((next_x - x) * (b - y) - (next_y - y) * (a - x) <= SLACK for a, b in two):
            return True
    return False


def up(reach):
    """The smallest float that is not below, but for the error of the decimals."""
    rounded = float(reach)
    below = math.nextafter(rounded, -math.inf)
    if Decimal(below) >= reach - SLACK:
        return below
    return rounded if Decimal(rounded) >= reach - SLACK else math.nextafter(rounded, math.inf)
