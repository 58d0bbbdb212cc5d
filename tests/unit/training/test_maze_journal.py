"""The journal of a training run: a line a step, none lost and none twice, whatever ends the process."""

import json
import math
from pathlib import Path

import pytest

from training.errors import TrainingError
from training.training_log import TrainingLog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def places(path: Path) -> list[tuple[str, int]]:
    return [(line["stage"], line["step"]) for line in TrainingLog(path).lines()]


def test_lines_come_back_in_the_order_of_the_steps(path: Path) -> None:
    journal = TrainingLog(path)
    for step in (1, 2, 3):
        journal.add("warm-start", step, {"loss": 1 / step})
    assert journal.lines()[1] == {"schema": 1, "stage": "warm-start", "step": 2, "loss": 0.5}
    assert places(path) == [("warm-start", 1), ("warm-start", 2), ("warm-start", 3)]


def test_a_journal_that_is_not_there_is_empty(path: Path) -> None:
    assert TrainingLog(path).lines() == []


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_line_cut_off_by_a_kill_counts_as_not_written(path: Path, cut: int) -> None:
    journal = TrainingLog(path)
    journal.add("warm-start", 1, {"loss": 0.25})
    whole = path.read_bytes()
    journal.add("warm-start", 2, {"loss": 0.125})
    last = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + last[: min(cut, len(last) - 2)])
    assert places(path) == [("warm-start", 1)]
    journal.go_on("warm-start", 1)
    journal.add("warm-start", 2, {"loss": 0.125})
    assert path.read_bytes() == whole + last


def test_going_on_takes_out_what_stands_behind_a_step_of_its_stage(path: Path) -> None:
    journal = TrainingLog(path)
    for stage in ("warm-start", "reinforce"):
        for step in (1, 2, 3):
            journal.add(stage, step, {})
    journal.go_on("reinforce", 1)
    assert places(path) == [("warm-start", 1), ("warm-start", 2), ("warm-start", 3), ("reinforce", 1)]
    journal.go_on("warm-start", 0)
    assert places(path) == [("reinforce", 1)]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_figures_that_are_not_finite_are_null(path: Path) -> None:
    TrainingLog(path).add("reinforce", 1, {"mean": math.nan, "best": math.inf, "entropy": 0.1234567})
    (line,) = path.read_text().splitlines()
    value = json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert value == {"schema": 1, "stage": "reinforce", "step": 1, "mean": None, "best": None, "entropy": 0.123457}


@pytest.mark.parametrize(
    "line", [b"garbage", b"3", b"[]", b"{}", b'{"stage": 1, "step": "x"}', b"\xff\xfe", b"", b"[" * 100_000]
)
def test_a_line_that_training_did_not_write_is_named(path: Path, line: bytes) -> None:
    journal = TrainingLog(path)
    journal.add("warm-start", 1, {})
    path.write_bytes(path.read_bytes() + line + b"\n")
    journal.add("warm-start", 2, {})
    with pytest.raises(TrainingError, match=rf"line 2 of {path} is not a line of this training: remove it"):
        journal.go_on("warm-start", 2)
