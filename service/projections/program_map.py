"""The map of a run's programs: each at a position in a plane, near to those with similar tokens."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.program import Program
from evolve.similarity.landmark_mds import LandmarkMap, Landmarks, LineRuns, rank_correlation
from service.ports import RunReader

MAX_PLACED = 10_000
MAX_LANDMARKS = 100
MAX_COMPARED = 100
PLACED_AT_ONCE = 2_000
DRAWN_WITH = 0
BYTES_OF_A_POSITION = 200

Places = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramMap:
    """Where programs lie.

    Attributes:
        places: which evaluations, rising.
        positions: of their programs, (n, 2).
        sampled: whether evaluations are left out because the run is long.
        complete: whether all programs that are wanted are placed.
        landmarks: how many programs the others were compared with.
        compared: how many programs the distances were checked on, each with each.
        correlation: of the distances on the map and those of the tokens, by rank; None: too few programs differ.
    """

    places: Places
    positions: Floats
    sampled: bool
    complete: bool
    landmarks: int
    compared: int
    correlation: float | None


class ProgramPositions:
    """Where the programs of one run lie, as it goes on.

    The map follows from the evaluations alone, not from when it was asked for. Its landmarks are drawn whenever the run
    has twice as many evaluations as when they last were; until then nothing on it moves. Of a long run every second
    program is left out, of a longer one three of four, but never one that was the best of its time.
    """

    def __init__(self) -> None:
        self._base = 0
        self._landmarks = Landmarks([])
        self._map: LandmarkMap | None = None
        self._count = 0
        self._positions: dict[int, tuple[float, float]] = {}
        self._without: set[int] = set()
        self._last: tuple[int, ProgramMap] | None = None

    @property
    def size(self) -> int:
        """Bytes that they take, about."""
        restored = 0 if self._last is None else self._last[1].places.nbytes + self._last[1].positions.nbytes
        return restored + self._landmarks.nbytes + len(self._positions) * BYTES_OF_A_POSITION

    def catch_up(self, reader: RunReader, ids: Sequence[str], fitness: Floats) -> ProgramMap:
        """Place what is new, at most `PLACED_AT_ONCE` programs of it.

        Args:
            ids: of the evaluated candidates, in order.
            fitness: of each; NaN where it was not valid.
        """
        if self._last and self._last[0] == len(ids):
            return self._last[1]
        wanted = taken(fitness)
        self._settle(reader, ids)
        new = [place for place in wanted.tolist() if place not in self._positions and place not in self._without]
        self._place(reader, ids, new[:PLACED_AT_ONCE])
        shown = [place for place in wanted.tolist() if place in self._positions]
        positions = np.array([self._positions[place] for place in shown]).reshape(-1, 2)
        complete = len(new) <= PLACED_AT_ONCE
        compared, correlation = _check(reader, ids, shown, positions) if complete else (0, None)
        found = ProgramMap(
            places=np.array(shown, dtype=np.intp),
            positions=positions,
            sampled=len(wanted) < len(ids),
            complete=complete,
            landmarks=self._count,
            compared=compared,
            correlation=correlation,
        )
        self._last = (len(ids), found) if complete else None
        return found

    def state(self) -> list[Any] | None:
        """The map as far as it was made, as `restore` takes it; None: it is not complete."""
        if self._last is None:
            return None
        count, found = self._last
        arrays = [array("q", found.places.tolist()), array("d", found.positions.ravel().tolist())]
        return [count, *arrays, found.sampled, found.landmarks, found.compared, found.correlation]

    def restore(self, state: Sequence[Any] | None) -> None:
        """Take over a map that was made for so many evaluations; for more of them it is made anew."""
        if state is None:
            return
        count, places, positions, sampled, landmarks, compared, correlation = state
        self._last = (
            count,
            ProgramMap(
                places=np.array(places, dtype=np.intp),
                positions=np.array(positions, dtype=np.float64).reshape(-1, 2),
                sampled=sampled,
                complete=True,
                landmarks=landmarks,
                compared=compared,
                correlation=correlation,
            ),
        )

    def _settle(self, reader: RunReader, ids: Sequence[str]) -> None:
        """Choose the landmarks, once the run is twice as long as when they were chosen."""
        base = 1 << (len(ids).bit_length() - 1) if ids else 0
        if base == self._base:
            return
        # The first one is a seed, from which the others come.
        chosen = [0, *(_drawn(np.arange(1, base), MAX_LANDMARKS - 1)).tolist()]
        words = LineRuns()
        runs = [words.of(program) for program in _programs(reader, ids, chosen).values()]
        self._landmarks = Landmarks(runs)
        self._map = LandmarkMap(self._landmarks.distances(runs)) if runs else None
        self._base, self._count = base, len(runs)
        self._positions.clear()
        self._without.clear()

    def _place(self, reader: RunReader, ids: Sequence[str], places: Sequence[int]) -> None:
        programs, words = _programs(reader, ids, places) if self._map else {}, LineRuns()
        self._without.update(place for place in places if place not in programs)
        if self._map is None or not programs:
            return
        distances = self._landmarks.distances(words.of(program) for program in programs.values())
        for place, (x, y) in zip(programs, self._map.place(distances).tolist(), strict=True):
            self._positions[place] = x, y


def _check(reader: RunReader, ids: Sequence[str], shown: Sequence[int], positions: Floats) -> tuple[int, float | None]:
    """On how many programs distances were checked, and the rank correlation of their pairs."""
    drawn, words = _drawn(np.arange(len(shown)), MAX_COMPARED), LineRuns()
    runs = [words.of(program) for program in _programs(reader, ids, [shown[at] for at in drawn]).values()]
    if len(runs) < 3:
        return len(runs), None
    pairs = np.triu_indices(len(runs), 1)
    x, y = (positions[drawn, None] - positions[drawn])[pairs].T
    return len(runs), rank_correlation(np.hypot(x, y), Landmarks(runs).distances(runs)[pairs])


def taken(fitness: Floats) -> Places:
    """Which evaluations a map has: all, or every second, fourth and so on, and each that was the best of its time."""
    count = len(fitness)
    step = 1
    while -(-count // step) > MAX_PLACED:
        step *= 2
    known = np.where(np.isnan(fitness), -np.inf, fitness)
    before = np.concatenate([[-np.inf], np.maximum.accumulate(known)[:-1]]) if count else known
    return np.union1d(np.arange(0, count, step), np.flatnonzero(known > before))


def _drawn(places: Places, count: int) -> Places:
    """So many of some places, always the same ones of the same."""
    if len(places) <= count:
        return places
    return np.sort(np.random.default_rng(DRAWN_WITH).choice(places, count, replace=False))


def _programs(reader: RunReader, ids: Sequence[str], places: Sequence[int]) -> dict[int, Program]:
    found = reader.programs([ids[place] for place in places])
    return {place: found[ids[place]] for place in places if ids[place] in found}
