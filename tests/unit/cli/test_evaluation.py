"""The lines of progress of `evolve train evaluate`."""

import pytest

from service.cli.evaluation import PROGRESS_SECONDS, ProgressLines
from service.cli.terminal import Terminal
from training.harness import EvaluationProgress


def test_the_first_answer_every_half_minute_and_the_end_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    lines = ProgressLines(Terminal(as_json=False), lambda: now)
    for answered in range(3, 9):  # two were answered before, and each takes 20 s
        now += 20.0
        lines.report(EvaluationProgress(answered=answered, questions=8, known=2, tokens=1000 * answered, cost=None))
    assert PROGRESS_SECONDS == 30.0
    assert capsys.readouterr().err.splitlines() == [
        "3/8 questions, 3,000 tokens, about 1 min 40 s left",
        "5/8 questions, 5,000 tokens, about 1 min 00 s left",
        "7/8 questions, 7,000 tokens, about 20.0 s left",
        "8/8 questions, 8,000 tokens",
    ]


def test_json_has_no_lines_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines(Terminal(as_json=True))
    lines.report(EvaluationProgress(answered=8, questions=8, known=0, tokens=9, cost=None))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
