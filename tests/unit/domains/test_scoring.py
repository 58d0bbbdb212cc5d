"""Answers as an evaluator scores them: objective by objective, with words that give nothing away."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.domains import livecodebench as lcb
from evolve.domains.maze import maze_of
from evolve.domains.questions import TEXT_DOMAINS, question_as_json, question_from_json
from evolve.domains.scoring import inputs_of, same_output, same_value, score_answer, score_outputs
from tests.unit.domains.test_tasks import ASKED

CALLED = lcb.CodingTask(
    statement="Add.", tests=(lcb.Test(input="1\n2", output="3"),), starter="def add(a, b): ...", function="add"
)


@pytest.mark.parametrize("name", ASKED)
def test_a_question_survives_its_way_through_json(name: str) -> None:
    _, question = ASKED[name]
    assert question_from_json(name, json.loads(json.dumps(question_as_json(question)))) == question


def test_a_question_with_every_field_survives_too() -> None:
    assert question_from_json("livecodebench", question_as_json(CALLED)) == CALLED


@pytest.mark.parametrize("name", TEXT_DOMAINS)
@given(st.text(max_size=60) | st.sampled_from(["R", "answer: x", "<entity_A>x</entity_A>", "<think>x</think>"]))
def test_any_text_is_scored_or_refused_with_a_reason(name: str, text: str) -> None:
    domain, question = ASKED[name]
    result = score_answer(name, question_as_json(question), {"seed.txt": text})
    if "error" in result:
        assert set(result) == {"error"}
        assert result["error"]
        return
    (answer,) = domain.parse(text if name != "musique" else f"<answer>{text[8:]}</answer>", 1).answers
    assert answer is not None
    assert all(0 <= result[objective] <= 1 for objective in domain.objectives(question))
    assert result["feedback"]


@pytest.mark.parametrize(
    ("name", "texts", "answer"),
    [
        ("musique", ("support: 0\nanswer: The  New York!", "<answer>new york</answer>"), "new york"),
        ("musique", ("answer: ...",), "..."),
        ("eureqa", ("<entity_A>The_Beatles</entity_A>", "<entity_A>beatles.</entity_A>"), ["beatles", "", "", "", ""]),
        ("maze", ("RRDD",), None),
        ("toolrl", ('<tool_call>{"name": "f"}</tool_call>',), None),
    ],
)
def test_answers_that_count_as_the_same_are_the_same(name: str, texts: tuple[str, ...], answer: object) -> None:
    _, question = ASKED[name]
    for text in texts:
        assert score_answer(name, question_as_json(question), {"seed.txt": text}).get("answer") == answer


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("maze", ("RRDD", "UUUU", "R" * 90)),
        ("musique", ("answer: x", "support: 0, 1\nanswer: name")),
        ("eureqa", ("<entity_A>x</entity_A>",)),
        ("toolrl", ("<think>x</think>", '<tool_call>{"name": "f"}</tool_call>', "<response>x</response>")),
    ],
)
def test_the_words_give_nothing_away(name: str, texts: tuple[str, ...]) -> None:
    _, question = ASKED[name]
    for text in texts:
        said = score_answer(name, question_as_json(question), {"seed.txt": text})["feedback"]
        assert "Wanted" not in said
        assert said


def test_a_note_on_what_was_passed_over_is_told() -> None:
    asked = question_as_json(maze_of("small", "validation", 0))
    said = score_answer("maze", asked, {"seed.txt": "go RIGHT, then DOWN"})["feedback"]
    assert said.endswith("Note: 2 words that are not moves were ignored.")


@pytest.mark.parametrize(
    ("printed", "wanted", "same"),
    [
        ("3\n", "3", True),
        ("  3 \n\n", "3\n", True),
        ("1 2\r\n3 4\r\n", "1 2\n3 4", True),
        ("3.0", "3", True),
        ("1e0 x", "1 x", True),
        ("3 4", "34", False),
        ("3\n\n4", "3\n4", False),
        ("12345678901234567891", "12345678901234567890", False),
        ("0.1000000000000000055", "0.1", False),
        ("Yes", "YES", False),
        ("nan", "nan", True),
        ("nan", "NaN", False),
        ("snan", "1", False),
        ("", "", True),
    ],
)
def test_what_is_printed_is_compared_line_by_line(printed: str, wanted: str, same: bool) -> None:
    assert same_output(printed, wanted) is same


@pytest.mark.parametrize(
    ("printed", "wanted", "same"),
    [
        ("[1, 2]", "[1,2]", True),
        ("2", "2.0", True),
        ('"a"', '"a"', True),
        ("[2, 1]", "[1, 2]", False),
        ('"1"', "1", False),
        ("", "1", False),
        ("[" * 100_000, "1", False),
        ("null", "null", True),
    ],
)
def test_what_is_returned_is_compared_by_value(printed: str, wanted: str, same: bool) -> None:
    assert same_value(printed, wanted) is same


def test_tests_are_handed_out_without_what_is_wanted() -> None:
    _, question = ASKED["livecodebench"]
    assert inputs_of(question_as_json(question)) == [{"read": "Wanted Name"}]
    assert inputs_of(question_as_json(CALLED)) == [{"call": "add", "arguments": "1\n2"}]


@pytest.mark.parametrize(
    ("output", "score", "said"),
    [
        ({"value": {"printed": "3", "failed": ""}, "error": None}, 1.0, "1 of 1 tests passed."),
        (
            {"value": {"printed": "4", "failed": ""}, "error": None},
            0.0,
            "it gave '4', which is not the expected output",
        ),
        ({"value": {"printed": "3", "failed": "NameError"}, "error": None}, 0.0, "the program failed: 'NameError'"),
        ({"value": None, "error": "no JSON"}, 0.0, "the program failed: 'no JSON'"),
        ({"value": [], "error": None}, 0.0, "the program failed"),
        ({"value": {"printed": 3}, "error": None}, 0.0, "the program failed"),
    ],
)
def test_each_test_is_a_score_and_a_case(output: dict[str, Any], score: float, said: str) -> None:
    result = score_outputs(question_as_json(CALLED), [output])
    assert result["test_1"] == result["cases"]["test_1"] == score
    assert said in result["feedback"]


def test_tests_that_were_not_reached_are_not_passed() -> None:
    assert score_outputs(question_as_json(CALLED), [])["test_1"] == 0.0
