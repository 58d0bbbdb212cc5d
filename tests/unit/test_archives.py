"""Archives say what happened, hold what they promise, and re-bin when a running range grows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from evolve.archives import (
    Archive,
    Axis,
    CellArchive,
    CvtPartition,
    DominatedNoveltyArchive,
    GridPartition,
    ParetoArchive,
    Status,
    TopArchive,
    add,
    open_archive,
)
from evolve.archives.centroids import centroids, nearest
from evolve.archives.pareto import truncation_of
from evolve.configuration import TRUNCATIONS, ArchiveConfig, RunConfig
from evolve.errors import ConfigurationError
from evolve.evaluation import read_result
from evolve.multiobjective.pareto import crowding, hypervolume
from evolve.problem import Direction, EvaluatorSpec, Measure, Objective, Problem
from evolve.proposal import Candidate
from evolve.search.scoring import CandidateScorer
from tests.fakes.world import program, toy_problem
from tests.unit.individuals import individual

KINDS = ("grid", "cvt", "dominated_novelty", "pareto", "top")


def names(archive: Archive) -> set[str]:
    return {member.candidate_id for member in archive.members}


def test_top_keeps_the_fittest_and_the_newest_among_equals() -> None:
    archive = TopArchive(1, 2)
    assert add(archive, individual("a", 1.0)).status is Status.ADDED
    assert add(archive, individual("b", 2.0)).status is Status.ADDED
    assert add(archive, individual("c", 0.5)).status is Status.FULL
    assert add(archive, individual("b", 2.0)).status is Status.DUPLICATE
    same = add(archive, individual("d", 1.0))
    assert same.status is Status.IMPROVED
    assert same.displaced == ("a",)
    assert names(archive) == {"b", "d"}


def test_pareto_refuses_the_dominated_and_lets_go_of_what_is_dominated() -> None:
    archive = ParetoArchive(2, 10)
    add(archive, individual("low", 0.0, (0.0, 0.0)))
    add(archive, individual("left", 0.0, (0.0, 1.0)))
    assert names(archive) == {"left"}
    assert add(archive, individual("right", 0.0, (1.0, 0.0))).status is Status.ADDED
    assert add(archive, individual("same", 0.0, (1.0, 0.0))).status is Status.DOMINATED
    best = add(archive, individual("best", 0.0, (1.0, 1.0)))
    assert best.status is Status.IMPROVED
    assert set(best.displaced) == {"left", "right"}


LOSS = Objective(name="loss", direction=Direction.MINIMIZE, low=0.0, high=1e6)
GAIN = Objective(name="gain", low=0.0, high=1.0)
FINE = Problem(
    name="fine", seeds=(program(0.0),), evaluator=EvaluatorSpec(entry="x"), objectives=(LOSS, GAIN),
    measures=(Measure(name="m", low=0.0, high=1.0),),
)  # fmt: skip


@pytest.mark.parametrize("config", [ArchiveConfig(kind="pareto"), ArchiveConfig(kind="grid", front=9)])
def test_a_better_loss_enters_a_front_where_the_bounds_make_it_the_same_reward(config: ArchiveConfig) -> None:
    """1 - 1e-11 / 1e6 and 1 - 1e-13 / 1e6 are the same number: the better one was once refused as dominated."""
    scorer, archive = CandidateScorer(FINE, RunConfig(archive=config)), open_archive(FINE, config, 0)
    for number, loss in enumerate([1e-11, 1e-13, 1e-12]):
        evaluation = read_result({"loss": loss, "gain": 0.5, "m": 0.5}, FINE)
        candidate = Candidate(
            id=f"c{number}", proposal_number=1, position=0, island=0, program=program(loss), fingerprint=""
        )
        add(archive, scorer.individual(candidate, evaluation))
    assert names(archive) == {"c1"}
    assert archive.members[0].rewards == (1.0, 0.5)


def test_a_full_pareto_archive_lets_go_of_the_most_crowded() -> None:
    archive = ParetoArchive(2, 4)
    for name, x in (("a", 0.0), ("b", 1.0), ("c", 0.5), ("d", 0.55)):
        add(archive, individual(name, 0.0, (x, 1 - x)))
    assert add(archive, individual("e", 0.0, (0.52, 0.48))).status is Status.FULL
    sparse = add(archive, individual("f", 0.0, (0.2, 0.8)))
    assert sparse.status is Status.IMPROVED
    assert sparse.displaced == ("c",)
    assert names(archive) == {"a", "b", "d", "f"}


BY_VOLUME = truncation_of("hypervolume", 3)


def truncated(rows: Sequence[tuple[float, ...]], ages: Sequence[int]) -> int:
    """The row that leaves, the last being offered."""
    return BY_VOLUME(np.array(rows), np.array(ages, dtype=np.int64))


def test_a_small_front_that_goes_by_volume_keeps_more_of_it() -> None:
    """By crowding the worst ends of three objectives leave no room for a compromise among five."""
    directions = np.abs(np.random.default_rng(0).standard_normal((300, 3)))
    points, kept = directions / np.linalg.norm(directions, axis=1, keepdims=True), {}
    for truncation in TRUNCATIONS:
        problem = replace(toy_problem(several=True), measures=(), objectives=tuple(map(objective, "xyz")))
        archive = open_archive(problem, ArchiveConfig(size=5, truncation=truncation), 0)
        for number, point in enumerate(points):
            add(archive, individual(f"i{number}", 0.0, tuple(point.tolist())))
        assert len(archive.members) == 5
        kept[truncation] = hypervolume(archive.members.signed_scores, np.zeros(3)) / hypervolume(points, np.zeros(3))
    assert kept["hypervolume"] > 0.5
    assert kept["crowding"] < 0.2


def objective(name: str) -> Objective:
    return Objective(name=name, low=0.0, high=1.0)


def test_who_contributes_least_leaves_even_from_an_end() -> None:
    # From a tenth of the range below the worst: 0.1 x 0.02, 0.02 x 0.48, 0.48 x 0.5 and 0.5 x 0.1.
    rows = [(0.0, 1.0), (0.02, 0.98), (0.5, 0.5), (1.0, 0.0)]
    assert crowding(rows).argmin() == 1
    assert truncated(rows, [1, 2, 3]) == 0


def test_of_equal_contributions_the_offered_leaves_else_the_newest() -> None:
    corners = [(0.0, 1.0), (1.0, 0.0)]
    assert truncated(corners, [1]) == 1
    # Apart by less than the range can tell: neither contributes, and the newer leaves, wherever it stands.
    close = [(0.0, 1e20), (1.0, 2.0), (2.0, 1.0), (1e20, 0.0)]
    assert [truncated(close, [7, *ages]) for ages in ([5, 6], [6, 5])] == [2, 1]


def test_a_cell_with_a_front_goes_by_volume_too() -> None:
    partition = GridPartition([Measure(name="m", bins=2, low=0.0, high=2.0)])
    archive = CellArchive(2, partition, front=3, truncation="hypervolume")
    for name, rewards in (("a", (0.0, 1.0)), ("b", (0.02, 0.98)), ("c", (1.0, 0.0))):
        add(archive, individual(name, 0.0, rewards, {"m": 0.5}))
    told = add(archive, individual("d", 0.0, (0.5, 0.5), {"m": 0.5}))
    assert (told.status, told.displaced) == (Status.IMPROVED, ("a",))


def test_with_four_objectives_the_most_crowded_leaves_whatever_the_rule() -> None:
    assert truncation_of("hypervolume", 4) is truncation_of("crowding", 4)
    assert truncation_of("hypervolume", 3) is not truncation_of("crowding", 3)


def test_a_cell_keeps_its_fittest() -> None:
    archive = CellArchive(1, GridPartition([Measure(name="m", bins=2, low=0.0, high=2.0)]))
    assert add(archive, individual("a", 1.0, measures={"m": 0.1})).status is Status.NEW_CELL
    assert add(archive, individual("b", 0.5, measures={"m": 0.2})).status is Status.DOMINATED
    assert add(archive, individual("c", 0.5, measures={"m": 1.5})).status is Status.NEW_CELL
    better = add(archive, individual("d", 2.0, measures={"m": -7.0}))
    assert better.status is Status.IMPROVED
    assert better.displaced == ("a",)
    assert archive.cells == {(0,): ("d",), (1,): ("c",)}


def test_a_running_range_that_grows_re_bins_and_the_fitter_of_a_shared_cell_stays() -> None:
    archive = CellArchive(1, GridPartition([Measure(name="m", bins=2)]))
    add(archive, individual("a", 1.0, measures={"m": 0.0}))
    add(archive, individual("b", 2.0, measures={"m": 1.0}))
    assert archive.cells == {(0,): ("a",), (1,): ("b",)}
    grown = add(archive, individual("c", 0.0, measures={"m": 100.0}))
    assert grown.displaced == ("a",)
    assert archive.cells == {(0,): ("b",), (1,): ("c",)}


def test_a_running_range_at_least_doubles_so_that_re_binning_is_rare() -> None:
    archive = CellArchive(1, GridPartition([Measure(name="m", bins=4)]))
    add(archive, individual("0", 0.0, measures={"m": 0.0}))
    rebins = 0
    for i in range(1, 500):
        before = archive.partition.axes[0].range
        add(archive, individual(str(i), float(i), measures={"m": float(i)}))
        rebins += archive.partition.axes[0].range != before
    assert rebins <= 11


def test_a_whole_number_on_a_border_falls_into_the_bin_above_it() -> None:
    """An axis from 0 to `bins` has a border at every whole number: with 50 bins 29 once fell into bin 28."""
    for bins in range(1, 201):
        axis = Axis(Measure(name="m", bins=bins, low=0.0, high=float(bins)))
        assert [axis.bin(float(value)) for value in range(bins)] == list(range(bins))
        assert axis.bins(np.arange(bins, dtype=float)).tolist() == list(range(bins))


def test_auto_fits_the_problem() -> None:
    problem = toy_problem(several=True)
    grid = open_archive(problem, ArchiveConfig(), 0)
    assert isinstance(grid, CellArchive)
    assert isinstance(grid.partition, GridPartition)
    bare = replace(problem, measures=())
    assert isinstance(open_archive(bare, ArchiveConfig(), 0), ParetoArchive)
    assert isinstance(open_archive(replace(bare, objectives=()), ArchiveConfig(), 0), TopArchive)


def test_an_archive_is_of_the_kind_that_is_asked_for() -> None:
    problem = toy_problem(several=True)
    kinds = {kind: open_archive(problem, ArchiveConfig(kind=kind, size=7), 0) for kind in KINDS}
    assert isinstance(kinds["pareto"], ParetoArchive)
    assert isinstance(kinds["top"], TopArchive)
    assert isinstance(kinds["dominated_novelty"], DominatedNoveltyArchive)
    cvt = kinds["cvt"]
    assert isinstance(cvt, CellArchive)
    assert isinstance(cvt.partition, CvtPartition)
    assert cvt.partition.size == 7


@pytest.mark.parametrize("kind", ["cvt", "dominated_novelty"])
def test_an_archive_whose_cost_grows_with_its_size_is_bounded(kind: str) -> None:
    ArchiveConfig(kind=kind, size=10_000)
    with pytest.raises(ConfigurationError, match=r"archive\.size must be at most 10000"):
        ArchiveConfig(kind=kind, size=10_001)


def test_one_centroid_is_the_middle_and_few_on_a_line_are_evenly_spread() -> None:
    assert centroids(1, 2, 0)[0] == pytest.approx([0.5, 0.5], abs=0.02)
    # The tessellation of a line has its centroids at 1/2k, 3/2k and so on.
    assert centroids(4, 1, 3)[:, 0] == pytest.approx([0.125, 0.375, 0.625, 0.875], abs=0.02)


def test_centroids_follow_the_seed_of_the_run() -> None:
    assert np.array_equal(centroids.__wrapped__(20, 2, 5), centroids.__wrapped__(20, 2, 5))
    assert not np.array_equal(centroids(20, 2, 5), centroids(20, 2, 6))


def test_regions_are_more_alike_in_size_than_those_of_centres_drawn_at_random() -> None:
    drawn = np.random.default_rng(0).random((50, 2))
    points = np.random.default_rng(1).random((20_000, 2))

    def unevenness(centres: np.ndarray) -> float:
        counts = np.bincount(nearest(points, centres[np.argsort(centres[:, 0])]), minlength=50)
        return float(counts.std() / counts.mean())

    assert unevenness(centroids(50, 2, 0)) < unevenness(drawn) / 2


def test_a_tessellation_of_a_running_range_places_all_anew_when_it_grows() -> None:
    archive = CellArchive(1, CvtPartition([Measure(name="m")], 2, 0))
    add(archive, individual("a", 1.0, measures={"m": 0.0}))
    add(archive, individual("b", 2.0, measures={"m": 1.0}))
    assert archive.cells == {(0,): ("a",), (1,): ("b",)}
    assert add(archive, individual("c", 0.0, measures={"m": 100.0})).displaced == ("a",)
    assert archive.cells == {(0,): ("b",), (1,): ("c",)}


def test_a_cell_with_a_front_keeps_what_no_other_there_dominates() -> None:
    archive = CellArchive(2, GridPartition([Measure(name="m", bins=2, low=0.0, high=2.0)]), front=2)
    left, right = {"m": 0.5}, {"m": 1.5}
    assert add(archive, individual("a", 0.0, (0.0, 1.0), left)).status is Status.NEW_CELL
    assert add(archive, individual("b", 0.0, (1.0, 0.0), left)).status is Status.ADDED
    assert add(archive, individual("same", 0.0, (1.0, 0.0), left)).status is Status.DOMINATED
    assert add(archive, individual("c", 0.0, (-1.0, -1.0), right)).status is Status.NEW_CELL
    assert add(archive, individual("between", 9.0, (0.5, 0.5), left)).status is Status.FULL
    best = add(archive, individual("d", 0.0, (2.0, 2.0), left))
    assert best.status is Status.IMPROVED
    assert set(best.displaced) == {"a", "b"}
    assert archive.cells == {(0,): ("d",), (1,): ("c",)}


def test_dominated_novelty_is_the_mean_distance_to_the_nearest_that_are_fitter() -> None:
    archive = DominatedNoveltyArchive(1, [Measure(name="m", low=0.0, high=10.0)], 10, 2)
    for name, fitness, place in (("a", 4.0, 0.0), ("b", 3.0, 1.0), ("c", 2.0, 5.0), ("d", 1.0, 9.0)):
        assert add(archive, individual(name, fitness, measures={"m": place})).status is Status.ADDED
    # a has none; b has a; c has b and a, at 4 and 5 of 10; d has c and b, at 4 and 8 of 10.
    assert archive.novelty.tolist() == pytest.approx([math.inf, 0.1, 0.45, 0.6])


def test_who_is_near_a_fitter_one_leaves_a_full_archive_of_dominated_novelty() -> None:
    archive = DominatedNoveltyArchive(1, [Measure(name="m", low=0.0, high=10.0)], 3, 1)
    for name, fitness, place in (("best", 9.0, 0.0), ("near", 8.0, 1.0), ("far", 0.0, 9.0)):
        add(archive, individual(name, fitness, measures={"m": place}))
    assert add(archive, individual("nearer", 7.0, measures={"m": 0.5})).status is Status.FULL
    other = add(archive, individual("other", 1.0, measures={"m": 5.0}))
    assert other.status is Status.IMPROVED
    assert other.displaced == ("near",)
    assert names(archive) == {"best", "other", "far"}


def test_on_a_plateau_dominated_novelty_spreads_out_and_the_newer_of_equals_stays() -> None:
    archive = DominatedNoveltyArchive(1, [Measure(name="m", low=0.0, high=1.0)], 4, 1)
    for number in range(200):
        place = float(np.random.default_rng(number).random())
        add(archive, individual(str(number), 0.0, measures={"m": place}))
    kept = sorted(member.measures["m"] for member in archive.members)
    assert min(b - a for a, b in pairwise(kept)) > 0.1
    before = {member.measures["m"]: member.candidate_id for member in archive.members}
    assert add(archive, individual("again", 0.0, measures={"m": kept[1]})).displaced == (before[kept[1]],)
