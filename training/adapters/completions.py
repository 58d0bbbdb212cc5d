"""Completions as trainers hand them over, and judges that score them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evolve.domains import Domain, grade
from evolve.vpo.group import Rollout

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A completion.

    Attributes:
        text: of the policy.
        prompt: a text or a list of messages.
        columns: of the data set, in the prompt's row.
        cut: it ran out of tokens, so an open answer is not complete.
    """

    text: str
    prompt: Any = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    cut: bool = False


Judge = Callable[[Sequence[Completion]], Sequence[Rollout]]


def one_by_one(score: Callable[[str], Rollout]) -> Judge:
    """A judge from a function that maps a text to its (m, k) reward matrix. None if nothing could be read."""
    return lambda completions: [score(completion.text) for completion in completions]


def by_domain(domain: Domain[Question, Answer], m: int, question_of: Callable[[Completion], Question]) -> Judge:
    """A judge that scores completions as a domain does.

    Args:
        domain: parses and scores.
        m: requested answers.
        question_of: finds the question, in a column or in the prompt, as `evolve.domains.maze.read` does.
    """
    return lambda completions: [
        grade(domain, question_of(completion), completion.text, m, completion.cut).rewards for completion in completions
    ]
