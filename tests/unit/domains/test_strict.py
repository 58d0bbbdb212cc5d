"""The strict form, which training and comparisons read: what stands in it counts, and nothing else."""

from typing import Any

import numpy as np
import pytest

from evolve.domains import Eureqa, MazeDomain, Musique, ToolRL, grade
from evolve.domains.eureqa import EureqaQuestion
from evolve.domains.maze import maze_of
from evolve.domains.musique import MusiqueQuestion
from evolve.domains.questions import TEXT_DOMAINS
from evolve.domains.toolrl import ToolCall, ToolTask

HOPS = MusiqueQuestion(text="?", paragraphs=(("a", "b"),) * 10, support=(5, 9), answer="Old Harbour")
CHAIN = EureqaQuestion(narrative="", masks=("m",) * 5, entities=tuple("vwxyz"))
CALLS = ToolTask(user="?", calls=(ToolCall(name="f"),))
CITED = "<support>5, 9</support><answer>Old Harbour</answer>"
NAMED = "<entity_A>v</entity_A><entity_B>w</entity_B>"
CALLED = '<think>x</think><tool_call>{"name": "f", "parameters": {}}</tool_call>'
ROUTE = "RIGHT DOWN"
CASES: dict[str, tuple[Any, Any, str, str]] = {
    "musique": (Musique(), HOPS, CITED, "response"),
    "eureqa": (Eureqa(), CHAIN, NAMED, "response"),
    "toolrl": (ToolRL(), CALLS, CALLED, "response"),
    "maze": (MazeDomain(), maze_of("small", "validation", 0), ROUTE, "route"),
}


def sums(name: str, text: str, m: int = 3, cut: bool = False) -> list[bool]:
    """Which answers earn anything."""
    domain, question, _, _ = CASES[name]
    return [bool(row.any()) for row in grade(domain, question, text, m, cut).rewards]


@pytest.mark.parametrize("name", CASES)
def test_answers_take_the_places_of_their_numbers(name: str) -> None:
    _, _, body, tag = CASES[name]
    assert sums(name, f"First.\n<{tag}_2>\n{body}\n</{tag}_2>") == [False, True, False]
    assert sums(name, f"<{tag}_4>{body}</{tag}_4><{tag}_3>{body}</{tag}_3>") == [False, False, True]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", ["<{tag}_1>{body}", "<{tag}>{body}</{tag}>", "<{tag} 1>{body}</{tag} 1>"])
def test_other_forms_earn_nothing_in_a_chain_and_are_read_by_a_search(name: str, form: str) -> None:
    _, question, body, tag = CASES[name]
    text = form.format(tag=tag, body=body)
    if name != "toolrl" or "_1" in form:  # its inner tag is <response>, so a search reads numbered ones alone
        assert grade(TEXT_DOMAINS[name], question, text, 3).rewards.any()
    assert not any(sums(name, text))


@pytest.mark.parametrize("name", ["musique", "eureqa", "toolrl"])
def test_a_chain_without_tags_earns_nothing(name: str) -> None:
    _, question, body, _ = CASES[name]
    assert sums(name, body) == [False] * 3
    assert sums(name, body, m=1) == [True]
    assert grade(TEXT_DOMAINS[name], question, body, 3).rewards[0].any()


def test_walks_without_route_tags_are_read_as_the_authors_read_them() -> None:
    assert sums("maze", "RIGHT\n---\nDOWN") == [True, True, False]
    assert sums("maze", "<answer>RIGHT</answer><answer>DOWN</answer>") == [True, True, False]


@pytest.mark.parametrize(
    ("support", "hops"),
    [("5, 9", [1, 1]), ("5,9,", [1, 1]), ("[5], 9", [0, 1]), ("5 and 9", [0, 0]), ("5. 9", [0, 0]), ("x, 5", [1, 0])],
)
def test_citations_are_numbers_between_commas(support: str, hops: list[float]) -> None:
    text = f"<support>{support}</support><answer>x</answer>"
    assert grade(Musique(), HOPS, text, 1).rewards[0, :2].tolist() == hops


@pytest.mark.parametrize(
    "text", ["<support>5</support><answer>Old Harbour", "<ANSWER>Old Harbour</ANSWER>", "<response_1>", "Old Harbour"]
)
def test_an_answer_left_open_or_spelt_otherwise_is_missing(text: str) -> None:
    assert Musique().parse(text).answers == (None,)


@pytest.mark.parametrize("name", CASES)
def test_many_tags_left_open_are_read_in_time(name: str) -> None:
    _, question, _, tag = CASES[name]
    text = f"<{tag}_1>" * 200_000
    np.testing.assert_array_equal(grade(CASES[name][0], question, text, 3).rewards.any(), False)
