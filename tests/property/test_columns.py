"""What is folded from columns of a run equals what comparing everything with everything gives, however it comes in."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import ge
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.archives import Axis, CellArchive, CvtPartition, GridPartition, add
from evolve.evaluation import Evaluation, Outcome
from evolve.multiobjective.pareto import front, hypervolume
from evolve.problem import Measure
from evolve.program import Program
from evolve.proposal import Individual
from service.errors import NotFoundError, UsageError
from service.ports import LoggedEvent, RunReader, RunRecord, ScoredCandidate
from service.projections.columns import Columns
from service.projections.grid import cover, fold_grid
from service.projections.ranking import rank_front
from service.projections.series import fold_series
from service.projections.weighted import weighted_best

START = datetime(2026, 3, 1, 12, 0, 0, 123457, tzinfo=UTC)
Told = tuple[tuple[int, ...] | None, tuple[float, ...]]


class Reads:
    """A reader of one run whose evaluations are told one after the other."""

    def __init__(self, rows: Sequence[ScoredCandidate]) -> None:
        self.rows, self.told = rows, 0

    def sequences(self, run_ids: Sequence[str]) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(run_ids, (self.told, "running"))

    def scored(self, run_id: str, after: int = 0) -> Iterator[ScoredCandidate]:
        return (row for row in self.rows[: self.told] if row.sequence > after)

    def events(self, run_id: str, after: int = 0, limit: int | None = None, kinds: object = ()) -> list[LoggedEvent]:
        return []


def run_of(width: int, axes: Sequence[Mapping[str, Any]] = (), config: Mapping[str, Any] | None = None) -> RunRecord:
    """A run of so many objectives from 0 to 4, better with more."""
    objectives = [{"name": name, "low": 0.0, "high": 4.0} for name in "abcde"[:width]]
    return cast(RunRecord, SimpleNamespace(id="run_1", objectives=objectives, measures=axes, config=config or {}))


def row(place: int, rewards: Sequence[float] | None, values: Sequence[float] = (), **scores: float) -> ScoredCandidate:
    scores = dict(zip("abcde", rewards or (), strict=False)) | scores
    return ScoredCandidate(
        place + 1, f"cnd_{place}", 1 + place // 3, 2 - place % 3, 0, None, "mutate", "syntax",
        "ok" if rewards is not None else "timeout", None if rewards is None else float(sum(rewards)), rewards, scores,
        dict(zip("xy", values, strict=False)), 0.5, START + timedelta(seconds=place),
    )  # fmt: skip


def folded(rows: Sequence[ScoredCandidate], run: RunRecord, cuts: Sequence[int] = ()) -> Iterator[Columns]:
    """The columns of a run after each cut, and at its end."""
    reads, columns = Reads(rows), Columns(run)
    for cut in (*sorted(min(cut, len(rows)) for cut in cuts), len(rows)):
        reads.told = cut
        columns.catch_up(cast(RunReader, reads))
        yield columns


def evaluations(width: int) -> st.SearchStrategy[list[tuple[float, ...] | None]]:
    reward = st.tuples(*[st.integers(0, 4).map(float)] * width)
    return st.lists(st.none() | reward, max_size=25)


CUTS = st.lists(st.integers(0, 25), max_size=3)


@given(st.integers(1, 4).flatmap(evaluations), CUTS)
def test_the_front_is_that_of_all_in_however_many_portions(
    told: list[tuple[float, ...] | None], cuts: list[int]
) -> None:
    width = next((len(rewards) for rewards in told if rewards is not None), 1)
    rows = [row(place, rewards) for place, rewards in enumerate(told)]
    for columns in folded(rows, run_of(width), cuts):
        seen = [one for one in rows[: len(columns)] if one.rewards is not None]
        beaten = [
            any(b.rewards != a.rewards and all(map(ge, b.rewards or (), a.rewards or ())) for b in seen) for a in seen
        ]
        left = [one for one, lost in zip(seen, beaten, strict=True) if not lost]
        left.sort(key=lambda one: (-cast(float, one.fitness), one.proposal_number, one.position))
        ranking = rank_front(columns)
        assert list(ranking.ids) == [one.candidate_id for one in left]
        assert ranking.measured.size == len(left)
        walked, page = [], ranking.behind(None, 2)
        while page:
            walked += [candidate_id for candidate_id, _ in page]
            page = ranking.behind(page[-1][1], 2)
        assert walked == list(ranking.ids)


AXES: Sequence[Mapping[str, Any]] = ({"name": "x", "bins": 3}, {"name": "y", "bins": 2, "low": 0.0, "high": 10.0})


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9), st.integers(-3, 13)), max_size=30), CUTS)
def test_the_grid_is_the_archive_of_all(told: list[tuple[int, int, int]], cuts: list[int]) -> None:
    rows = [row(place, (float(worth),), (float(x), float(y))) for place, (worth, x, y) in enumerate(told)]
    *_, columns = folded(rows, run_of(1, AXES), cuts)
    axes = [Axis(Measure(**axis)) for axis in AXES]
    for one in rows:
        for axis in axes:
            axis.cover(one.grid_measures[axis.name])
    cells: dict[tuple[int, ...], list[ScoredCandidate]] = {}
    for one in rows:
        cells.setdefault(tuple(axis.bin(one.grid_measures[axis.name]) for axis in axes), []).append(one)
    grid = fold_grid(columns, 100)
    assert grid.ranges == [axis.range for axis in axes]
    assert grid.filled == len(cells) == len(grid.cells)
    for cell in grid.cells:
        members = cells[tuple(cell.bins)]
        best = max(members, key=lambda one: (one.fitness, one.sequence))
        assert (cell.candidate_id, cell.candidates) == (best.candidate_id, len(members))
        assert rows[cell.place].candidate_id == best.candidate_id
    assert [cell.fitness for cell in grid.cells] == sorted((cell.fitness for cell in grid.cells), reverse=True)
    assert fold_grid(columns, 2).cells == grid.cells[:2]
    assert grid.evaluations == len(rows)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9), st.integers(-3, 13)), max_size=30), st.integers(1, 40))
def test_an_earlier_grid_has_the_cells_of_the_evaluations_until_then(
    told: list[tuple[int, int, int]], until: int
) -> None:
    rows = [row(place, (float(worth),), (float(x), float(y))) for place, (worth, x, y) in enumerate(told)]
    *_, columns = folded(rows, run_of(1, AXES))
    then = fold_grid(columns, 100, until)
    cells: dict[tuple[int, ...], int] = {}
    for place, one in enumerate(rows[:until]):  # in the ranges that the axes have now
        cell = tuple(axis.bin(one.grid_measures[axis.name]) for axis in columns.axes)
        if cell not in cells or told[cells[cell]][0] <= told[place][0]:
            cells[cell] = place
    assert {tuple(cell.bins): cell.place for cell in then.cells} == cells
    assert (then.filled, then.evaluations) == (len(cells), min(until, len(rows)))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9), st.integers(-3, 13)), max_size=30), st.booleans())
def test_what_is_covered_is_the_sum_over_the_cells_filled_until_then(
    told: list[tuple[int, int, int]], negative: bool
) -> None:
    worths = [float(worth - 3 * negative) for worth, _, _ in told]
    rows = [row(place, (worths[place],), (float(x), float(y))) for place, (_, x, y) in enumerate(told)]
    *_, columns = folded(rows, run_of(1, AXES))
    points = fold_series(columns, 30).moments
    floor = min([0.0, *worths])
    cells: dict[tuple[int, ...], float] = {}
    for place, (worth, one) in enumerate(zip(worths, rows, strict=True)):
        cell = tuple(axis.bin(one.grid_measures[axis.name]) for axis in columns.axes)
        cells[cell] = max(worth, cells.get(cell, floor))
        assert points[place].cells == len(cells)
        assert points[place].qd_score == pytest.approx(sum(worth - floor for worth in cells.values()))


@given(st.lists(st.integers(0, 4).map(float), min_size=2, max_size=2).map(tuple) | st.none(), st.data())
def test_the_best_under_weights_is_the_oldest_of_the_highest_means(first: Any, data: st.DataObject) -> None:
    told = [first, *data.draw(evaluations(2))]
    weights = {"a": data.draw(st.integers(1, 3)), "b": data.draw(st.integers(0, 3))}
    rows = [row(place, rewards) for place, rewards in enumerate(told)]
    *_, columns = folded(rows, run_of(2))
    seen = [one for one in rows if one.rewards is not None]
    if not seen:
        with pytest.raises(NotFoundError):
            weighted_best(columns, weights)
        return
    worth = {
        one.candidate_id: sum(
            w * min(1.0, max(0.0, r)) for w, r in zip(weights.values(), one.rewards or (), strict=True)
        )
        for one in seen
    }
    best = min(seen, key=lambda one: (-worth[one.candidate_id], one.proposal_number, one.position))
    found, value = weighted_best(columns, weights)
    assert value == pytest.approx(worth[best.candidate_id] / sum(weights.values()))
    assert worth[found] == pytest.approx(worth[best.candidate_id])


def test_scores_are_weighed_where_there_are_no_objectives() -> None:
    rows = [row(0, (1.0,), speed=2.0), row(1, (2.0,), speed=4.0, size=7.0), row(2, None, speed=99.0)]
    *_, columns = folded(rows, run_of(0))
    assert weighted_best(columns, {"speed": 1.0}) == ("cnd_1", 1.0)
    assert weighted_best(columns, {"size": 3.0, "speed": 1.0}) == ("cnd_1", 1.0)
    with pytest.raises(UsageError, match="the nearest is speed"):
        weighted_best(columns, {"sped": 1.0})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=25), st.integers(1, 8))
def test_the_volume_of_two_objectives_is_that_of_the_front_until_then(told: list[Any], points: int) -> None:
    rows = [row(place, tuple(map(float, rewards))) for place, rewards in enumerate(told)]
    *_, columns = folded(rows, run_of(2))
    for moment in fold_series(columns, points).moments:
        until = np.array(told[: moment.evaluations], dtype=float)
        assert moment.hypervolume == pytest.approx(hypervolume(until, [0.0, 0.0]))
        assert moment.at == rows[moment.evaluations - 1].at


def test_the_volume_of_more_is_within_the_error_of_its_samples() -> None:
    rng = np.random.default_rng(5)
    rewards = rng.random((400, 3))
    rows = [row(place, tuple(one)) for place, one in enumerate(rewards.tolist())]
    *_, columns = folded(rows, run_of(3))
    moments = fold_series(columns, 7).moments
    volumes = [cast(float, moment.hypervolume) for moment in moments]
    assert volumes == sorted(volumes)
    for moment, volume in zip(moments, volumes, strict=True):
        exact = hypervolume(rewards[: moment.evaluations][front(rewards[: moment.evaluations])], [0.0] * 3)
        assert volume == pytest.approx(exact, abs=5 * 0.5 / math.sqrt(4096))


@given(st.lists(st.floats(-1e6, 1e6), max_size=40), st.booleans(), st.integers(1, 9))
def test_many_values_are_placed_on_an_axis_as_one_by_one(values: list[float], fixed: bool, bins: int) -> None:
    measure = Measure(name="x", bins=bins, **({"low": -10.0, "high": 10.0} if fixed else {}))
    one, many = Axis(measure), Axis(measure)
    for value in values:
        one.cover(value)
    for start in range(0, len(values), 7):
        many.cover_all(np.array(values[start : start + 7], dtype=float))
    assert one.range == many.range
    assert many.bins(np.array(values, dtype=float)).tolist() == [one.bin(value) for value in values]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=20))
def test_the_grid_of_fixed_axes_holds_what_an_archive_holds(told: list[tuple[int, int]]) -> None:
    axis: dict[str, Any] = {"name": "x", "bins": 3, "low": 0.0, "high": 10.0}
    archive = CellArchive(1, GridPartition([Measure(**axis)]))
    rows = [row(place, (float(worth),), (float(x),)) for place, (worth, x) in enumerate(told)]
    for one in rows:
        add(
            archive,
            Individual(
                candidate_id=one.candidate_id,
                program=Program.of({"program.py": one.candidate_id}),
                fitness=one.fitness,
                rewards=tuple(one.rewards or ()),
                signed_scores=tuple(one.rewards or ()),
                measures=one.grid_measures,
                evaluation=Evaluation(outcome=Outcome.OK),
            ),
        )
    *_, columns = folded(rows, run_of(1, [axis]))
    assert {tuple(cell.bins): (cell.candidate_id,) for cell in fold_grid(columns, 100).cells} == archive.cells


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 12), st.integers(0, 4)), max_size=30), CUTS)
@settings(deadline=None)
def test_the_regions_of_a_tessellation_are_those_of_the_archive(
    told: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    axes: list[dict[str, Any]] = [{"name": "x", "low": 0.0, "high": 10.0}, {"name": "y", "low": 0.0, "high": 4.0}]
    partition = CvtPartition([Measure(**axis) for axis in axes], 6, 3)
    archive = CellArchive(1, partition)
    rows = [row(place, (float(worth),), (float(x), float(y))) for place, (worth, x, y) in enumerate(told)]
    for one in rows:
        add(
            archive,
            Individual(
                candidate_id=one.candidate_id,
                program=Program.of({"program.py": one.candidate_id}),
                fitness=one.fitness,
                rewards=tuple(one.rewards or ()),
                signed_scores=tuple(one.rewards or ()),
                measures=one.grid_measures,
                evaluation=Evaluation(outcome=Outcome.OK),
            ),
        )
    run = run_of(1, axes, {"archive": {"kind": "cvt", "size": 6}, "seed": 3})
    *_, columns = folded(rows, run, cuts)
    grid = fold_grid(columns, 100)
    assert (grid.size, grid.tessellation) == (6, True)
    assert {tuple(cell.bins): (cell.candidate_id,) for cell in grid.cells} == archive.cells
    for cell in grid.cells:
        assert cell.centre is not None
        assert partition.cell(dict(zip("xy", cell.centre, strict=True))) == tuple(cell.bins)
    counted = cover(columns)
    assert counted is not None
    if rows:
        assert counted[0][-1] == len(archive.cells)
        assert counted[1][-1] == pytest.approx(sum(member.fitness or 0.0 for member in archive.members))
    assert columns.filled_by([one.candidate_id for one in rows]) == len(archive.cells)
    assert columns.filled_by(["unknown"]) == 0
