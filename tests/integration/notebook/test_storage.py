"""Runs of `evolve.run` that are kept: as those of commands are, to be opened and continued by either."""

from pathlib import Path
from typing import Any

import pytest

import evolve
from evolve.search.result import Result
from service.errors import ConflictError, NotFoundError
from tests.e2e.evolving import EvolveHere

EXAMPLES = Path(__file__).parents[3] / "examples"
SEED = "x = 7\n"


def closeness(source: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(source, space)
    return {"score": -abs(float(space["x"]) - 42), "view": f"<p>{space['x']}</p>"}


def plain(result: Result) -> list[dict[str, Any]]:
    return [dict(record) for record in result.candidates]


def test_a_kept_run_is_what_was_returned(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    result = evolve.run(SEED, evaluate=closeness, evaluations=25, seed=3, storage=place, name="first")
    opened = evolve.open_run(storage=place)
    assert (opened.run_id, opened.reason, opened.labels) == (result.run_id, result.reason, result.labels)
    assert plain(opened) == plain(result)
    assert (opened.source, opened.scores, opened.history) == (result.source, result.scores, result.history)
    assert opened.account == result.account
    assert opened.views == result.views
    assert [one.candidate_id for one in opened.front] == [one.candidate_id for one in result.front]
    assert opened.statistics == result.statistics
    assert evolve.open_run(result.run_id[:12], storage=f"sqlite:///{place}").run_id == result.run_id


def test_commands_show_a_kept_run(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    result = evolve.run(SEED, evaluate=closeness, evaluations=10, storage=place)
    shown = EvolveHere(tmp_path).json("best", "last", "--db", f"sqlite:///{place}")
    assert shown["fitness"] == result.fitness


def test_two_equal_runs_are_kept_apart(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    runs = [evolve.run(SEED, evaluate=closeness, evaluations=8, seed=1, storage=place) for _ in range(2)]
    assert runs[0].run_id != runs[1].run_id
    assert [run.source for run in runs] == [runs[0].source] * 2
    assert evolve.open_run(storage=place).run_id == runs[1].run_id


def test_a_run_that_is_opened_goes_on_with_its_functions_and_is_kept_on(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    result = evolve.run(SEED, evaluate=closeness, evaluations=10, seed=3, storage=place)
    longer = evolve.open_run(storage=place, evaluate=closeness).extend(evaluations=30)
    assert longer.account.evaluations == 30
    assert plain(longer)[: len(result.candidates)] == plain(result)
    assert plain(evolve.open_run(storage=place)) == plain(longer)
    with pytest.raises(ConflictError, match="was continued or cancelled since this result"):
        result.extend(evaluations=20)  # it knows nothing of what came later
    assert longer.extend(evaluations=35).account.evaluations == 35


def test_a_run_of_a_command_is_opened_and_goes_on(tmp_path: Path) -> None:
    commands = EvolveHere(tmp_path)
    run_id = commands.lines("run", str(EXAMPLES / "circle_packing"), "--evaluations", "12", "--json")[-1]["run_id"]
    opened = evolve.open_run(run_id, storage=commands.url)
    assert (opened.run_id, opened.account.evaluations) == (run_id, 12)
    assert opened.view is not None
    longer = opened.extend(evaluations=20)
    assert longer.account.evaluations == 20
    assert commands.json("show", run_id)["counters"]["evaluations"] == 20


def test_an_interrupted_run_is_kept_as_it_stands(tmp_path: Path) -> None:
    place, seen = tmp_path / "runs.db", []

    def impatient(source: str) -> dict[str, Any]:
        seen.append(source)
        if len(seen) == 6:
            raise KeyboardInterrupt
        return closeness(source)

    result = evolve.run(SEED, evaluate=impatient, evaluations=30, seed=3, storage=place)
    assert result.reason == "interrupted"
    opened = evolve.open_run(storage=place, evaluate=closeness)
    assert opened.reason == "interrupted"
    assert opened.extend().account.evaluations == 30


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no database"):
        evolve.open_run(storage=tmp_path / "none.db")
    place = tmp_path / "runs.db"
    evolve.run(SEED, evaluate=closeness, evaluations=2, storage=place)
    with pytest.raises(NotFoundError):
        evolve.open_run("run_0123456789", storage=place)


def test_the_front_door_lists_what_it_has() -> None:
    assert {"run", "open_run"} <= set(dir(evolve))
    assert {"run", "open_run"} <= set(evolve.__all__)
    assert callable(evolve.open_run)
