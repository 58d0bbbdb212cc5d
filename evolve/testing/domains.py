"""The contract suite of domains: the rules that those which come with Evolve are held to.

A rule takes a domain and some of its questions, and raises `AssertionError` with one sentence where it does not hold:

    import pytest
    from evolve.testing import DOMAIN_RULES
    from letters import Letters

    @pytest.mark.parametrize("rule", DOMAIN_RULES)
    def test_letters_is_a_domain(rule):
        domain = Letters()
        rule(domain, domain.questions("train"))
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evolve.domains.domain import Domain, DomainWithExamples, DomainWithFloors, floors_of, grade

DomainRule = Callable[[Domain[Any, Any], Sequence[Any]], None]

_HOSTILE = (
    "", " ", "\x00", "<answer>", "</answer><answer>", "<answer_1><answer_1></answer_2>", "<answer></answer>", "🦉" * 50,
    "<answer_1>x</answer_1>" * 9, "<answer>" + "x" * 100_000 + "</answer>", "NaN", "-1e999", "```\n```", "---\n---",
    "<think>", "{" * 1000,
)  # fmt: skip


def has_questions_and_names(domain: Domain[Any, Any], questions: Sequence[Any]) -> None:
    """A domain has a lower-case name, questions, and names for its objectives, each once."""
    _require(domain.name == domain.name.lower() and domain.name.isidentifier(), f"the name {domain.name!r} is no word")
    _require(len(questions) > 0, "it has no questions")
    for question in questions:
        names = domain.objectives(question)
        _require(len(names) > 0, "a question has no objectives")
        _require(len(set(names)) == len(names), f"a name of an objective stands twice in {', '.join(names)}")


def asks_for_as_many_answers_as_told(domain: Domain[Any, Any], questions: Sequence[Any]) -> None:
    """Prompts hold the task. They differ by the number of answers that they ask for."""
    for question in questions:
        single, several = domain.prompt(question), domain.prompt(question, 3)
        task = domain.task(question).strip()
        _require(bool(task) and task in single and task in several, "a prompt does not hold the task")
        _require(single != several, "the prompt for 3 answers is that for a single answer")


def reads_any_text(domain: Domain[Any, Any], questions: Sequence[Any]) -> None:
    """Any text is parsed, and scored with a row for each answer that was asked for, without an exception."""
    for question in questions[:3]:
        width = len(domain.objectives(question))
        for text in _HOSTILE:
            for m in (1, 3):
                rewards = grade(domain, question, text, m, cut=True).rewards
                _require(rewards.shape == (m, width), f"{text[:20]!r} has rewards of shape {rewards.shape}")
                _require(bool(np.isfinite(rewards).all()), f"{text[:20]!r} has rewards that are not finite")


def stays_above_its_floors(domain: Domain[Any, Any], questions: Sequence[Any]) -> None:
    """No reward lies below the floor of its objective: 0, or what the domain declares."""
    for question in questions[:3]:
        floors = floors_of(domain, question)
        _require(tuple(floors) == domain.objectives(question), "floors do not name the objectives in their order")
        for text in _HOSTILE:
            rewards = grade(domain, question, text, 3).rewards
            low = bool((rewards >= np.array(list(floors.values()))).all())
            declared = isinstance(domain, DomainWithFloors)
            _require(low, f"a reward is below its floor: {'correct' if declared else 'declare'} floors")


def repeats_its_scores(domain: Domain[Any, Any], questions: Sequence[Any]) -> None:
    """Equal texts earn equal rewards: nothing is random, and nothing is remembered."""
    for question in questions[:3]:
        for text in _HOSTILE:
            first, second = (grade(domain, question, text, 3).rewards for _ in range(2))
            _require(bool((first == second).all()), f"{text[:20]!r} was scored twice, and differently")


def reads_its_examples(domain: Domain[Any, Any], questions: Sequence[Any]) -> None:
    """Examples of answers, if there are any, are read: each alone, and all together."""
    if not isinstance(domain, DomainWithExamples):
        return
    for question in questions:
        examples = list(domain.examples(question))
        for texts in [[text] for text in examples] + ([examples] if examples else []):
            reply = domain.parse(domain.reply(texts), len(texts))
            lost = [reason for answer, reason in zip(reply.answers, reply.reasons, strict=True) if answer is None]
            _require(not lost, f"an example among {texts} is not read: {', '.join(lost)}")


DOMAIN_RULES: tuple[DomainRule, ...] = (
    has_questions_and_names,
    asks_for_as_many_answers_as_told,
    reads_any_text,
    stays_above_its_floors,
    repeats_its_scores,
    reads_its_examples,
)


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
