"""Records of a real run, and new completions to their prompts scored: the recipe as far as it needs no torch."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from service.bootstrap.evaluators import SandboxEvaluators
from service.config import Settings
from service.problems.load import load_problem
from service.usecases.sync_scoring import open_sync_scoring
from tests.e2e.evolving import Evolve
from tests.fakes.openai_server import chain, openai_server
from tests.training.problem import SEED, evaluate, make_point, point
from training import base_model
from training.adapters.completions import Completion
from training.base_model import require_frameworks
from training.errors import TrainingError
from training.lora import LoraSettings
from training.program_judge import ProgramJudge
from training.records import Records, Scale, read_records


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of the problem, and the training records of a run on it."""
    home = tmp_path_factory.mktemp("run")
    folder, records = make_point(home / "point"), home / "records.jsonl"
    places = itertools.count(1)

    def respond(body: Mapping[str, Any]) -> list[str]:
        return [chain(*(point(next(places) / 100, 0.25) for _ in range(3))) for _ in range(body["n"])]

    with openai_server(respond) as server:
        evolve = Evolve(home)
        evolve.call("run", str(folder), "--policy", server.url, "--answers", "3", "--evaluations", "20")
    evolve.call("export", "last", "--training", "-o", str(records))
    return folder, records


@pytest.fixture
def records(run: tuple[Path, Path]) -> Records:
    return read_records([run[1]])


@pytest.fixture
def judge(run: tuple[Path, Path], records: Records) -> ProgramJudge:
    return ProgramJudge(load_problem(run[0]).problem, evaluate, records)


def test_records_hold_prompts_parents_and_rewards_of_a_run(run: tuple[Path, Path], records: Records) -> None:
    assert len(records.usable) >= 3
    first = records.usable[0]
    assert first.messages[0]["role"] == "system"
    assert SEED.strip() in first.messages[-1]["content"]
    assert dict(first.parent.files) == {"program.py": SEED}
    assert (first.chain_format.tag, first.edits, first.answers) == ("answer", "rewrite", 3)
    assert first.objectives == ("across", "up")
    written = re.findall(r"return \[([\d.]+), ", json.loads(run[1].read_text().splitlines()[0])["completions"][0])
    expected = [(1 - abs(float(x) - 0.62), 1 - abs(0.25 - 0.41)) for x in written]
    assert np.array(first.rewards)[:3] == pytest.approx(np.array(expected))


def completion(*answers: str, cut: bool = False) -> Completion:
    return Completion(text=chain(*answers), columns={"record": 0}, cut=cut)


def test_answers_are_scored_as_children_of_the_parent(judge: ProgramJudge) -> None:
    again = "# the same\n" + point(0.62, 0.0)
    full, repeated, broken, nothing = judge([
        completion(point(0.62, 0.0), point(0.0, 0.41), point(0.5, 0.5)),
        completion(point(0.62, 0.0), again, point(0.62, 0.41)),
        completion("def point(:", SEED, "def point():\n    return None"),
        Completion(text="I do not know.", columns={"record": 0}),
    ])  # fmt: skip
    assert np.asarray(full) == pytest.approx(np.array([[1.0, 0.59], [0.38, 1.0], [0.88, 0.91]]))
    assert np.asarray(repeated) == pytest.approx(np.array([[1.0, 0.59], [0.0, 0.0], [1.0, 1.0]]))
    assert np.asarray(broken) == pytest.approx(np.zeros((3, 2)))  # no syntax, the parent again, and a failure
    assert nothing is None


def test_an_answer_cut_off_counts_for_nothing(judge: ProgramJudge) -> None:
    text = chain(point(0.1, 0.1)) + "\n<answer_2>\n" + point(0.6, 0.4)
    (whole,) = judge([Completion(text=text, columns={"record": 0})])
    (cut,) = judge([Completion(text=text, columns={"record": 0}, cut=True)])
    assert np.asarray(whole)[1] == pytest.approx([0.98, 0.99])
    assert not np.asarray(cut)[1].any()


def test_a_program_is_evaluated_once(run: tuple[Path, Path], records: Records) -> None:
    asked: list[str] = []

    def counting(programs: Sequence[Program]) -> list[Evaluation]:
        asked.extend(program.text for program in programs)
        return evaluate(programs)

    judge = ProgramJudge(load_problem(run[0]).problem, counting, records)
    for _ in range(2):
        judge([completion(point(0.1, 0.1)), completion(point(0.1, 0.1), point(0.2, 0.2))])
    assert asked == [point(0.1, 0.1) + "\n", point(0.2, 0.2) + "\n"]


