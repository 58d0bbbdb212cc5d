"""Runs in columns, kept between requests: a run is read once, and after that only what is new of it."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from service.ports import RunReader, RunRecord
from service.projections.columns import Columns
from service.projections.costs import Spending, fold_costs
from service.projections.drawn import Drawn, draw
from service.projections.grid import Grid, fold_grid
from service.projections.ranking import FrontRanking, rank_front
from service.projections.series import Series, fold_series
from service.projections.statistics import fold_statistics
from service.projections.trail import Trail, trail_of
from service.projections.weighted import weighted_best
from service.schemas.statistics import RunStatistics

MOST_BYTES = 256 * 1024 * 1024
MOST_RESULTS = 4  # of a run

_Result = TypeVar("_Result")


@dataclass(slots=True)
class _Kept:
    columns: Columns
    lock: threading.Lock = field(default_factory=threading.Lock)
    results: OrderedDict[Hashable, tuple[int, Any]] = field(default_factory=OrderedDict)
    size: int = 0


class Folds:
    """Columns of the runs that were asked for last. Whoever asks has a reader to whom the run is there."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def series(self, reader: RunReader, run: RunRecord, points: int) -> Series:
        """A run in so many points at most, as it is now."""
        return self._fold(reader, run, ("series", points), lambda columns: fold_series(columns, points))

    def costs(self, reader: RunReader, run: RunRecord) -> Spending:
        """What asking came to in a run as it is now."""
        return self._fold(reader, run, "costs", lambda columns: fold_costs(columns.costs))

    def trail(self, reader: RunReader, run: RunRecord) -> Trail:
        """How good the best of a run was, and what it had used, after each evaluation."""
        return self._fold(reader, run, None, lambda columns: trail_of(columns, run))

    def statistics(self, reader: RunReader, run: RunRecord) -> RunStatistics:
        """What a run came to as it is now."""
        return self._fold(reader, run, "statistics", lambda columns: fold_statistics(reader, columns, run))

    def front(self, reader: RunReader, run: RunRecord) -> FrontRanking:
        """The Pareto front of a run as it is now, the fittest first, and what it is worth."""
        return self._fold(reader, run, "front", rank_front)

    def grid(self, reader: RunReader, run: RunRecord, most: int) -> Grid:
        """The grid of a run as it is now, with at most so many cells."""
        return self._fold(reader, run, ("grid", most), lambda columns: fold_grid(columns, most))

    def filled(
        self, reader: RunReader, run: RunRecord, groups: Sequence[Sequence[str]]
    ) -> list[tuple[int, int]] | None:
        """How many cells each of some groups of candidates fills, of how many; None: the run has no measures."""

        def fold(columns: Columns) -> list[tuple[int, int]] | None:
            partition = columns.partition
            return None if partition is None else [(columns.filled_by(group), partition.size) for group in groups]

        return self._fold(reader, run, None, fold)

    def drawn(self, reader: RunReader, run: RunRecord, after: int, points: int) -> Drawn:
        """A run in columns as it is now, from one evaluation on, or in so many points."""
        return self._fold(reader, run, None, lambda columns: draw(columns, after, points))

    def best(self, reader: RunReader, run: RunRecord, weights: Mapping[str, float]) -> tuple[str, float]:
        """The best candidate of a run under weights, and what it is worth.

        Raises:
            UsageError: a weight is of nothing that the run has.
            NotFoundError: nothing was evaluated with success.
        """
        return self._fold(reader, run, None, lambda columns: weighted_best(columns, weights))

    def _fold(
        self, reader: RunReader, run: RunRecord, name: Hashable | None, fold: Callable[[Columns], _Result]
    ) -> _Result:
        """What is folded from a run; one with a name is kept until something is new."""
        kept = self._of(run)
        with kept.lock:
            try:
                kept.columns.catch_up(reader)
            except BaseException:  # half taken in: whoever comes next begins anew
                kept.columns = Columns(run)
                kept.results.clear()
                raise
            sequence, found = kept.results.get(name, (-1, None))
            if name is None or sequence != kept.columns.sequence:
                found = fold(kept.columns)
            if name is not None:
                kept.results[name] = kept.columns.sequence, found
                kept.results.move_to_end(name)
            while len(kept.results) > MOST_RESULTS:
                kept.results.popitem(last=False)
            kept.size = kept.columns.size
        self._forget(run.id)
        result: _Result = found
        return result

    def _of(self, run: RunRecord) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(run.id, _Kept(Columns(run)))
            self._kept.move_to_end(run.id)
            return kept

    def _forget(self, run_id: str) -> None:
        """Let go of those that were not asked for in the longest time, while all together are too large."""
        with self._lock:
            total = sum(kept.size for kept in self._kept.values())
            for other in list(self._kept):
                if total <= self._most_bytes or other == run_id:
                    break
                total -= self._kept.pop(other).size
