"""Reasoning in front of a completion, set apart from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.answers.reasoning import ReasoningFilter, split_reasoning

HARMONY = "<|channel|>analysis<|message|>hm<|channel|>final<|message|>x = 1"


@pytest.mark.parametrize(
    ("text", "thought", "rest"),
    [
        ("<think>hm</think>x = 1", "hm", "x = 1"),
        ("\n <Thinking>hm\n</THINKING>\nx = 1", "hm\n", "\nx = 1"),
        ("[think]hm[/think]x = 1", "hm", "x = 1"),
        (HARMONY, "hm", "x = 1"),
        ("<think>endless", "endless", ""),
        ("begun in the prompt</think>x = 1", "begun in the prompt", "x = 1"),
        ("x = 1", "", "x = 1"),
        ("", "", ""),
        ("x <think>y</think>", "", "x <think>y</think>"),
        ("```\nMARK = '</think>'\n```", "", "```\nMARK = '</think>'\n```"),
        ("<answer_1>a</answer_1></think>", "", "<answer_1>a</answer_1></think>"),
    ],
)
def test_reasoning_is_set_apart_where_it_is_plain_that_it_is_none_of_the_answer(
    text: str, thought: str, rest: str
) -> None:
    assert split_reasoning(text) == (thought, rest)


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "[think]", "[/think]", "a", " ", "```\n", "<answer_1>"])).map(
        "".join
    )
)
def test_what_comes_behind_begun_reasoning_is_what_the_parser_reads(text: str) -> None:
    thought, rest = split_reasoning(text)
    assert thought in text
    assert text.endswith(rest)
    if text.lstrip().startswith(("<think>", "[think]")):
        parser = ReasoningFilter()
        assert parser.feed(text) + parser.close() == rest
