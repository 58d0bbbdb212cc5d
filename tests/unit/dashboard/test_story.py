"""The story of the best: which steps gained most, what was changed, and what the policy said of it."""

from datetime import UTC, datetime
from typing import Any

from service.dashboard.views.story import MAX_WORDS, gains_of, own_words
from service.schemas.candidates import ProposalDetail, ProposalUrls
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


def proposal(*, completions: list[str], form: Any, reasoning: list[str] | None = None) -> ProposalDetail:
    return ProposalDetail(
        id="prp", run_id="run", number=1, island=0, operator="mutate", selection="", weights=[], policy="", form=form,
        state="answered", reason="", tokens_input=0, tokens_cached=0, tokens_output=0, seconds=1.0, finish_reasons=[],
        created_at=datetime(2026, 1, 1, tzinfo=UTC), answered_at=None, urls=ProposalUrls(self="", candidates=""),
        prompt=[], completions=completions, reasoning=reasoning or [], dropped=[],
    )  # fmt: skip
