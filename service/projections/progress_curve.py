"""The trail of a run: how good its best was and what it had used, after each of its evaluations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.money import Money
from service.ports import RunRecord
from service.projections.columns import Columns, Floats
from service.schemas.series import Axis

AXES: tuple[Axis, ...] = ("evaluations", "tokens", "money", "time")
EVALUATIONS, TOKENS, MONEY, TIME = AXES
# With a larger budget such a run would have come to the same end.
_SETTLED = frozenset({"target", "patience", "exhausted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressCurve:
    """One run.

    Attributes:
        best: highest fitness until each evaluation; -inf where there was none yet.
        used: on each axis until each evaluation, never falling; an axis is missing where that is not known.
        currency: of the money; empty: it cost nothing, or nobody knows what.
    """

    run: RunRecord
    best: Floats
    used: Mapping[Axis, Floats]
    currency: str

    @property
    def settled(self) -> bool:
        """Whether it ended by itself: what it came to is also what it comes to with more."""
        return self.run.state == "succeeded" and self.run.reason in _SETTLED

    def end(self, axis: Axis) -> float:
        """How far it came on an axis; 0 where that is not known."""
        used = self.used.get(axis)
        return float(used[-1]) if used is not None and len(used) else 0.0

    def at(self, axis: Axis, places: Sequence[float] | Floats, *, beyond: bool = False) -> Floats:
        """The best so far at places of an axis; NaN before anything was valid, and beyond the end of the run.

        Args:
            beyond: whether a run that ended by itself keeps its best there.
        """
        used, wanted = self.used.get(axis), np.asarray(places, dtype=np.float64)
        if used is None or not len(used):
            return np.full(len(wanted), np.nan)
        reached = np.searchsorted(used, wanted, side="right") - 1
        found = np.where(reached >= 0, self.best[np.maximum(reached, 0)], np.nan)
        if not (beyond and self.settled):
            found[wanted > used[-1]] = np.nan
        return np.where(np.isfinite(found), found, np.nan)


def trail_of(columns: Columns, run: RunRecord) -> ProgressCurve:
    """The trail of a run as it is now; time is counted from its first evaluation, in seconds."""
    at, fitness = columns.at, columns.fitness
    paid = counts_until(np.maximum.accumulate(at), columns.paid)
    read, _, written = columns.tokens
    tokens = np.concatenate([[0], np.cumsum(read + written)])
    used: dict[Axis, Floats] = {
        EVALUATIONS: np.arange(1.0, len(fitness) + 1),
        TOKENS: tokens[paid].astype(np.float64),
        TIME: np.maximum.accumulate(at - at[0]) if len(at) else at,
    }
    spent = [None if cost is None else Money.read(cost) for cost in columns.spent]
    if spent[-1] is not None:
        used[MONEY] = np.array([float(money.amount) for money in spent if money is not None])[paid]
    return ProgressCurve(
        run=run,
        best=best_so_far(fitness),
        used=used,
        currency=spent[-1].currency if spent[-1] else "",
    )


def best_so_far(fitness: Sequence[float] | Floats) -> Floats:
    """The highest until each place; -inf where there was none yet. NaN stands for no fitness."""
    values = np.array(fitness, dtype=np.float64)
    return np.asarray(np.maximum.accumulate(np.where(np.isnan(values), -np.inf, values)))


def counts_until(moments: Floats, times: Floats) -> NDArray[np.intp]:
    """How many of some times had come by each moment; the last moment is now."""
    counts = np.asarray(np.searchsorted(times, moments, side="right"))
    if len(counts):
        counts[-1] = len(times)
    return counts
