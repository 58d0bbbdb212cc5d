"""The back end `trl`: the requests that it takes, the data that it trains on, and the parents that it holds out."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from service.errors import UsageError
from service.ports.training_backends import RunData
from service.trainer import trl
from service.trainer.contract import BackendTask
from service.trainer.held_out_parents import parent_name
from service.trainer.trl import TrlBackend

REQUEST = {"method": "vpo", "model": "tiny", "runs": ["run_1"], "hyperparameters": {}}


def refused(**changes: Any) -> str:
    with pytest.raises(UsageError) as found:
        TrlBackend().check(REQUEST | changes)
    return str(found.value)


def test_requests_that_can_be_trained_are_taken() -> None:
    for changes in (
        {}, {"method": "vector_max_at_k", "k": 4}, {"model": "", "base": "writer@1"}, {"runs": [], "problem": "p"},
        {"method": "sft", "hyperparameters": {"reward_temperature": 0.5, "answers": 2, "rank": 8}},
        {"hyperparameters": {"group": 4, "prompts": 2, "rate": 1e-5, "completion_tokens": 64}},
    ):  # fmt: skip
        TrlBackend().check(REQUEST | changes)


def test_a_setting_that_means_nothing_is_refused_with_what_there_is() -> None:
    assert "no method 'absent': name sft, vpo" in refused(method="absent")
    assert "no method 'goal_conditioned'" in refused(method="goal_conditioned")
    assert "leave k out" in refused(k=4)
    assert "leave k out" in refused(method="sft", k=4)
    assert "has no kinds" in refused(kinds=["hard"])
    assert "learns from runs" in refused(runs=[])
    assert "needs a model" in refused(model="")
    assert "leave base out" in refused(method="sft", base="writer@1")
    assert "has no hyperparameter 'batch': name" in refused(hyperparameters={"batch": 2})
    assert "has no hyperparameter 'group': name" in refused(method="sft", hyperparameters={"group": 2})
    assert "rank is a whole number from 1 to 512, not 2.5" in refused(hyperparameters={"rank": 2.5})
    assert "group is a whole number from 2 to 1024, not 1" in refused(hyperparameters={"group": 1})


def test_it_says_which_packages_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {"trl", "peft"}
    monkeypatch.setattr(trl, "find_spec", lambda name: None if name in absent else find_spec("json"))
    assert TrlBackend().missing().startswith("trl and peft are not installed: install the extra trl")
    absent.remove("peft")
    assert TrlBackend().missing().startswith("trl is not installed: ")
    absent.clear()
    assert TrlBackend().missing() == ""


def program(number: int) -> dict[str, str]:
    return {"program.py": f"x = {number}\n"}


def write_run(folder: Path, parents: int, form: str = "single", run: str = "run_1", problem: str = "point") -> None:
    """A run with a seed, so many children of it, and a prompt and a child for each of these."""
    place = RunData.of(folder, run)
    place.problem.mkdir(parents=True)
    place.document.write_text(json.dumps({"problem_name": problem, "bundle_hash": f"hash of {problem}"}))
    candidates: list[dict[str, Any]] = [{"candidate_id": "c0", "files": program(0), "parents": []}]
    records: list[dict[str, Any]] = []
    for number in range(1, parents + 1):
        candidates.append({"candidate_id": f"c{number}", "files": program(number), "parents": edge("c0")})
        candidates.append(
            {"candidate_id": f"d{number}", "files": program(1000 + number), "parents": edge(f"c{number}")}
        )
        asked = {"format": form, "edits": "rewrite"}
        parent = {"candidate_id": f"c{number}", "files": program(number)}
        records.append({"run_id": run, "number": number, "messages": ["ask"], "asked": asked, "parent": parent})
    records.append({**records[-1], "number": 99, "messages": []})
    place.records.write_text("".join(json.dumps(one) + "\n" for one in records))
    place.candidates.write_text("".join(json.dumps(one) + "\n" for one in candidates))


def edge(parent: str) -> list[dict[str, str]]:
    return [{"candidate_id": parent, "role": "parent"}]


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def settings_of(words: Sequence[str]) -> Any:
    assert list(words[1:4]) == ["-m", "service.cli.training_process", "train"]
    return json.loads(Path(words[4]).read_text())


def test_nothing_of_a_held_out_parent_is_trained_on(tmp_path: Path) -> None:
    write_run(tmp_path, 24)
    task = BackendTask(request={**REQUEST, "test_problems": 64, "seed": 5, "steps": 7}, runs=("run_1",))
    backend = TrlBackend(save_every=3)
    settings = settings_of(backend.command(task, None, tmp_path))
    assert (settings["model"], settings["steps"], settings["save_every"]) == ("tiny", 7, 3)
    (run,) = settings["runs"]
    trained, told = lines(run["records"]), backend.training(task, tmp_path)
    shown = {parent_name(one["parent"]["files"]) for one in trained}
    learnt = {"problem point hash of poin"}
    assert (len(shown), set(told["problems"])) == (16, shown | learnt)  # a third of 24 is held out
    held = {parent_name(program(number)) for number in range(1, 25)} - shown
    for one in lines(run["candidates"]):
        of_held = any(parent_name(program(int(found["candidate_id"][1:]))) in held for found in one["parents"])
        assert not of_held
    assert len(lines(run["candidates"])) == 49
    assert "8 parent programs" in told["held_out"]
    assert settings_of(backend.command(task, None, tmp_path)) == settings


def test_held_out_problems_compare_versions_alike_and_all_parents_of_the_runs_are_trained_on(tmp_path: Path) -> None:
    write_run(tmp_path, 5)
    for run, problem, parents in (("run_2", "second", 20), ("run_3", "third", 3), ("run_4", "second", 20)):
        write_run(tmp_path, parents, run=run, problem=problem)
    request = {**REQUEST, "test_problems": 8, "test_runs": ["run_2", "run_3", "run_4"]}
    task, backend = BackendTask(request=request, runs=("run_1",)), TrlBackend()
    (run,) = settings_of(backend.command(task, None, tmp_path))["runs"]
    assert run["run_id"] == "run_1"
    assert len({parent_name(one["parent"]["files"]) for one in lines(run["records"])}) == 5
    told = backend.training(task, tmp_path)
    assert told["problems"][0] == "problem point hash of poin"
    assert not [name for name in told["problems"] if "second" in name or "third" in name]
    assert "8 parent programs of 2 other problems: problem second hash of seco, problem third" in told["held_out"]

    asked: dict[str, Any] = {}

    def evaluated(words: Sequence[str], _: Event) -> None:
        settings = json.loads(Path(words[4]).read_text())
        asked.update(settings, names=[one["name"] for one in lines(settings["asked"])])
        Path(settings["values"]).write_text(json.dumps(dict.fromkeys(asked["names"], 0.5)))

    model = tmp_path / "training" / "adapter"
    model.mkdir(parents=True)
    (model / "evolve.toml").write_text('temperature = 0.5\nmax_tokens = 99\nedits = "rewrite"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trl, "run_evaluation", evaluated)
        found = backend.evaluate(task, model, told["problems"], Event())
        assert list(found.problems) == asked["names"]
        with pytest.raises(UsageError, match="was trained on the problem third"):
            backend.evaluate(task, model, ["problem third hash of thir"], Event())
    assert sum("of problem third" in name for name in asked["names"]) == 3  # as many of each, as far as there are
    assert sum("of problem second" in name for name in asked["names"]) == 5
    assert (asked["temperature"], asked["max_tokens"]) == (0.5, 99)
    assert {one["run_id"] for one in asked["runs"]} == {"run_2", "run_3", "run_4"}


def test_held_out_problems_with_too_few_prompts_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    write_run(tmp_path, 24)
    write_run(tmp_path, 5, run="run_2", problem="second")
    request = {**REQUEST, "test_problems": 64, "test_runs": ["run_2"]}
    with pytest.raises(UsageError, match="the test runs have 5 parents with prompts"):
        TrlBackend().command(BackendTask(request=request, runs=("run_1",)), None, tmp_path)


@pytest.mark.parametrize(("parents", "form"), [(17, "single"), (24, None)])
def test_a_job_with_too_few_parents_is_refused_before_it_is_trained(tmp_path: Path, parents: int, form: Any) -> None:
    write_run(tmp_path, parents, form)
    request = {**REQUEST, "test_problems": 64, "seed": 5}
    with pytest.raises(UsageError, match=r"the runs have (17|0) parents.*set test_problems to 0"):
        TrlBackend().command(BackendTask(request=request, runs=("run_1",)), None, tmp_path)
    TrlBackend().command(BackendTask(request=request | {"test_problems": 0}, runs=("run_1",)), None, tmp_path)


def test_the_base_must_be_an_adapter_and_names_its_model(tmp_path: Path) -> None:
    write_run(tmp_path, 2)
    request = {**REQUEST, "model": "", "base": "writer@1", "test_problems": 0}
    task, base = BackendTask(request=request, runs=("run_1",)), tmp_path / "base"
    base.mkdir()
    with pytest.raises(UsageError, match="writer@1 is not a LoRA adapter"):
        TrlBackend().command(task, base, tmp_path)
    (base / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "org/tiny"}))
    settings = settings_of(TrlBackend().command(task, base, tmp_path))
    assert (settings["model"], settings["start"]) == ("org/tiny", str(base))


def test_the_newest_checkpoint_is_one_that_was_written_whole(tmp_path: Path) -> None:
    assert TrlBackend().checkpoint(tmp_path) == {}
    for step in (3, 6, 9):
        (tmp_path / "training" / "checkpoints" / f"checkpoint-{step}").mkdir(parents=True)
        if step < 9:
            (tmp_path / "training" / "checkpoints" / f"checkpoint-{step}" / "trainer_state.json").write_text("{}")
    assert TrlBackend().checkpoint(tmp_path) == {"stage": "update", "step": 6}
