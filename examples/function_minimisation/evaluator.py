"""Measures a point's height with 60 digits: neither the program's own figure nor its rounding is believed.

The two floats are taken as the exact numbers that they are, and the functions are summed up as series of decimals. The
height is then rounded once, to the nearest float, so no point can score below the minimum by a rounding error.
"""

from decimal import Decimal, getcontext

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899863")
TINY = Decimal(10) ** -58


def score(outputs, program):  # noqa: ARG001 - every scorer is given the program too
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    point = output["value"]
    if not isinstance(point, list) or len(point) != 2 or not all(is_inside(part) for part in point):
        return {"error": "solve() must return a list of two numbers [x, y], each from -1 to 1"}
    value = height(*(Decimal(part) for part in point))
    x, y = (float(part) for part in point)
    return {"height": float(value), "x": x, "y": y, "feedback": f"height {value:.20f} at x = {x!r}, y = {y!r}"}


def is_inside(part):
    return isinstance(part, (int, float)) and not isinstance(part, bool) and -1 <= part <= 1


def height(x, y):
    """Problem 4 of the Hundred-Digit Challenge."""
    bumps = sine(50 * x).exp() + sine(60 * y.exp()) + sine(70 * sine(x))
    return bumps + sine(sine(80 * y)) - sine(10 * (x + y)) + (x * x + y * y) / 4


def sine(angle):
    """The sine by its power series, after whole turns are taken away."""
    angle -= 2 * PI * (angle / (2 * PI)).to_integral_value()
    term = total = angle
    count = 1
    while abs(term) > TINY:
        term *= -angle * angle / ((count + 1) * (count + 2))
        total += term
        count += 2
    return total
