"""Bounds the largest root of a combination of Hermite polynomials, with Sturm's theorem in fractions."""

import math
from fractions import Fraction
from itertools import pairwise

import exact

MAX_COUNT = 10
STEPS = 60


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    value = outputs[0]["value"]
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_COUNT or not all(map(exact.is_number, value)):
        return {"error": f"coefficients() must return 2 to {MAX_COUNT} finite numbers"}
    polynomial = combination([Fraction(part) for part in value])
    if not any(polynomial[2:]):
        return {"error": "the polynomial is zero"}
    root = largest_root(polynomial[2:])  # P(0) = 0 and P is even, so P / x^2 is a polynomial
    if root is None:
        return {"error": "the polynomial has no root but 0, so it bounds nothing"}
    bound = root * root / (2 * Fraction(math.nextafter(math.pi, 0)))
    return {
        "bound": exact.float_above(bound),
        "degree": len(polynomial) - 1,
        "feedback": f"the largest root is {float(root):.9f}",
        "view": drawn(polynomial, float(root)),
    }


def combination(coefficients):
    """P, by the power of x, lowest first."""
    hermite = polynomials(4 * len(coefficients))
    kinds = [hermite[4 * place] for place in range(len(coefficients) + 1)]
    here = sum(factor * kind[0] for factor, kind in zip(coefficients, kinds, strict=False))
    factors = [*coefficients, -here / kinds[-1][0]]
    total = [Fraction(0)] * len(kinds[-1])
    for factor, kind in zip(factors, kinds, strict=True):
        for power, part in enumerate(kind):
            total[power] += factor * part
    return total


def polynomials(highest):
    """H0 to the highest: H(n + 1) = 2 x H(n) - 2 n H(n - 1)."""
    found = [[1], [0, 2]]
    for n in range(1, highest):
        following = [0, *(2 * part for part in found[n])]
        for power, part in enumerate(found[n - 1]):
            following[power] -= 2 * n * part
        found.append(following)
    return found


def largest_root(polynomial):
    """A fraction just above the largest positive root, or None."""
    chain = sturm(polynomial)
    high = 1 + max(abs(part / chain[0][-1]) for part in chain[0])
    low = Fraction(0)
    if not changes(chain, low) - changes(chain, high):
        return None
    high = Fraction(math.ceil(high))
    for _ in range(STEPS + high.numerator.bit_length()):
        middle = (low + high) / 2
        low, high = (middle, high) if changes(chain, middle) - changes(chain, high) else (low, middle)
    return high


def sturm(polynomial):
    """Sturm's chain; the last members have no common factor left that matters for the count."""
    chain = [trimmed(polynomial)]
    chain.append([power * part for power, part in enumerate(chain[0])][1:])
    while len(chain[-1]) > 1:
        left = trimmed([-part for part in remainder(chain[-2], chain[-1])])
        if not left:
            break
        size = max(map(abs, left))
        chain.append([part / size for part in left])
    return chain


def remainder(one, two):
    left = list(one)
    while len(left) >= len(two):
        factor = left[-1] / two[-1]
        start = len(left) - len(two)
        for place, part in enumerate(two):
            left[start + place] -= factor * part
        left.pop()
    return left


def trimmed(polynomial):
    left = list(polynomial)
    while left and not left[-1]:
        left.pop()
    return left


def changes(chain, x):
    """How often the signs of the chain change at x."""
    signs = [value for value in (valued(member, x) for member in chain) if value]
    return sum((one > 0) != (two > 0) for one, two in pairwise(signs))


def valued(polynomial, x):
    total = Fraction(0)
    for part in reversed(polynomial):
        total = total * x + part
    return total


def drawn(polynomial, root):
    """The function up to a bit beyond its largest root."""
    xs = [1.3 * root * place / 200 for place in range(201)]
    ys = [math.exp(-x * x / 2) * float(valued([float(part) for part in polynomial], x)) for x in xs]
    return {"x": xs, "y": ys, "title": "P(x) exp(-x^2 / 2)"}
