"""A second check of circle packings, written apart from the first: in decimals of 2,000 digits, pair by pair.

Sums, products and differences of floats of a sensible size are exact in so many digits: a trap of the decimal context
raises where one is not.
"""

import decimal
import math

EXACT = decimal.Context(prec=2000, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])


def score(outputs, count, *, rectangle=False):
    """Score circles in the unit square, or in a rectangle of perimeter 4."""
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    with decimal.localcontext(EXACT):
        value = outputs[0]["value"]
        if rectangle and len(value) != 2:
            return {"error": f"{len(value)} values instead of the width and the circles"}
        width = decimal.Decimal(value[0]) if rectangle else decimal.Decimal(1)
        circles = [[decimal.Decimal(part) for part in circle] for circle in (value[1] if rectangle else value)]
        if len(circles) != count:
            return {"error": f"{len(circles)} circles instead of {count}"}
        complaint = _complaint(circles, width, 2 - width if rectangle else decimal.Decimal(1))
        total = sum(radius for _, _, radius in circles)
    if complaint:
        return {"error": complaint}
    return {"sum_radii": _not_above(total)}


def _complaint(circles, width, height):
    for place, (x, y, radius) in enumerate(circles):
        walls = (x - radius, y - radius, width - x - radius, height - y - radius, radius)
        if min(walls) < 0:
            return f"circle {place} is not inside"
        for far_x, far_y, far_radius in circles[place + 1 :]:
            across, along, reach = x - far_x, y - far_y, radius + far_radius
            if across * across + along * along - reach * reach < 0:
                return f"circle {place} overlaps a later one"
    return ""


def _not_above(total):
    """The largest float that is not above a decimal."""
    rounded = float(total)
    return rounded if decimal.Decimal(rounded) <= total else math.nextafter(rounded, -math.inf)
