"""Programs of an earlier run as seeds: which are chosen, what becomes of their lineage, and how they are stored."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import ProblemError
from evolve.problem import Direction, Objective, SeedOrigin
from service.errors import InvalidProblemError
from service.ports import Upload
from service.problems.description import seed_names
from service.problems.forked_problem import fork_problem
from service.problems.load import load_bundle, load_problem
from service.problems.population import EarlierProgram, EarlierRun, join_populations
from service.problems.project import Project
from service.problems.upload import load_upload
from service.problems.upload_request import upload_of
from tests.unit.problems.checkpoints import code
from tests.unit.problems.folders import EVALUATE, native, write


def earlier(name: str, score: float, *parents: str, generation: int = 0, valid: bool = True) -> EarlierProgram:
    metrics = {"combined_score": score, "time": -score}
    return EarlierProgram(
        name=name, files={"": code(name)}, parents=parents, generation=generation, metrics=metrics, valid=valid
    )


def population(*programs: EarlierProgram) -> EarlierRun:
    return EarlierRun(source="a test", programs=programs, total=len(programs))


LINE = population(
    earlier("a", 1), earlier("b", 2, "a", generation=1), earlier("c", 9, "b", generation=2),
    earlier("d", 3, "c", "a", generation=3), earlier("e", 99, "d", generation=4, valid=False),
)  # fmt: skip


def test_the_best_valid_programs_come_in_the_order_of_their_generations() -> None:
    best = LINE.best(2)
    assert [(one.name, one.parents) for one in best.programs] == [("c", ()), ("d", ("c",))]
    assert str(best) == "2 of the 5 programs of a test"


def test_programs_that_are_chosen_without_a_score_are_counted() -> None:
    bare = [EarlierProgram(name=f"p{n}", files={"": code(n)}, generation=n) for n in range(4)]
    assert (LINE.best(2).unscored, population(*bare).best(3).unscored) == (0, 3)
    assert population(*bare).best(4).unscored == 0  # all come along
    assert population(*bare, earlier("a", 1)).best(3).unscored == 2
    assert [one.name for one in population(*bare, earlier("a", 1)).best(2).programs] == ["p0", "a"]


def test_parents_are_the_nearest_ancestors_that_come_along() -> None:
    best = LINE.best(2, [Objective(name="time", direction=Direction.MINIMIZE)])
    assert [one.name for one in best.programs] == ["c", "d"]
    best = LINE.best(2, [Objective(name="time")])
    assert [(one.name, one.parents) for one in best.programs] == [("a", ()), ("b", ("a",))]
    best = population(*[one for one in LINE.programs if one.name != "b"]).best(9)
    assert [(one.name, one.parents) for one in best.programs] == [("a", ()), ("c", ()), ("d", ("c", "a"))]


def test_copies_on_other_islands_count_once_and_keep_their_children() -> None:
    copy = EarlierProgram(name="copy", files={"": code("a")}, metrics={"combined_score": 1})
    best = population(earlier("a", 1), copy, earlier("b", 2, "copy", generation=1)).best(9)
    assert [(one.name, one.parents) for one in best.programs] == [("a", ()), ("b", ("a",))]


def test_lines_that_bite_their_tails_end() -> None:
    looped = population(earlier("a", 1, "b"), earlier("b", 2, "a"), earlier("c", 3, "c", "x"))
    assert [(one.name, one.parents) for one in looped.best(9).programs] == [("a", ()), ("b", ("a",)), ("c", ())]


def test_populations_are_joined_and_names_that_an_earlier_one_has_get_a_number_in_front() -> None:
    others = replace(population(earlier("x", 1), earlier("a", 2, "x", generation=1)), source="another")
    assert list(join_populations([LINE]).programs) == list(LINE.programs)
    joined = join_populations([LINE.best(2), replace(others, total=7), population(earlier("y", 1))])
    assert [(one.name, one.parents) for one in joined.programs] == [
        ("c", ()), ("d", ("c",)), ("x", ()), ("a", ("x",)), ("y", ())
    ]  # fmt: skip
    assert (joined.source, joined.total) == ("a test and another and a test", 13)
    twice = join_populations([LINE.best(2), LINE.best(2)])
    assert [(one.name, one.parents) for one in twice.programs][2:] == [("2/c", ()), ("2/d", ("2/c",))]


@given(st.lists(st.tuples(st.floats(-9, 9), st.lists(st.integers(0, 9), max_size=3)), max_size=10), st.integers(1, 12))
def test_ancestors_stand_before_descendants_in_every_population(
    made: list[tuple[float, list[int]]], count: int
) -> None:
    programs = [earlier(f"p{n}", score, *[f"p{one}" for one in parents]) for n, (score, parents) in enumerate(made)]
    best = population(*programs).best(count).programs
    assert len(best) == min(count, len(made))
    for place, one in enumerate(best):
        assert set(one.parents) <= {other.name for other in best[:place]}


def project(place: Path) -> Path:
    return write(place / "p", {"initial_program.py": f"# the first\n{code(0)}", "evaluator.py": EVALUATE})


def test_a_problem_starts_from_its_own_seed_and_the_population(tmp_path: Path) -> None:
    zero = EarlierProgram(name="zero", files={"": code(0)}, generation=0)
    found = population(zero, earlier("b", 2, "zero", generation=1), earlier("c", 3, "b", generation=2)).best(9)
    loaded = load_problem(Project(folder=project(tmp_path), population=found.as_files()))
    problem = loaded.problem
    assert [dict(seed.files) for seed in problem.seeds] == [
        {"initial_program.py": text} for text in (f"# the first\n{code(0)}", code("b"), code("c"))
    ]
    assert {place: origin.parents for place, origin in problem.origins.items()} == {1: (0,), 2: (1,)}
    assert seed_names(problem) == [
        "initial_program.py", "b (generation 1, combined_score 2 there)", "c (generation 2, combined_score 3 there)",
    ]  # fmt: skip
    again = load_bundle(loaded.bundle, "p")
    assert (again.problem, again.bundle.hash) == (problem, loaded.bundle.hash)


def test_a_service_reads_the_same_problem_from_an_upload(tmp_path: Path) -> None:
    named = Project(folder=project(tmp_path), population=LINE.best(3).as_files())
    sent = upload_of(named)
    upload = Upload(name="p", files={path: text.encode() for path, text in sent.files.items()})
    assert load_upload(upload).bundle.hash == load_problem(named).bundle.hash


def test_a_fork_starts_from_its_program_alone(tmp_path: Path) -> None:
    loaded = load_problem(Project(folder=project(tmp_path), population=LINE.best(3).as_files()))
    assert len(loaded.problem.seeds) == 4
    forked = fork_problem(loaded.bundle, "p", loaded.problem.seeds[2])
    assert (forked.problem.seeds, forked.problem.origins) == ((loaded.problem.seeds[2],), {})


def test_a_seed_stands_behind_its_parents(tmp_path: Path) -> None:
    problem = load_problem(project(tmp_path)).problem
    with pytest.raises(ProblemError, match="the parents of a seed stand before it"):
        replace(problem, origins={0: SeedOrigin(name="a", parents=(0,))})


def test_programs_of_several_files_keep_them(tmp_path: Path) -> None:
    files = {"main.py": code(1), "lib/more.py": "X = 1\n"}
    found = population(EarlierProgram(name="a", files=files, metrics={"gain": 1.0})).best(1)
    loaded = load_problem(Project(folder=native(tmp_path), population=found.as_files()))
    assert dict(loaded.problem.seeds[1].files) == files


ENTRY = {"name": "a", "folder": "0001", "single": True, "parents": [], "generation": 1, "metrics": {}}

BROKEN: list[Any] = [5, [5], [{}], [{**ENTRY, "parents": 5}], [{**ENTRY, "folder": "0009"}]]


@pytest.mark.parametrize(
    "document",
    [
        b"{",
        b"[]",
        b"[" * 50_000,
        b"\xff",
        *(json.dumps({"programs": programs}).encode() for programs in BROKEN),
    ],
)
def test_a_population_that_is_none_ends_in_one_sentence(tmp_path: Path, document: bytes) -> None:
    folder = native(tmp_path)
    write(folder, {"evolve_seeds/population.json": document, "evolve_seeds/0001/program": code(7)})
    with pytest.raises(InvalidProblemError) as error:
        load_problem(folder)
    assert error.value.complaints == (
        "evolve_seeds/population.json is not a population of evolve run --seeds-from: remove the folder evolve_seeds",
    )


def test_parents_that_stand_later_or_nowhere_do_not_count(tmp_path: Path) -> None:
    entry = {"folder": "0001", "single": True, "generation": None, "metrics": {"x": 1e300, "y": "z"}}
    programs: list[dict[str, Any]] = [
        {**entry, "name": "a", "parents": ["b", "a", "none"]},
        {**entry, "name": "b", "folder": "0002", "parents": ["a"]},
    ]
    folder = native(tmp_path)
    files = {"population.json": json.dumps({"programs": programs}), "0001/program": code(7), "0002/program": code(8)}
    write(folder, {f"evolve_seeds/{name}": text for name, text in files.items()})
    problem = load_problem(folder).problem
    assert [(origin.parents, dict(origin.metrics)) for origin in problem.origins.values()] == [((), {}), ((1,), {})]
