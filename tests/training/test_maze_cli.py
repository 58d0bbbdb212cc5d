"""`evolve train maze` as a user types it, to a policy that a search takes as it is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from evolve.vpo import METHODS
from service.cli.exit_codes import CONFLICT, FAILED, USAGE
from service.cli.main import main
from tests.e2e.evolving import Evolve
from training.card import SHOWN

pytestmark = pytest.mark.training

EXAMPLE = Path(__file__).parents[2] / "examples" / "maze"
WARM = ["--warm-steps", "4"]
SMALL = [*WARM, "--steps", "4", "--validated", "2", "--kinds", "small", "--threads", "1", "--method", "vpo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A policy trained on the command line, and what the command printed."""

    evolve: Evolve
    folder: Path
    lines: list[dict[str, Any]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    evolve, folder = Evolve(tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("trained") / "vpo"
    lines = evolve.lines("train", "maze", "-o", str(folder), *SMALL, "--json")
    return Trained(evolve=evolve, folder=folder, lines=lines)


def said(capsys: pytest.CaptureFixture[str], words: Sequence[str], code: int) -> str:
    """The one sentence of a command that cannot do what it is asked."""
    assert main(["train", "maze", *words]) == code
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("evolve: ")
    return sentence


def test_every_step_is_a_line_and_the_last_line_says_what_came_of_it(trained: Trained) -> None:
    *steps, summary = trained.lines
    assert [(line["stage"], line["step"]) for line in steps] == [
        (stage, step) for stage in ("warm-start", "reinforce") for step in (1, 2, 3, 4)
    ]
    assert {line["kind"] for line in steps} == {"training.step"}
    assert {line["schema"] for line in trained.lines} == {1}
    assert all(line["loss"] > 0 for line in steps[:4])
    assert all({"mean", "best", "set", "diversity", "entropy"} <= set(line) for line in steps[4:])
    assert summary["kind"] == "training.summary"
    assert summary["model"] == str(trained.folder / "vpo")
    assert set(SHOWN) <= set(summary["figures"]["small"])


def test_the_journal_holds_the_steps(trained: Trained) -> None:
    journal = [json.loads(line) for line in (trained.folder / "journal.jsonl").read_text().splitlines()]
    assert [(line["stage"], line["step"]) for line in journal] == [
        (line["stage"], line["step"]) for line in trained.lines[:-1]
    ]
    losses = [[line["loss"] for line in lines[:4]] for lines in (journal, trained.lines)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def test_the_picture_is_well_formed_and_shows_what_was_asked_for(trained: Trained) -> None:
    root = ElementTree.parse(trained.folder / "training.svg").getroot()
    assert root.tag.endswith("svg")
    text = (trained.folder / "training.svg").read_text()
    # matplotlib writes words as outlines, with the words themselves beside them.
    for shown in ("vpo, seed 0", "reward", "entropy of the next token", "diversity", "step"):
        assert shown in text


@pytest.mark.parametrize("name", ["vpo", "base"])
def test_a_model_card_stands_in_each_folder(trained: Trained, name: str) -> None:
    text = (trained.folder / name / "README.md").read_text()
    assert f"# maze-{name}\n" in text
    assert f"evolve train maze -o {trained.folder} {' '.join(SMALL)} --json" in text
    assert "* Warm start: 4 updates" in text
    assert ("* Reinforcement: 4 steps" in text) is (name == "vpo")
    (row,) = [line for line in text.splitlines() if line.startswith("| small |")]
    if name == "vpo":
        figures = trained.lines[-1]["figures"]["small"]
        assert row.strip("| ").split(" | ")[1:] == [f"{figures[shown]:.3f}" for shown in SHOWN]


def test_a_search_takes_the_policy_as_it_is(trained: Trained) -> None:
    words = ["run", str(EXAMPLE), "--policy", f"bundled:{trained.folder / 'vpo'}", "--evaluations", "8", "--json"]
    *_, summary = trained.evolve.lines(*words)
    assert summary["kind"] == "run.summary"
    assert summary["state"] == "succeeded"
    assert summary["answers"] > 0


def test_the_same_command_again_trains_no_more_and_says_the_same(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (trained.folder / "vpo" / "model.safetensors").read_bytes()
    assert main(["train", "maze", "-o", str(trained.folder), *SMALL, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    again, first = json.loads(line), trained.lines[-1]
    assert again["model"] == first["model"]
    assert again["figures"]["small"] == pytest.approx(first["figures"]["small"])
    assert (trained.folder / "vpo" / "model.safetensors").read_bytes() == before


def test_a_base_is_gone_on_from_without_a_warm_start(
    trained: Trained, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    without = SMALL[len(WARM) :]
    words = ["-o", str(tmp_path / "x"), *without, "--base", str(trained.folder / "base"), "--method", "grpo"]
    assert main(["train", "maze", *words, "--steps", "2", "--validated", "1", "--json"]) == 0
    *steps, summary = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["stage"], line["step"]) for line in steps] == [("reinforce", 1), ("reinforce", 2)]
    assert summary["model"] == str(tmp_path / "x" / "grpo")
    assert not (tmp_path / "x" / "base").exists()


@pytest.mark.parametrize("changed", [["--seed", "1"], ["--method", "grpo"], ["--steps", "6"], ["--alpha", "4"]])
def test_the_folder_of_another_recipe_stands_in_the_way(
    trained: Trained, capsys: pytest.CaptureFixture[str], changed: list[str]
) -> None:
    sentence = said(capsys, ["-o", str(trained.folder), *SMALL, *changed], CONFLICT)
    assert str(trained.folder) in sentence
    assert sentence.endswith("name another folder, or remove it")


def test_an_unknown_method_is_answered_with_the_known_ones(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sentence = said(capsys, ["-o", str(tmp_path / "x"), "--method", "ppo"], USAGE)
    assert "'ppo'" in sentence
    assert all(name in sentence for name in (*METHODS, "base"))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--kinds", "small,huge"], "there are no 'huge' mazes: choose from small, hard, nine"),
        (["--kinds", ""], "there are no '' mazes"),
        (["--kinds", "small,small"], "--kinds small,small: name each kind once"),
        (["--device", "abacus"], "there is no device 'abacus' here: choose cpu"),
        (["--steps", "1"], "--steps"),
        (["--alpha", "0"], "alpha must be between 1e-06 and 1e+06, not 0.0"),
        (["--alpha", "nan"], "alpha must be between"),
        (["--warm-steps", "0"], "--warm-steps"),
        (["--validated", "0"], "--validated"),
        (["--seed", "-1"], "--seed"),
        (["--threads", "-1"], "--threads"),
    ],
)
def test_words_that_are_off_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], part: str
) -> None:
    assert part in said(capsys, ["-o", str(tmp_path / "x"), *words], USAGE)
    assert not (tmp_path / "x").exists()


def test_a_base_that_is_no_model_ends_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sentence = said(capsys, ["-o", str(tmp_path / "x"), "--base", str(tmp_path / "none")], FAILED)
    assert sentence.endswith("config.json is missing: start from a model that `evolve train maze` made")


def test_a_file_in_the_place_of_the_folder_ends_in_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("mine")
    assert str(tmp_path / "x") in said(capsys, ["-o", str(tmp_path / "x"), *SMALL], FAILED)
    assert (tmp_path / "x").read_text() == "mine"
