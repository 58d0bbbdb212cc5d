"""Exact bounds of a share that was counted (Clopper and Pearson 1934, Biometrika 26)."""

import math
from collections.abc import Callable

_HALVINGS = 60


def exact_bounds(count: float, of: int, covered: float = 0.95) -> tuple[float, float]:
    """The shares between which the true one lies, at least as often as `covered` says.

    None of 100 leaves shares up to 0.036 possible: an interval that ends at 0 would claim too much.

    Args:
        count: how many of them had it. One that is not whole, as a mean of counts, gets the bounds of both sides.
        of: how many there were.
        covered: how often such an interval holds the true share.
    """
    tail = (1 - covered) / 2
    fewer, more = math.floor(count), math.ceil(count)
    low = 0.0 if fewer == 0 else _crossing(lambda share: 1 - _at_most(fewer - 1, of, share), tail)
    high = 1.0 if more == of else 1 - _crossing(lambda share: _at_most(more, of, 1 - share), tail)
    return low, high


def _crossing(rising: Callable[[float], float], level: float) -> float:
    """Where a function of a share that rises from 0 reaches a level."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < level else (low, middle)
    return low


def _at_most(count: int, of: int, share: float) -> float:
    """Probability of at most so many successes."""
    if not 0 < share < 1:
        return float(share <= 0 or count >= of)
    logs = (
        math.lgamma(of + 1) - math.lgamma(i + 1) - math.lgamma(of - i + 1)
        + i * math.log(share) + (of - i) * math.log1p(-share)
        for i in range(count + 1)
    )  # fmt: skip
    return math.fsum(map(math.exp, logs))
