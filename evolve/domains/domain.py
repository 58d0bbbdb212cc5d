"""The common interface of domains: prompts, parsed replies, and answers scored as reward vectors."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from evolve.multiobjective.scalarization import Floats

Question = TypeVar("Question")
Answer = TypeVar("Answer")
_Asked_contra = TypeVar("_Asked_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainReply(Generic[Answer]):
    """A parsed completion.

    Attributes:
        answers: as many as requested. None if an answer is missing or malformed.
        reasons: for each answer, its fault or its left out parts. Empty if there are none.
        dropped: parts of the completion that made no answer, with a sentence for each reason.
    """

    answers: tuple[Answer | None, ...]
    reasons: tuple[str, ...]
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredReply(Generic[Answer]):
    """A scored completion.

    Attributes:
        rewards: (m, k), a row for each answer. Zeros if an answer is missing, malformed or repeated.
        reply: the parsed completion. Its reasons also name repeated answers.
    """

    rewards: Floats
    reply: DomainReply[Answer]


class Domain(Protocol[_Asked_contra, Answer]):
    """A kind of task. Any text of a policy is parsed and scored without an exception."""

    @property
    def name(self) -> str:
        """A lower-case word."""

    def objectives(self, question: _Asked_contra) -> tuple[str, ...]:
        """Names of the reward vector's components. Their number may depend on the question."""

    def task(self, question: _Asked_contra) -> str:
        """The task, without the form of the reply."""

    def prompt(self, question: _Asked_contra, m: int = 1) -> str:
        """The prompt for `m` answers in a completion: the task, then the form."""

    def parse(self, text: str, m: int = 1, cut: bool = False) -> DomainReply[Answer]:
        """Take the answers out of a completion.

        Args:
            cut: the completion was cut off, so an answer still open is not whole.
        """

    def reward(self, question: _Asked_contra, answer: Answer) -> Floats:
        """Reward vector (k,) of an answer, each component in [0, 1] and more is better."""

    def scalar(self, vector: Floats) -> float:
        """The scalar for training policies without reward vectors."""

    def identity(self, answer: Answer, vector: Floats) -> Hashable:
        """A key that is equal for answers of a completion that count only once."""


def grade(
    domain: Domain[Question, Answer], question: Question, text: str, m: int, cut: bool = False
) -> ScoredReply[Answer]:
    """Score a completion with `m` requested answers.

    An answer that repeats an earlier answer of the completion earns nothing, because it covers nothing new.
    """
    reply = domain.parse(text, m, cut)
    rewards = np.zeros((m, len(domain.objectives(question))))
    reasons = list(reply.reasons)
    seen: dict[Hashable, int] = {}
    for place, answer in enumerate(reply.answers):
        if answer is None:
            continue
        vector = domain.reward(question, answer)
        first = seen.setdefault(domain.identity(answer, vector), place)
        if first == place:
            rewards[place] = vector
        else:
            reasons[place] = f"counts once with answer {first + 1}"
    return ScoredReply(
        rewards=rewards, reply=DomainReply(answers=reply.answers, reasons=tuple(reasons), dropped=reply.dropped)
    )
