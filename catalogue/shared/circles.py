"""Circles in a rectangle, as large as possible together, checked in whole numbers and without a tolerance."""

import math
from fractions import Fraction

import exact


def score_square(outputs, count):
    """Score circles in the unit square."""
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    return _score(output["value"], count, Fraction(1), Fraction(1))


def score_rectangle(outputs, count):
    """Score circles in a rectangle of perimeter 4. The program returns its width and the circles."""
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    value = output["value"]
    if not isinstance(value, list) or len(value) != 2 or not exact.is_number(value[0]) or not 0 < value[0] < 2:
        return {"error": "the program must return [width, circles], with a width between 0 and 2"}
    return _score(value[1], count, Fraction(value[0]), 2 - Fraction(value[0]))


def _score(value, count, width, height):
    circles, complaint = exact.read_rows(value, count, 3, "circle")
    if not complaint:
        whole, _ = exact.to_integers([*circles, [width, height, Fraction(1)]])
        complaint = _broken_rule(whole[:-1], *whole[-1][:2])
    if complaint:
        return {"error": complaint}
    radii = [float(radius) for _, _, radius in circles]
    shapes = [exact.polygon([(0, 0), (width, 0), (width, height), (0, height)], fill="#fff")]
    shapes += [exact.dot(*circle) for circle in circles]
    return {
        "sum_radii": exact.float_below(sum(radius for _, _, radius in circles)),
        "spread": _spread(radii),
        "feedback": f"smallest radius {min(radii):.6f}, largest {max(radii):.6f}",
        "view": exact.drawing(shapes, 0, 0, float(width), float(height)),
    }


def _broken_rule(circles, width, height):
    for number, (x, y, radius) in enumerate(circles):
        if radius < 0:
            return f"circle {number} has a negative radius"
        if not (radius <= x <= width - radius and radius <= y <= height - radius):
            return f"circle {number} sticks out by {_sticks_out(x, y, radius, width, height):.3g} of the width"
        for other in range(number):
            far_x, far_y, far_radius = circles[other]
            if (x - far_x) ** 2 + (y - far_y) ** 2 < (radius + far_radius) ** 2:
                return f"circles {other} and {number} overlap"
    return ""


def _sticks_out(x, y, radius, width, height):
    worst = max(radius - x, radius - y, x + radius - width, y + radius - height)
    return float(Fraction(worst, width))


def _spread(radii):
    """The standard deviation."""
    mean = math.fsum(radii) / len(radii)
    return math.sqrt(math.fsum((radius - mean) ** 2 for radius in radii) / len(radii))
