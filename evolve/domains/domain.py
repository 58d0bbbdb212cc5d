"""The common interface of domains: prompts, parsed replies, and answers scored as reward vectors."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

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
        rewards: (m, k), one row an answer; the floors, zeros in most domains, for an answer that is missing, malformed
            or given before.
        reply: what was scored; its reasons also name the answers given before.
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
        """Reward vector (k,) of an answer, more is better; in [0, 1] unless the domain also has `floors`."""

    def scalar(self, vector: Floats) -> float:
        """The scalar for training policies without reward vectors."""

    def identity(self, answer: Answer, vector: Floats) -> Hashable:
        """A key that is equal for answers of a completion that count only once."""


@runtime_checkable
class DomainWithFloors(Protocol[_Asked_contra]):
    """A domain whose rewards may be negative: it says how low each of them goes."""

    def floors(self, question: _Asked_contra) -> Mapping[str, float]:
        """The lowest reward of each objective, by its name and in their order."""


@runtime_checkable
class DomainWithExamples(Protocol[_Asked_contra]):
    """A domain that shows its form: a model can be taught to write it."""

    def examples(self, question: _Asked_contra) -> Sequence[str]:
        """Texts of answers, good or not. Empty: there are none."""

    def reply(self, texts: Sequence[str]) -> str:
        """A completion that holds these answers in the form that the prompt for so many asks for."""


def floors_of(domain: Domain[Question, Answer], question: Question) -> Mapping[str, float]:
    """The lowest reward of each objective of a question: those that the domain declares, else zeros."""
    if isinstance(domain, DomainWithFloors):
        return domain.floors(question)
    return dict.fromkeys(domain.objectives(question), 0.0)


def grade(
    domain: Domain[Question, Answer], question: Question, text: str, m: int, cut: bool = False
) -> ScoredReply[Answer]:
    """Score a completion with `m` requested answers.

    An answer that repeats an earlier answer of the completion earns nothing, because it covers nothing new.
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