def test_a_program_that_was_not_scored_is_no_failure_of_it(run: tuple[Path, Path], records: Records) -> None:
    judge = ProgramJudge(
        load_problem(run[0]).problem, lambda _: [Evaluation(outcome=Outcome.LOST, reason="worker gone")], records
    )
    with pytest.raises(TrainingError, match="could not be scored: worker gone"):
        judge([completion(point(0.1, 0.1))])


def test_the_sandbox_scores_as_the_formula_does(run: tuple[Path, Path]) -> None:
    programs = [Program.of({"program.py": text}) for text in (point(0.3, 0.4), "def point():\n    return 1 / 0\n")]
    with open_sync_scoring(run[0], SandboxEvaluators(Settings(), require="none"), slots=1) as (problem, score):
        for _ in range(2):
            fine, failed = score(programs)
            assert fine.scores == pytest.approx(evaluate(programs)[0].scores)
            assert failed.outcome is Outcome.ERROR
    assert problem.name == "point"


def test_a_score_without_bounds_is_read_over_the_recorded_range() -> None:
    scale = Scale.of([False], np.array([[-5.0], [3.0], [-1.0]]))
    assert [float(scale.apply([score])[0]) for score in (-9.0, -5.0, -1.0, 3.0, 7.0)] == [0.0, 0.0, 0.5, 1.0, 1.5]
    assert Scale.of([True], np.array([[0.25]])).apply([-0.5]) == 0.0


@pytest.mark.parametrize(
    ("rewards", "complaint"), [(np.empty((0, 1)), "No answer in the records"), (np.ones((3, 1)), "the same score")]
)
def test_a_range_that_is_none_is_refused(rewards: Any, complaint: str) -> None:
    with pytest.raises(TrainingError, match=complaint):
        Scale.of([False], rewards)


def broken(run: tuple[Path, Path], folder: Path, **changes: Any) -> Path:
    line = json.loads(run[1].read_text().splitlines()[0]) | changes
    path = folder / "broken.jsonl"
    path.write_text(json.dumps({key: value for key, value in line.items() if value != "gone"}) + "\n")
    return path


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"messages": "gone"}, "line 1, is not a training record .'messages' is missing"),
        ({"parent": {"files": {"../a": "x"}}}, "is not a training record .*not a plain relative path"),
        ({"asked": {"format": "xml", "edits": "rewrite", "answers": 1}}, "is not a training record .*unknown"),
        ({"answers": [{"rewards": [1.0]}]}, "rewards are 2 finite numbers"),
        ({"answers": [{"rewards": [1.0, float("nan")]}]}, "rewards are 2 finite numbers"),
        ({"messages": []}, "The records hold no prompt with answers"),
        ({"parent": None}, "The records hold no prompt with answers"),
    ],
)
def test_records_that_cannot_be_used_are_named(
    run: tuple[Path, Path], tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(TrainingError, match=complaint):
        read_records([broken(run, tmp_path, **changes)])


def test_a_file_cut_in_half_is_named_with_its_line(run: tuple[Path, Path], tmp_path: Path) -> None:
    text = run[1].read_text()
    (tmp_path / "half.jsonl").write_text(text[: len(text) * 2 // 3])
    with pytest.raises(TrainingError, match=r"half.jsonl, line \d+, is not a training record"):
        read_records([tmp_path / "half.jsonl"])
    with pytest.raises(TrainingError, match=r"gone\.jsonl cannot be read"):
        read_records([tmp_path / "gone.jsonl"])


def test_records_of_two_problems_are_refused(run: tuple[Path, Path], tmp_path: Path) -> None:
    other = broken(run, tmp_path, objectives=["value"], answers=[])
    with pytest.raises(TrainingError, match=r"different objectives .across, up and value"):
        read_records([run[1], other])


def test_records_of_another_problem_are_refused(run: tuple[Path, Path], tmp_path: Path) -> None:
    records = read_records([broken(run, tmp_path, objectives=["value"], answers=[])])
    with pytest.raises(TrainingError, match="records are from another problem than point"):
        ProgramJudge(load_problem(run[0]).problem, evaluate, records)


@pytest.mark.parametrize(
    "setting", [{"steps": 0}, {"group": 1}, {"rate": 0.0}, {"rate": float("nan")}, {"divergence": -1.0}, {"rank": -1}]
)
def test_settings_out_of_range_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(TrainingError):
        LoraSettings(model="m", records=(), output=Path("o"), **setting)


def test_what_is_not_installed_is_said_before_anything_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_model, "find_spec", lambda name: None if name in {"trl", "peft"} else name)
    with pytest.raises(TrainingError, match="trl, peft is not installed: install the extra trl"):
        require_frameworks()
