"""Runs in columns, kept between requests: a run is read once, and after that only what is new of it."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from service.ports import RunReader, RunRecord
from service.projections.columns import Columns
from service.projections.series import Series, fold_series

MOST_EVALUATIONS = 500_000  # about 300 bytes each


@dataclass(slots=True)
class _Kept:
    lock: threading.Lock = field(default_factory=threading.Lock)
    columns: Columns = field(default_factory=Columns)
    series: dict[int, tuple[int, Series]] = field(default_factory=dict)


class Folds:
    """Columns of the runs that were asked for last. Whoever asks has a reader to whom the run is there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def series(self, reader: RunReader, run: RunRecord, points: int) -> Series:
        """A run in so many points at most, as it is now."""
        kept = self._of(run.id)
        with kept.lock:
            self._catch_up(kept, reader, run.id)
            sequence, series = kept.series.get(points, (-1, None))
            if series is None or sequence != kept.columns.sequence:
                series = fold_series(run, kept.columns, points)
                kept.series = {points: (kept.columns.sequence, series)}
        self._forget(run.id)
        return series

    def fitness(self, reader: RunReader, run: RunRecord) -> list[float]:
        """The fitness of each evaluation of a run, in order; NaN where it has none."""
        kept = self._of(run.id)
        with kept.lock:
            self._catch_up(kept, reader, run.id)
            found = list(kept.columns.fitness)
        self._forget(run.id)
        return found

    def _of(self, run_id: str) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(run_id, _Kept())
            self._kept.move_to_end(run_id)
            return kept

    def _catch_up(self, kept: _Kept, reader: RunReader, run_id: str) -> None:
        try:
            kept.columns.catch_up(reader, run_id)
        except BaseException:  # half taken in: whoever comes next begins anew
            kept.columns = Columns()
            raise

    def _forget(self, run_id: str) -> None:
        """Let go of those that were not asked for in the longest time, while all together are too large."""
        with self._lock:
            total = sum(len(kept.columns.at) for kept in self._kept.values())
            for other in list(self._kept):
                if total <= MOST_EVALUATIONS or other == run_id:
                    break
                total -= len(self._kept.pop(other).columns.at)
