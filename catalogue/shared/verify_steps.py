"""A second check of the inequalities on step functions, written apart from the first: fractions, pair by pair."""

import math
from fractions import Fraction
from itertools import pairwise

SCALE = 2**50


def score(outputs, kind):
    """Score a step function.

    Args:
        kind: `first`, `second` or `third` autocorrelation inequality, or `overlap`.
    """
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    if type(outputs[0]["value"]) is not list or {*map(type, outputs[0]["value"])} - {int, float}:
        return {"error": "the steps are not a list of numbers"}
    steps = [Fraction(round(Fraction(part) * SCALE), SCALE) for part in outputs[0]["value"]]
    if kind != "third" and any(part < 0 for part in steps):
        return {"error": "a step is negative"}
    total, count = sum(steps), len(steps)
    if total <= 0:
        return {"error": "the integral is not positive"}
    if kind == "overlap":
        return _overlap([part * count / (2 * total) for part in steps])
    unit = Fraction(1, 2 * count)
    values = [part * unit for part in _folded(steps, steps[::-1])]
    if kind == "second":
        ends = [Fraction(0), *values, Fraction(0)]
        area = sum((a * a + a * b + b * b) * unit / 3 for a, b in pairwise(ends))
        whole = (total * unit) ** 2
        return {"constant": _down(area / (whole * max(values)))}
    top = max(map(abs, values)) if kind == "third" else max(values)
    return {"constant": -_down(-top / (total * unit) ** 2)}


def _overlap(steps):
    if any(part > 1 for part in steps):
        return {"error": "a step is above 1"}
    moved = [1 - part for part in steps]
    return {"overlap": -_down(-max(_folded(steps, moved)) * Fraction(2, len(steps)))}


def _folded(one, two):
    """The sum of one[i] * two[i + k] for every k at which they overlap."""
    unit = math.lcm(*(part.denominator for part in [*one, *two]))
    left, right = ([int(part * unit) for part in steps] for steps in (one, two))
    count = len(left)
    sums = []
    for shift in range(-count + 1, count):
        pairs = zip(left[max(0, -shift) :], right[max(0, shift) :], strict=False)
        sums.append(Fraction(sum(a * b for a, b in pairs), unit * unit))
    return sums


def _down(exact):
    rounded = float(exact)
    return rounded if Fraction(rounded) <= exact else math.nextafter(rounded, -math.inf)
