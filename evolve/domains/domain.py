"""What all domains have in common: questions are asked, replies taken apart, and answers scored as reward vectors."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from evolve.multiobjective.scalarization import Floats

Question = TypeVar("Question")
Answer = TypeVar("Answer")
_Asked_contra = TypeVar("_Asked_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainReply(Generic[Answer]):
    """A completion taken apart.

    Attributes:
        answers: as many as were asked for; None where one is missing or malformed.
        reasons: for each of the answers what is wrong with it or was left out of it; empty where nothing is.
        dropped: what of the completion made no answer, one sentence for each reason.
    """

    answers: tuple[Answer | None, ...]
    reasons: tuple[str, ...]
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredReply(Generic[Answer]):
    """A completion scored.

    Attributes:
        rewards: (m, k), one row an answer; the floors, zeros in most domains, for an answer that is missing, malformed
            or given before.
        reply: what was scored; its reasons also name the answers given before.
    """

    rewards: Floats
    reply: DomainReply[Answer]


class Domain(Protocol[_Asked_contra, Answer]):
    """A kind of task. Whatever a policy writes is parsed and scored without an exception."""

    @property
    def name(self) -> str:
        """One lower-case word."""

    def objectives(self, question: _Asked_contra) -> tuple[str, ...]:
        """Names of the reward vector's components; how many there are may depend on the question."""

    def task(self, question: _Asked_contra) -> str:
        """What there is to do, without the form of the reply."""

    def prompt(self, question: _Asked_contra, m: int = 1) -> str:
        """What a policy is asked when `m` answers are wanted in one completion: the task, then the form."""

    def parse(self, text: str, m: int = 1, cut: bool = False) -> DomainReply[Answer]:
        """Take the answers out of a completion.

        Args:
            cut: the completion was cut off, so an answer still open is not whole.
        """

    def reward(self, question: _Asked_contra, answer: Answer) -> Floats:
        """Reward vector (k,) of an answer, more is better; in [0, 1] unless the domain also has `floors`."""

    def scalar(self, vector: Floats) -> float:
        """The one number that policies without reward vectors are trained on."""

    def identity(self, answer: Answer, vector: Floats) -> Hashable:
        """Equal for answers of one completion that count once."""


@runtime_checkable
class DomainWithFloors(Protocol[_Asked_contra]):
    """A domain whose rewards may be negative: it says how low each of them goes."""

    def floors(self, question: _Asked_contra) -> Mapping[str, float]:
        """The lowest reward of each objective, by its name and in their order."""


def floors_of(domain: Domain[Question, Answer], question: Question) -> Mapping[str, float]:
    """The lowest reward of each objective of a question: those that the domain declares, else zeros."""
    if isinstance(domain, DomainWithFloors):
        return domain.floors(question)
    return dict.fromkeys(domain.objectives(question), 0.0)


def grade(
    domain: Domain[Question, Answer], question: Question, text: str, m: int, cut: bool = False
) -> ScoredReply[Answer]:
    """Score a completion that was asked for `m` answers.

    An answer given before in the same completion earns nothing: it covers nothing new.
    """
    reply = domain.parse(text, m, cut)
    rewards = np.tile(np.array(list(floors_of(domain, question).values())), (m, 1))
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
