"""The story of the best: which steps gained most, what was changed, and what the policy said of it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from service.dashboard.views.story import MAX_WORDS, gains_of, only_constants, own_words
from service.schemas.candidates import CandidateDiff, FileChange, ProposalDetail, ProposalUrls
from tests.unit.dashboard.test_candidate_family import candidate


def test_the_steps_that_gained_come_biggest_first_with_their_share() -> None:
    line = [
        candidate(str(number), number, fitness=fitness) for number, fitness in enumerate([1.0, 2.0, 1.5, 4.5, None])
    ]
    assert [(jump.before.id, jump.candidate.id, jump.gain) for jump in gains_of(line)] == [
        ("2", "3", 3.0),
        ("0", "1", 1.0),
    ]
    assert [jump.share for jump in gains_of(line)] == [0.75, 0.25]
    assert gains_of(line[:1]) == []


@pytest.mark.parametrize(
    ("before", "after", "constants"),
    [
        ("    step = 0.5", "    step = 1e-3", True),
        ("    step = 5", "    step = -7", True),
        ("    step = 5", "    pace = 5", False),
        ("    x1 = 5", "    x2 = 5", False),
        ("    return 5", "    return 5 + 1", False),
    ],
)
def test_it_says_whether_only_constants_moved(before: str, after: str, *, constants: bool) -> None:
    text = f"--- a\n+++ b\n@@ -1,2 +1,2 @@\n def give():\n-{before}\n+{after}\n"
    assert only_constants(difference(text)) is constants


def test_a_new_file_is_no_constant_and_a_large_difference_is_not_known() -> None:
    assert only_constants(difference("--- a\n+++ b\n+x = 1\n", change="added")) is False
    assert only_constants(difference(None)) is None


def test_the_words_of_a_policy_stand_without_its_code() -> None:
    told = proposal(
        completions=["Use a larger step.\n```python\nstep = 5\n```\nIt converges faster."], form={"answers": 1}
    )
    assert own_words(told, 0) == "Use a larger step. … It converges faster."
    assert own_words(proposal(completions=["```\nx\n```"], reasoning=["Try x."], form={"answers": 1}), 0) == "Try x."
    long = proposal(completions=["word " * 1000], form={"answers": 1})
    assert len(own_words(long, 0)) == MAX_WORDS


def test_each_answer_of_the_mutator_has_its_line() -> None:
    told = proposal(completions=["1. tuned 1 number: line 1: 3 -> 4\n2. removed a line"], form=None)
    assert [own_words(told, 0), own_words(told, 1)] == ["tuned 1 number: line 1: 3 -> 4", "removed a line"]
    assert own_words(proposal(completions=[], form=None), 0) == ""


def difference(text: str | None, change: Any = "changed") -> CandidateDiff:
    file = FileChange(path="main.py", change=change, added=1, removed=1, diff=text)
    return CandidateDiff(candidate_id="b", against="a", added=1, removed=1, files=[file])


def proposal(*, completions: list[str], form: Any, reasoning: list[str] | None = None) -> ProposalDetail:
    return ProposalDetail(
        id="prp", run_id="run", number=1, island=0, operator="mutate", selection="", weights=[], policy="", form=form,
        state="answered", reason="", tokens_input=0, tokens_cached=0, tokens_output=0, seconds=1.0, finish_reasons=[],
        created_at=datetime(2026, 1, 1, tzinfo=UTC), answered_at=None, urls=ProposalUrls(self="", candidates=""),
        prompt=[], completions=completions, reasoning=reasoning or [], dropped=[],
    )  # fmt: skip
