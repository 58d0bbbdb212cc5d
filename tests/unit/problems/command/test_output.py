"""Printed text as a score."""

import re

import pytest

from service.problems.command.command_scorer.output import OutputError, read_output


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("3\n", "", 3.0),
        ("progress 1\n-2.5e3\n\n", "", -2500.0),
        ("first: 1\nscore: 0.75\n", "score", 0.75),
        ("score = 4\n", "score", 4.0),
        ("nqueens: Mean +- std dev: 535 ms +- 12 ms\n", "nqueens", 0.535),
        ("nqueens: Mean +- std dev: 1.02 sec +- 0.01 sec\n", "nqueens", 1.02),
        ('noise\n{"loss": 2, "note": "x"}\n', "loss", 2.0),
        ('{\n "a": {"b": 7}\n}\n', "a.b", 7.0),
    ],
)
def test_the_last_line_is_understood(text: str, name: str, value: float) -> None:
    reading = read_output(text)
    assert reading.name == name
    assert reading.value == pytest.approx(value)


def test_a_metric_is_found_above_the_last_line() -> None:
    assert read_output("loss: 3\nloss: 2\ntook: 9 s\n", metric="loss").value == 2


def test_the_last_match_of_a_pattern_counts_in_seconds() -> None:
    reading = read_output("best 12 ms\nbest 8 ms of 9\n", pattern=r"best (\d+)")
    assert reading.value == pytest.approx(0.008)
    assert reading.lines == ("best 12 ms",)


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("", {}, "printed nothing"),
        ("nan", {}, "is nan, and a score is a finite number"),
        ("score: inf", {}, "score is inf"),
        ("12 34", {}, "several numbers"),
        ("done", {}, "is not a score"),
        ("speed: 3", {"metric": "loss"}, "no printed line reads `loss: NUMBER`"),
        ('{"a": 1, "b": 2}', {}, "holds 2 numbers"),
        ('{"a": 1}', {"metric": "b"}, "has no b"),
        ('{"a": "x"}', {"metric": "a"}, "a score is a number"),
        ('{"a": NaN}', {}, "a is nan"),
        ("x", {"pattern": r"(\d+)"}, "matches nothing"),
        ("abc", {"pattern": "(b)"}, "must be a number"),
    ],
)
def test_text_without_a_score_is_refused_with_the_reason(text: str, words: dict[str, str], said: str) -> None:
    with pytest.raises(OutputError, match=re.escape(said)):
        read_output(text, **words)
