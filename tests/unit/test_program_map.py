"""The map of a run's programs: it follows from the evaluations, is bounded, and says how faithful it is."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from evolve.program import Program
from service.ports import RunReader
from service.projections import program_map
from service.projections.array_codec import decode, encode
from service.projections.program_map import ProgramMap, ProgramPositions, taken


class Reads:
    """Programs by id, as if in a square: they grow in two ways of their own. Those of some ids are not there."""

    def __init__(self, missing: Sequence[str] = ()) -> None:
        self.missing = set(missing)
        self.read: list[str] = []

    def programs(self, ids: Sequence[str]) -> dict[str, Program]:
        self.read += ids
        return {one: Program.of({"main.py": self.text(int(one))}) for one in ids if one not in self.missing}

    @staticmethod
    def text(number: int) -> str:
        left, right = divmod(number % 100, 10)
        lines = [*(f"left_{line}" for line in range(left + 5)), *(f"right_{line}" for line in range(right + 5))]
        return "\n".join(f"{line} = {line}_of({number // 100})" for line in lines)


def ids(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def placed(positions: ProgramPositions, reads: Reads, count: int) -> ProgramMap:
    """The map of so many evaluations, once it is complete."""
    fitness = np.sin(np.arange(count))
    while True:
        found = positions.catch_up(cast(RunReader, reads), ids(count), fitness)
        if found.complete:
            return found


def test_every_program_is_placed_a_portion_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_map, "PLACED_AT_ONCE", 40)
    positions, reads = ProgramPositions(), Reads()
    first = positions.catch_up(cast(RunReader, reads), ids(100), np.zeros(100))
    assert (len(first.places), first.complete, first.compared, first.correlation) == (40, False, 0, None)
    whole = placed(positions, reads, 100)
    assert whole.places.tolist() == list(range(100))
    assert (whole.sampled, whole.compared, whole.landmarks) == (False, 100, 64)
    assert whole.correlation is not None
    assert 0.9 < whole.correlation <= 1


def test_the_map_follows_from_the_evaluations_alone() -> None:
    step_by_step, reads = ProgramPositions(), Reads()
    *_, last = (placed(step_by_step, reads, count) for count in (1, 3, 9, 40, 41, 70))
    at_once = placed(ProgramPositions(), Reads(), 70)
    np.testing.assert_array_equal(last.places, at_once.places)
    np.testing.assert_allclose(last.positions, at_once.positions, atol=1e-9)
    assert last.correlation == pytest.approx(at_once.correlation)


def test_nothing_moves_until_the_run_is_twice_as_long() -> None:
    positions, reads = ProgramPositions(), Reads()
    before = placed(positions, reads, 64)
    reads.read.clear()
    after = placed(positions, reads, 127)
    np.testing.assert_array_equal(after.positions[:64], before.positions)
    assert not set(reads.read[:63]) & set(ids(64))
    assert len(reads.read) == 63 + 100  # the new ones, and those that distances are checked on


def test_a_map_that_is_asked_for_again_reads_nothing() -> None:
    positions, reads = ProgramPositions(), Reads()
    found = placed(positions, reads, 30)
    reads.read.clear()
    assert placed(positions, reads, 30) is found
    assert reads.read == []


def test_a_long_run_has_a_bounded_map_with_all_that_were_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_map, "MAX_PLACED", 20)
    fitness = np.full(100, np.nan)
    fitness[[5, 9, 17, 18]] = [1.0, 3.0, 2.0, 3.5]
    assert taken(fitness).tolist() == sorted({*range(0, 100, 8), 5, 9, 18})
    assert taken(fitness[:20]).tolist() == list(range(20))
    found = placed(ProgramPositions(), Reads(), 100)
    assert found.sampled
    assert len(found.places) <= 20 + 5


def test_candidates_without_a_program_are_left_out() -> None:
    reads = Reads(missing=["0", "7"])
    assert placed(ProgramPositions(), reads, 10).places.tolist() == [1, 2, 3, 4, 5, 6, 8, 9]
    nothing = placed(ProgramPositions(), Reads(missing=ids(10)), 10)
    assert (nothing.places.tolist(), nothing.landmarks, nothing.correlation) == ([], 0, None)


def test_an_empty_run_has_an_empty_map() -> None:
    found = placed(ProgramPositions(), Reads(), 0)
    assert found.positions.shape == (0, 2)
    assert (found.complete, found.sampled, found.compared) == (True, False, 0)


def test_what_a_map_takes_grows_with_it() -> None:
    positions = ProgramPositions()
    before = positions.size
    placed(positions, Reads(), 50)
    assert positions.size > before


def test_a_saved_map_is_the_map_and_reads_no_program() -> None:
    positions, reads = ProgramPositions(), Reads()
    made = placed(positions, reads, 70)
    restored = ProgramPositions()
    restored.restore(decode(encode(positions.state())))
    reads.read.clear()
    found = placed(restored, reads, 70)
    assert reads.read == []
    np.testing.assert_array_equal(found.places, made.places)
    np.testing.assert_array_equal(found.positions, made.positions)
    assert (found.landmarks, found.compared, found.correlation) == (made.landmarks, made.compared, made.correlation)
    longer = placed(restored, reads, 90)
    np.testing.assert_allclose(longer.positions, placed(ProgramPositions(), Reads(), 90).positions, atol=1e-9)


def test_a_map_that_is_not_complete_is_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_map, "PLACED_AT_ONCE", 40)
    positions = ProgramPositions()
    positions.catch_up(cast(RunReader, Reads()), ids(100), np.zeros(100))
    assert positions.state() is None
