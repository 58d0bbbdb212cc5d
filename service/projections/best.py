"""The best candidate of a run: under which weights it is looked for, and what is said where there is none."""

import math

from evolve.problem import MAX_MAGNITUDE
from service.errors import NotFoundError, UsageError
from service.ports import RunRecord


def read_weights(text: str) -> dict[str, float]:
    """Weights written as `accuracy=1,speed=2`.

    Raises:
        UsageError: a part is no NAME=NUMBER, a number is below 0 or not finite, or all are 0.
    """
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not (equals and name.strip() and 0 <= weight <= MAX_MAGNITUDE):
            raise UsageError(f"weights: {part.strip()!r} is no NAME=NUMBER with a number from 0 to {MAX_MAGNITUDE:g}")
        weights[name.strip()] = weight
    if not any(weights.values()):
        raise UsageError("weights need a number above 0")
    return weights


def none_yet(run: RunRecord) -> NotFoundError:
    """What is said of a run that has no best candidate."""
    return NotFoundError(f"no candidate of {run.id} was evaluated with success: evolve candidates --all shows why")
