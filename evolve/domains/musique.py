"""MuSiQue: questions over several paragraphs, answered with the paragraphs that support the answer.

Reward (Vector Policy Optimization, arXiv 2605.22817; data: MuSiQue, arXiv 2108.00573): for each of up to four hops
whether its paragraph is cited, and the F1 of the answer's words.
"""

import re
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from evolve.domains.blocks import blocks, field, fill
from evolve.domains.domain import DomainReply
from evolve.domains.overlap import f1, words
from evolve.errors import ProblemError
from evolve.multiobjective.scalarization import Floats

HOPS = 4
ANSWER_WEIGHT = 3.0
_INDEX = re.compile(r"(?<![\w.])\d{1,6}(?![\w.]*\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MusiqueQuestion:
    """A question.

    Attributes:
        paragraphs: (title, text) pairs, cited by their place, from 0.
        support: the place of the paragraph of each hop, in order.
        aliases: other forms of the answer.

    Raises:
        ProblemError: there are no hops, more than four, or a hop without a paragraph.
    """

    text: str
    paragraphs: tuple[tuple[str, str], ...]
    support: tuple[int, ...]
    answer: str
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.support) <= HOPS:
            raise ProblemError(f"a question has 1 to {HOPS} hops, not {len(self.support)}")
        for place in self.support:
            if not 0 <= place < len(self.paragraphs):
                raise ProblemError(f"the question's support names paragraph {place} of {len(self.paragraphs)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedAnswer:
    """An answer, and the first four different paragraphs cited for it."""

    answer: str
    support: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Musique:
    """Answer a question and cite the paragraphs that it follows from."""

    name: str = "musique"

    def objectives(self, question: MusiqueQuestion) -> tuple[str, ...]:  # noqa: ARG002 - the shape all domains have
        """hop_1 to hop_4, answer_f1."""
        return (*(f"hop_{number}" for number in range(1, HOPS + 1)), "answer_f1")

    def task(self, question: MusiqueQuestion) -> str:
        """The paragraphs and the question."""
        numbered = [f"[{place}] {title}\n{text}" for place, (title, text) in enumerate(question.paragraphs)]
        return "\n\n".join([*numbered, f"Question: {question.text}"])

    def prompt(self, question: MusiqueQuestion, m: int = 1) -> str:
        """The paragraphs, the question, and the form of the reply."""
        form = "<support>0, 4</support>\n<answer>a name, a date, a few words</answer>"
        ask = (
            f"Give the answer, and the numbers of the paragraphs that it follows from, at most {HOPS}:\n{form}"
            if m == 1
            else f"Give {m} different answers. Each cites the paragraphs that it follows from, at most {HOPS}. Put each"
            f" between tags of its own, <response_1> to <response_{m}>:\n<response_1>\n{form}\n</response_1>"
        )
        return f"{self.task(question)}\n\n{ask}\n"

    def parse(self, text: str, m: int = 1, cut: bool = False) -> DomainReply[CitedAnswer]:
        """Answers in `<response_i>` tags, each with `<support>` and `<answer>`.

        Raises:
            ConfigurationError: `m` is below 1.
        """
        return fill(*blocks(text, "response", m, cut), m, _cited)

    def reward(self, question: MusiqueQuestion, answer: CitedAnswer) -> Floats:
        """(5,): 1 for each hop with a cited paragraph, or that the question lacks, and F1 of the answer's best form."""
        hops = [float(place in answer.support) for place in question.support]
        spare = [1.0] * (HOPS - len(hops))
        said = words(answer.answer, articles=False)
        forms = (question.answer, *question.aliases)
        return np.array([*hops, *spare, max(f1(said, words(form, articles=False)) for form in forms)])

    def scalar(self, vector: Floats) -> float:
        """(sum of the hops + 3 F1) / 7."""
        return float((vector[:-1].sum() + ANSWER_WEIGHT * vector[-1]) / (HOPS + ANSWER_WEIGHT))

    def identity(self, answer: CitedAnswer, vector: Floats) -> Hashable:  # noqa: ARG002 - the shape all domains have
        """The reward vector."""
        return tuple(vector.tolist())


def _cited(text: str) -> tuple[CitedAnswer | None, str]:
    answer = field(text, "answer")
    if not answer:
        return None, "the response holds no answer"
    support = field(text, "support")
    places = list(dict.fromkeys(int(found) for found in _INDEX.findall(support or "")))
    notes = [] if places else ["no paragraph is cited"]
    if len(places) > HOPS:
        notes.append(f"{len(places) - HOPS} paragraphs beyond the first {HOPS} do not count")
    return CitedAnswer(answer=answer, support=tuple(places[:HOPS])), "; ".join(notes)
