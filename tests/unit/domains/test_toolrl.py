import json
from typing import Any

import numpy as np
import pytest

from evolve.domains import Domain, ToolRL, grade
from evolve.domains.toolrl import Attempt, ToolCall, ToolTask

DOMAIN: Domain[ToolTask, Attempt] = ToolRL()
WEATHER = ToolCall(name="get_weather", arguments={"city": "New York City", "days": 3})
ALARM = ToolCall(name="set_alarm", arguments={"at": "07:30", "repeat": True})
QUESTION = ToolTask(user="Weather for three days, and wake me.", calls=(WEATHER, ALARM))
CHAT = ToolTask(user="Thank you!")


def reply(*calls: dict[str, Any], think: str = "<think>hm</think>") -> str:
    return f"{think}<tool_call>\n" + "\n".join(map(json.dumps, calls)) + "\n</tool_call>"


def call(name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


GOOD = (call("get_weather", city="New York City", days=3), call("set_alarm", at="07:30", repeat=True))


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        (reply(*GOOD), [1, 1, 1, 1]),
        (reply(*reversed(GOOD)), [1, 1, 1, 1]),
        (reply(*GOOD, think=""), [0, 1, 1, 1]),
        (f"<think>x</think><tool_call>{json.dumps(GOOD)}</tool_call>", [1, 1, 1, 1]),
        # One of two calls: names 2 * 1 / (1 + 2), arguments the mean of 1 and 0.
        (reply(GOOD[0]), [1, 2 / 3, 1 / 2, 1 / 2]),
        # A call too many is paired with nothing.
        (reply(*GOOD, call("sing")), [1, 2 * 2 / 5, 2 / 3, 2 / 3]),
        # Half of the arguments' names; the city by F1 of its words, 2 * 1 / (1 + 3).
        (reply(call("get_weather", city="York", unit="C"), GOOD[1]), [1, 1, (1 / 2 + 1) / 2, (0.5 / 2 + 1) / 2]),
        (reply(call("get_weather", city="new york city", days="3.0"), GOOD[1]), [1, 1, 1, 1]),
        (reply(GOOD[0], call("set_alarm", at="07:30", repeat=1)), [1, 1, 1, (1 + 1 / 2) / 2]),
        # Other tools: the names and their arguments fail, whatever they hold.
        (reply(call("a"), call("b")), [1, 0, 0, 0]),
        ("<think>x</think><tool_call></tool_call>", [0, 0, 0, 0]),
        ("<think>x</think><tool_call>get_weather()</tool_call>", [0, 0, 0, 0]),
    ],
)
def test_calls_are_compared_with_those_wanted(text: str, vector: list[float]) -> None:
    grades = grade(DOMAIN, QUESTION, text, 1)
    np.testing.assert_allclose(grades.rewards, [vector])
    assert DOMAIN.scalar(grades.rewards[0]) == pytest.approx(sum(vector) / 4)


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("<think>nothing to do</think><response>Welcome!</response>", [1, 1, 1, 1]),
        ("<response>Welcome!</response>", [0, 1, 1, 1]),
        (reply(GOOD[0]), [0, 0, 0, 0]),
        ("<think>x</think><tool_call>nonsense</tool_call>", [0, 1, 1, 1]),
    ],
)
def test_where_no_call_is_wanted_none_is_right(text: str, vector: list[float]) -> None:
    np.testing.assert_allclose(grade(DOMAIN, CHAT, text, 1).rewards, [vector])


@pytest.mark.parametrize(
    ("made", "wanted", "match"),
    [
        (3, 3.0, 1), ("3", 3, 1), ("three", 3, 0), (True, 1, 0), (1, True, 0), (False, False, 1), (None, 3, 0),
        ("a b", "a c", 0.5), ("", "", 1), ("x", "", 0), ("?", "!", 0), ("7", "7", 1), (7, "7", 1),
        (["a", "b"], ["b", "c"], 0.5), ("b", ["B"], 1), ([], [], 1), ({"x": 1}, {"x": 2, "y": 3}, 2 / 3),
        ("x", {"x": 1}, 0), (None, None, 1), (10**400, 3, 0), ("9" * 5000, 3, 0), (float("nan"), 3, 0),
    ],
)  # fmt: skip
def test_values_are_matched_by_their_kind(made: object, wanted: object, match: float) -> None:
    question = ToolTask(user="?", calls=(ToolCall(name="f", arguments={"x": wanted}),))
    answer = Attempt(thought=True, tried=True, calls=(ToolCall(name="f", arguments={"x": made}),))
    np.testing.assert_allclose(DOMAIN.reward(question, answer), [1, 1, 1, match])


@pytest.mark.parametrize(
    ("body", "calls", "reason"),
    [
        ('{"name": "f", "arguments": {"x": 1}}', 1, ""),
        ('{"name": "f"}, {"name": "g"}', 2, ""),
        ('{"name": "f"} and {"name": "g"}', 1, "the text after call 1 is not JSON"),
        ('{"name": "f"', 0, "the text after call 0 is not JSON"),
        ('[{"name": "f"}, 3]', 1, "the text after call 1 is not a call"),
        ('{"parameters": {}}', 0, "the text after call 0 is not a call"),
        ('{"name": 3}', 0, "the text after call 0 is not a call"),
        ('{"name": "f", "parameters": []}', 0, "the text after call 0 is not a call"),
        ("[" * 100_000, 0, ""),
        ('{"name": "f", "parameters": {"x": ' + "[" * 500 + "]" * 500 + "}}", 0, "the text after call 0 is not a call"),
        ('{"name": "f", "parameters": {"x": ' + "9" * 5000 + "}}", 0, "the text after call 0 is not JSON"),
    ],
)
def test_calls_are_read_as_far_as_they_can_be(body: str, calls: int, reason: str) -> None:
    reply = DOMAIN.parse(f"<think>x</think><tool_call>{body}</tool_call>")
    assert reason in reply.reasons[0]
    assert bool(reason) or calls or reply.reasons[0]
    assert len(reply.answers[0].calls if reply.answers[0] else ()) == calls


def test_attempts_of_a_chain_keep_their_inner_responses() -> None:
    text = (
        f"<response_1>{reply(GOOD[0])}<response>Done.</response></response_1>\n"
        "<response_2><response>I cannot.</response></response_2>"
        f"<response_3>{reply(*GOOD)}"
    )
    parsed = DOMAIN.parse(text, 4)
    assert [len(one.calls) if one else None for one in parsed.answers] == [1, 0, 2, None]
    assert DOMAIN.parse(text, 4, cut=True).answers[2:] == (None, None)
    assert DOMAIN.parse(text, 2).dropped == ("1 answer beyond the 2 asked for",)


@pytest.mark.parametrize("text", ["", "Hello", "<response_1></response_1>", '{"name": "get_weather"}'])
def test_a_reply_without_any_section_is_a_zero_row_with_a_reason(text: str) -> None:
    grades = grade(DOMAIN, CHAT, text, 2)
    np.testing.assert_array_equal(grades.rewards, np.zeros((2, 4)))
    assert all(grades.reply.reasons)


def test_the_prompt_keeps_the_system_text_and_adds_only_the_number_of_attempts() -> None:
    question = ToolTask(system="Tools: f.", user="Do it.")
    assert DOMAIN.prompt(question) == "Tools: f.\n\nDo it.\n"
    assert DOMAIN.prompt(question, 3).startswith("Tools: f.\n\nDo it.\n\nMake 3 attempts")
    assert "<tool_call>" in DOMAIN.prompt(CHAT)
