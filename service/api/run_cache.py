"""Runs in columns, kept between requests: a run is read once, and after that only what is new of it."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from weakref import WeakValueDictionary

from fastapi import Depends, Request

from evolve.change_events import RequestedChange
from service.ports import ColumnStore, RunReader, RunRecord
from service.projections.changes import ChangeEffect, change_effects, read_changes
from service.projections.chart_data import ChartData, draw, draw_at
from service.projections.columns import Columns
from service.projections.costs import Spending, fold_costs
from service.projections.grid import Grid, fold_grid
from service.projections.program_map import ProgramMap
from service.projections.progress_curve import ProgressCurve, trail_of
from service.projections.ranking import FrontRanking, rank_front
from service.projections.saved_columns import load_columns, save_columns, worth_saving
from service.projections.series import Series, fold_series
from service.projections.statistics import fold_statistics
from service.projections.weighted import weighted_best
from service.schemas.statistics import RunStatistics

MAX_BYTES = 256 * 1024 * 1024
MAX_RESULTS = 4  # of a run

_Result = TypeVar("_Result")


@dataclass(slots=True)
class _CacheEntry:
    columns: Columns | None = None
    saved: int = 0  # evaluations
    lock: threading.Lock = field(default_factory=threading.Lock)
    results: OrderedDict[Hashable, tuple[int, Any]] = field(default_factory=OrderedDict)
    size: int = 0


class RunCache:
    """Columns of the runs that were asked for last. Whoever asks has a reader to whom the run is there.

    Args:
        store: where long runs are saved, so that no process reads again what another has read.
        at_once: how many requests fold at the same time.
        max_bytes: how much is kept here.
    """

    def __init__(self, store: ColumnStore, at_once: int = 1, max_bytes: int = MAX_BYTES) -> None:
        self._store = store
        self._slots = asyncio.Semaphore(at_once)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _CacheEntry] = OrderedDict()

    @asynccontextmanager
    async def turn(self, run_id: str) -> AsyncIterator[None]:
        """Wait for those who ask for the same run, and then for a slot; whoever waits takes no thread from others."""
        lock = self._turns.setdefault(run_id, asyncio.Lock())
        async with lock, self._slots:
            yield

    def series(self, reader: RunReader, run: RunRecord, points: int) -> Series:
        """A run in so many points at most, as it is now."""
        return self._fold(reader, run, ("series", points), lambda columns: fold_series(columns, points))

    def costs(self, reader: RunReader, run: RunRecord) -> Spending:
        """What asking came to in a run as it is now."""
        return self._fold(reader, run, "costs", lambda columns: fold_costs(columns.costs))

    def trail(self, reader: RunReader, run: RunRecord) -> ProgressCurve:
        """How good the best of a run was, and what it had used, after each evaluation."""
        return self._fold(reader, run, None, lambda columns: trail_of(columns, run))

    def statistics(self, reader: RunReader, run: RunRecord) -> RunStatistics:
        """What a run came to as it is now."""
        return self._fold(reader, run, "statistics", lambda columns: fold_statistics(reader, columns, run))

    def front(self, reader: RunReader, run: RunRecord) -> FrontRanking:
        """The Pareto front of a run as it is now, the fittest first, and what it is worth."""
        return self._fold(reader, run, "front", rank_front)

    def grid(self, reader: RunReader, run: RunRecord, maximum: int, until: int | None = None) -> Grid:
        """The grid of a run as it is now, or of its first evaluations, with at most so many cells."""
        name = ("grid", maximum) if until is None else None
        return self._fold(reader, run, name, lambda columns: fold_grid(columns, maximum, until))

    def filled(
        self, reader: RunReader, run: RunRecord, groups: Sequence[Sequence[str]]
    ) -> list[tuple[int, int]] | None:
        """How many cells each of some groups of candidates fills, of how many; None: the run has no measures."""

        def fold(columns: Columns) -> list[tuple[int, int]] | None:
            partition = columns.partition
            return None if partition is None else [(columns.filled_by(group), partition.size) for group in groups]

        return self._fold(reader, run, None, fold)

    def drawn(self, reader: RunReader, run: RunRecord, after: int, points: int, *, front: bool = False) -> ChartData:
        """A run in columns as it is now, from one evaluation on, or in so many points; with its front over time."""
        return self._fold(reader, run, None, lambda columns: draw(columns, after, points, front=front))

    def program_map(self, reader: RunReader, run: RunRecord) -> tuple[ChartData, ProgramMap]:
        """The evaluations of a run as it is now, and where the programs of many of them lie."""

        def fold(columns: Columns) -> tuple[ChartData, ProgramMap]:
            found = columns.program_positions.catch_up(reader, columns.ids, columns.fitness)
            return draw_at(columns, found.places, sampled=found.sampled), found

        return self._fold(reader, run, None, fold)

    def changes(self, reader: RunReader, run: RunRecord, waiting: Sequence[RequestedChange]) -> list[ChangeEffect]:
        """The changes of a run by people as it is now, those that wait for its search among them, with their effect."""
        changes = read_changes(reader, run, waiting)
        return self._fold(reader, run, None, lambda columns: change_effects(changes, columns))

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
        kept = self._of(run.id)
        with kept.lock:
            columns = self._caught_up(kept, reader, run)
            sequence, found = kept.results.get(name, (-1, None))
            if name is None or sequence != columns.sequence:
                found = fold(columns)
            if name is not None:
                kept.results[name] = columns.sequence, found
                kept.results.move_to_end(name)
            while len(kept.results) > MAX_RESULTS:
                kept.results.popitem(last=False)
            kept.size = columns.size
        self._forget(run.id)
        result: _Result = found
        return result

    def _of(self, run_id: str) -> _CacheEntry:
        with self._lock:
            kept = self._kept.setdefault(run_id, _CacheEntry())
            self._kept.move_to_end(run_id)
            return kept

    def _caught_up(self, kept: _CacheEntry, reader: RunReader, run: RunRecord) -> Columns:
        columns = kept.columns
        if columns is None:
            columns = load_columns(self._store, run)
            kept.saved = len(columns)
        kept.columns = None
        columns.catch_up(reader)  # one that breaks off is half taken in: whoever comes next begins anew
        kept.columns = columns
        if worth_saving(columns, kept.saved):
            save_columns(self._store, columns)
            kept.saved = len(columns)
        return columns

    def _forget(self, run_id: str) -> None:
        """Let go of those that were not asked for in the longest time, while all together are too large."""
        with self._lock:
            total = sum(kept.size for kept in self._kept.values())
            for other in list(self._kept):
                if total <= self._max_bytes or other == run_id:
                    break
                total -= self._kept.pop(other).size


async def _in_turn(request: Request) -> AsyncIterator[RunCache]:
    """The folds of this process, in the turn of a request."""
    run_cache: RunCache = request.app.state.run_cache
    async with run_cache.turn(request.path_params.get("run_id") or request.query_params.get("runs", "")):
        yield run_cache


FoldsDep = Annotated[RunCache, Depends(_in_turn, scope="function")]
