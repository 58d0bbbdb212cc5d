"""Student's t: how probable so large a value is by chance, and which value is that improbable.

By the finite series of Abramowitz and Stegun (1964, Handbook of Mathematical Functions, 26.7.3 and 26.7.4), for whole
degrees of freedom.
"""

import math
from functools import lru_cache


def upper_tail(t: float, freedom: int) -> float:
    """Probability that Student's t exceeds a value."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, odd = math.cos(angle), freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for power in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    inside = (angle + math.sin(angle) * total) * 2 / math.pi if odd else math.sin(angle) * total
    return (1 - inside) / 2


@lru_cache(maxsize=64)
def quantile(share: float, freedom: int) -> float:
    """The value that Student's t stays below with a probability above one half."""
    low, high = 0.0, 1.0
    while 1 - upper_tail(high, freedom) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - upper_tail(middle, freedom) < share else (low, middle)
    return high
