"""Finished trainings answer further mazes: which, at which temperatures, and as often as it takes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evolve.domains.maze import maze_of
from evolve.errors import ConfigurationError
from tests.conftest import TORCH
from tests.training.tiny_maze import RECIPE, SHAPE, random_weights
from training.study import method_table
from training.study.finished_trainings import (
    AnsweringScope,
    FinishedTraining,
    answer_all,
    find_trainings,
    own_temperatures,
    read_validated,
    tables_at,
)

if TYPE_CHECKING or TORCH:
    import torch

    from training.evaluation import figures_of_mazes
    from training.export import export
    from training.maze import RunFolder, reinforce

pytestmark = pytest.mark.training

SCOPE = AnsweringScope(kind="small", first=5, tested=2, validated=3, answers=32, temperatures=(0.5, 1.0, 4.0))


@pytest.fixture
def trainings(tmp_path: Path) -> list[FinishedTraining]:
    """Two of a method, one that is asked under goals, and the base."""
    folder = tmp_path / "trainings"
    folder.mkdir()
    for seed, name in enumerate(("grpo-s0", "grpo-s1", "goal_conditioned-s0", "base-model")):
        export(random_weights(seed=seed), SHAPE, folder / name, m=1, card="", goals="goal" in name)
    return find_trainings(folder, folder / "base-model")


def test_test_mazes_are_answered_at_the_own_temperature_and_at_1(
    trainings: list[FinishedTraining], tmp_path: Path
) -> None:
    lines: list[str] = []
    answer_all(trainings, SCOPE, tmp_path / "out", report=lines.append)
    names = ["base-s0", "grpo-s0", "grpo-s1", "goal_conditioned-s0"]
    assert lines == [*names, *names]  # all are validated before one answers a test maze
    validated = read_validated(tmp_path / "out")
    assert {t for seeds in validated.values() for found in seeds.values() for t in found} == {*SCOPE.temperatures}
    own = own_temperatures(validated)
    answered = {
        str(path.relative_to(tmp_path / "out" / "test")) for path in (tmp_path / "out" / "test").rglob("*.json")
    }
    assert answered == {f"{t:g}/{one.name}.json" for one in trainings for t in (1.0, own[one.arm])}
    asked = [maze_of("small", "test", number) for number in (5, 6)]
    settings = replace(trainings[2].recipe("small").reinforcement, answers=32, temperature=own["grpo"])
    expected = figures_of_mazes(random_weights(seed=1), SHAPE, asked, settings, seed=1)
    assert tables_at(tmp_path / "out", own)["grpo"][1] == expected


def test_what_was_answered_is_not_answered_again(trainings: list[FinishedTraining], tmp_path: Path) -> None:
    def files() -> dict[str, str]:
        return {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("out/**/*.json")}

    few = [one for one in trainings if one.arm == "grpo"]
    answer_all(few, SCOPE, tmp_path / "out", everywhere=True)
    first = files()
    assert len(first) == 1 + 2 * (1 + len(SCOPE.temperatures))  # with that of the scope
    kept, lost = tmp_path / "out" / "test" / "4" / "grpo-s0.json", tmp_path / "out" / "test" / "4" / "grpo-s1.json"
    kept.write_text("[]")
    lost.unlink()
    answer_all(few, SCOPE, tmp_path / "out", everywhere=True)
    assert files() == first | {str(kept.relative_to(tmp_path)): "[]"}


def test_a_part_of_the_temperatures_can_be_validated_later(trainings: list[FinishedTraining], tmp_path: Path) -> None:
    few = [one for one in trainings if one.name == "grpo-s0"]
    answer_all(few, SCOPE, tmp_path / "whole", everywhere=True)
    for temperatures in ((4.0,), SCOPE.temperatures):
        answer_all(few, replace(SCOPE, temperatures=temperatures), tmp_path / "parts", everywhere=True)
    assert read_validated(tmp_path / "parts") == read_validated(tmp_path / "whole")


@pytest.mark.parametrize(
    "other", [{"kind": "hard"}, {"first": 6}, {"tested": 1}, {"validated": 2}, {"answers": 64}], ids=str
)
def test_a_folder_does_not_mix_answers_to_other_mazes(
    trainings: list[FinishedTraining], tmp_path: Path, other: dict[str, Any]
) -> None:
    few = [one for one in trainings if one.name == "grpo-s0"]
    small = replace(SCOPE, temperatures=(1.0,))
    answer_all(few, small, tmp_path / "out")
    (name,) = other
    told = f"out holds answers with {name} {getattr(SCOPE, name)}: name another folder"
    with pytest.raises(ConfigurationError, match=told):
        answer_all(few, replace(small, **other), tmp_path / "out")
    answer_all(few, replace(small, batch=1), tmp_path / "out")


def test_answers_without_a_scope_are_not_continued(trainings: list[FinishedTraining], tmp_path: Path) -> None:
    (tmp_path / "out" / "validation").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match=r"no scope\.json says to which mazes"):
        answer_all(trainings, SCOPE, tmp_path / "out")


def test_several_processes_answer_as_one_does(trainings: list[FinishedTraining], tmp_path: Path) -> None:
    for workers in (1, 2):
        answer_all(trainings, SCOPE, tmp_path / str(workers), workers=workers)
    own = own_temperatures(read_validated(tmp_path / "1"))
    assert tables_at(tmp_path / "1", own) == tables_at(tmp_path / "2", own)


def test_the_policy_of_a_training_is_that_of_its_newest_checkpoint(tmp_path: Path) -> None:
    place = RunFolder(folder=tmp_path / "vpo-s3", save_every=2)
    trained = reinforce(RECIPE, random_weights(RECIPE.shape), place, lambda _: None)
    (found,) = find_trainings(tmp_path)
    weights, shape = found.policy()
    assert (found.arm, found.seed, shape) == ("vpo", 3, RECIPE.shape)
    assert all(torch.equal(weights[name], weight) for name, weight in trained.items())


def test_a_folder_without_a_training_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no training"):
        find_trainings(tmp_path)
    (tmp_path / "vpo-s0").mkdir()
    with pytest.raises(ConfigurationError, match="holds no model folder and no checkpoint"):
        find_trainings(tmp_path)[0].policy()


def test_the_command_answers_with_the_methods_that_are_asked_for(
    trainings: list[FinishedTraining], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    words = ["method_table", "--trainings", str(trainings[1].folder.parent), "--methods", "grpo", "-o", str(out)]
    words += ["--first", "7", "--tested", "1", "--validated", "1", "--temperatures", "2", "--batch", "1"]
    monkeypatch.setattr("sys.argv", words)
    method_table.main()
    found = {str(path.relative_to(out)): len(json.loads(path.read_text())) for path in out.rglob("*.json")}
    places = ("validation", "test/1", "test/2")
    kept = {f"{place}/grpo-s{seed}.json": 1 for place in places for seed in (0, 1)}
    assert found == kept | {"scope.json": 5}


def test_methods_without_a_training_are_refused(
    trainings: list[FinishedTraining],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = str(trainings[1].folder.parent)
    words = ["method_table", "--trainings", folder, "--methods", "grpo,vpo@8", "-o", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as ended:
        method_table.main()
    assert ended.value.code == 2
    assert "holds no training of vpo@8" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_device_that_torch_does_not_see_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["method_table", "--trainings", ".", "--device", "cuda", "-o", str(tmp_path)])
    with pytest.raises(SystemExit):
        method_table.main()
    assert "torch sees no device 'cuda' here: choose cpu" in capsys.readouterr().err
