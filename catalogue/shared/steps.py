"""Step functions and their convolutions, in whole numbers.

The values of a program are rounded to multiples of 2**-50. The function with these values is what is scored, and
everything about it is computed without rounding. Whole numbers are convolved by one product of two large ones
(Kronecker's substitution).
"""

import math
from fractions import Fraction
from itertools import pairwise

import exact

SCALE = 2**50
MAX_STEPS = 2000


def read(value, *, signed=False):
    """The steps as whole numbers, or a complaint."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_STEPS or not all(map(exact.is_number, value)):
        return [], f"the program must return a list of 1 to {MAX_STEPS} finite numbers of at most {exact.LARGEST}"
    steps = [round(Fraction(part) * SCALE) for part in value]
    if not signed and min(steps) < 0:
        return [], f"step {steps.index(min(steps))} is negative"
    if sum(steps) <= 0:
        return [], "the integral of the function must be positive"
    return steps, ""


def convolve(one, two):
    """The convolution of two lists of whole numbers."""
    positive = [[max(0, part) for part in steps] for steps in (one, two)]
    negative = [[max(0, -part) for part in steps] for steps in (one, two)]
    same = _product(positive[0], positive[1]), _product(negative[0], negative[1])
    other = _product(positive[0], negative[1]), _product(negative[0], positive[1])
    return [a + b - c - d for a, b, c, d in zip(*same, *other, strict=True)]


def _product(one, two):
    count = len(one) + len(two) - 1
    width = (max(one, default=0).bit_length() + max(two, default=0).bit_length() + count.bit_length()) // 8 + 1
    packed = [
        int.from_bytes(b"".join(part.to_bytes(width, "little") for part in steps), "little") for steps in (one, two)
    ]
    content = (packed[0] * packed[1]).to_bytes(width * (count + 1), "little")
    return [int.from_bytes(content[width * place : width * (place + 1)], "little") for place in range(count)]


def plot(steps, overlaps, title):
    """The function, and what is made of it, each scaled to its own largest value."""
    series = []
    for name, numbers in (("function", steps), (title, overlaps)):
        kept = numbers[:: max(1, math.ceil(len(numbers) / 400))]
        top = max(map(abs, numbers)) or 1
        series.append(
            {"name": name, "x": [place / len(kept) for place in range(len(kept))], "y": [a / top for a in kept]}
        )
    return {"series": series}


def score_first(outputs):
    """The first autocorrelation inequality: the largest value of f * f over the square of the integral of f."""
    steps, complaint = _steps(outputs)
    if complaint:
        return {"error": complaint}
    found = convolve(steps, steps)
    ratio = Fraction(2 * len(steps) * max(found), sum(steps) ** 2)
    return {"constant": exact.float_above(ratio), "steps": len(steps), "view": plot(steps, found, "autocorrelation")}


def score_second(outputs):
    """The second: the integral of (f * f)^2 over the integral of f * f and its largest value.

    f * f is a polygon between the points of the convolution, and its square is integrated as one.
    """
    steps, complaint = _steps(outputs)
    if complaint:
        return {"error": complaint}
    found = [0, *convolve(steps, steps), 0]
    square = sum(a * a + a * b + b * b for a, b in pairwise(found))
    ratio = Fraction(square, 3 * sum(steps) ** 2 * max(found))
    return {"constant": exact.float_below(ratio), "steps": len(steps), "view": plot(steps, found, "autocorrelation")}


def score_third(outputs):
    """The third: f may be negative, and the largest absolute value of f * f counts."""
    steps, complaint = _steps(outputs, signed=True)
    if complaint:
        return {"error": complaint}
    found = convolve(steps, steps)
    ratio = Fraction(2 * len(steps) * max(map(abs, found)), sum(steps) ** 2)
    return {"constant": exact.float_above(ratio), "steps": len(steps), "view": plot(steps, found, "autocorrelation")}


def score_overlap(outputs):
    """Erdos's minimum overlap: the largest integral of h(x) (1 - h(x + k)) for h on [0, 2] with integral 1.

    The values are scaled so that the integral is 1. It is linear in k between multiples of a step, so these decide.
    """
    steps, complaint = _steps(outputs)
    if complaint:
        return {"error": complaint}
    count, total = len(steps), sum(steps)
    # In units of which `2 * total` are 1: a step is `count * value`.
    scaled = [count * part for part in steps]
    one = 2 * total
    if max(scaled) > one:
        return {"error": f"step {scaled.index(max(scaled))} is above 1 when the integral of the function is 1"}
    found = convolve(scaled, [one - part for part in reversed(scaled)])
    ratio = Fraction(2 * max(found), count * one * one)
    return {"overlap": exact.float_above(ratio), "steps": count, "view": plot(scaled, found, "overlap")}


def _steps(outputs, *, signed=False):
    if outputs[0]["error"]:
        return [], outputs[0]["error"]
    return read(outputs[0]["value"], signed=signed)
