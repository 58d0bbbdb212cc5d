"""Archives say what happened, hold what they promise, and re-bin when a running range grows."""

from evolve.archive import GridArchive, ParetoArchive, Status, TopArchive, open_archive
from evolve.configuration import ArchiveConfig
from evolve.problem import Measure
from tests.fakes.world import toy_problem
from tests.unit.individuals import individual


def names(archive: GridArchive | ParetoArchive | TopArchive) -> set[str]:
    return {member.candidate_id for member in archive.members}


def test_top_keeps_the_fittest_and_the_newest_among_equals() -> None:
    archive = TopArchive(1, 2)
    assert archive.add(individual("a", 1.0)).status is Status.ADDED
    assert archive.add(individual("b", 2.0)).status is Status.ADDED
    assert archive.add(individual("c", 0.5)).status is Status.FULL
    assert archive.add(individual("b", 2.0)).status is Status.DUPLICATE
    same = archive.add(individual("d", 1.0))
    assert same.status is Status.IMPROVED
    assert same.displaced == ("a",)
    assert names(archive) == {"b", "d"}


def test_pareto_refuses_the_dominated_and_lets_go_of_what_is_dominated() -> None:
    archive = ParetoArchive(2, 10)
    archive.add(individual("low", 0.0, (0.0, 0.0)))
    archive.add(individual("left", 0.0, (0.0, 1.0)))
    assert names(archive) == {"left"}
    assert archive.add(individual("right", 0.0, (1.0, 0.0))).status is Status.ADDED
    assert archive.add(individual("same", 0.0, (1.0, 0.0))).status is Status.DOMINATED
    best = archive.add(individual("best", 0.0, (1.0, 1.0)))
    assert best.status is Status.IMPROVED
    assert set(best.displaced) == {"left", "right"}


def test_a_full_pareto_archive_lets_go_of_the_most_crowded() -> None:
    archive = ParetoArchive(2, 4)
    for name, x in (("a", 0.0), ("b", 1.0), ("c", 0.5), ("d", 0.55)):
        archive.add(individual(name, 0.0, (x, 1 - x)))
    assert archive.add(individual("e", 0.0, (0.52, 0.48))).status is Status.FULL
    sparse = archive.add(individual("f", 0.0, (0.2, 0.8)))
    assert sparse.status is Status.IMPROVED
    assert sparse.displaced == ("c",)
    assert names(archive) == {"a", "b", "d", "f"}


def test_a_cell_keeps_its_fittest() -> None:
    archive = GridArchive(1, [Measure(name="m", bins=2, low=0.0, high=2.0)])
    assert archive.add(individual("a", 1.0, measures={"m": 0.1})).status is Status.NEW_CELL
    assert archive.add(individual("b", 0.5, measures={"m": 0.2})).status is Status.DOMINATED
    assert archive.add(individual("c", 0.5, measures={"m": 1.5})).status is Status.NEW_CELL
    better = archive.add(individual("d", 2.0, measures={"m": -7.0}))
    assert better.status is Status.IMPROVED
    assert better.displaced == ("a",)
    assert archive.cells == {(0,): "d", (1,): "c"}


def test_a_running_range_that_grows_re_bins_and_the_fitter_of_a_shared_cell_stays() -> None:
    archive = GridArchive(1, [Measure(name="m", bins=2)])
    archive.add(individual("a", 1.0, measures={"m": 0.0}))
    archive.add(individual("b", 2.0, measures={"m": 1.0}))
    assert archive.cells == {(0,): "a", (1,): "b"}
    grown = archive.add(individual("c", 0.0, measures={"m": 100.0}))
    assert grown.displaced == ("a",)
    assert archive.cells == {(0,): "b", (1,): "c"}


def test_a_running_range_at_least_doubles_so_that_re_binning_is_rare() -> None:
    archive = GridArchive(1, [Measure(name="m", bins=4)])
    archive.add(individual("0", 0.0, measures={"m": 0.0}))
    rebins = 0
    for i in range(1, 500):
        before = archive._axes[0]._high
        archive.add(individual(str(i), float(i), measures={"m": float(i)}))
        rebins += archive._axes[0]._high != before
    assert rebins <= 11


def test_auto_fits_the_problem() -> None:
    problem = toy_problem(several=True)
    assert isinstance(open_archive(problem, ArchiveConfig()), GridArchive)
    assert isinstance(open_archive(problem, ArchiveConfig(kind="pareto")), ParetoArchive)
    assert isinstance(open_archive(problem, ArchiveConfig(kind="top")), TopArchive)
