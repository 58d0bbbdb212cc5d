"""A base for domains of your own: you write the task and the score, it asks for answers in tags and reads them."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from evolve.domains.blocks import MISSING, UNFORMED, between, check_count, fill, numbered, spoken
from evolve.domains.domain import DomainReply
from evolve.multiobjective.scalarization import Floats

Question = Mapping[str, Any]


class TaggedDomain(ABC):
    """A domain whose questions are JSON objects and whose answers stand in tags.

    A subclass has `name`, `objectives`, `task`, `score` and `questions`. It may have `read`, where an answer is more
    than its text, `form`, a sentence on what an answer looks like, `seed`, an answer that a search begins with,
    `examples`, from which a model learns the form, and `floors`, where a score can be negative.

    One answer stands in `<answer>` and `</answer>`, answer i of several in `<answer_i>` and `</answer_i>`. Everything
    else is a missing answer, so a policy has to keep to the form.
    """

    name = "task"
    tag = "answer"
    form = ""
    seed = "answer"

    @abstractmethod
    def objectives(self, question: Question) -> tuple[str, ...]:
        """Names of the scores."""

    @abstractmethod
    def task(self, question: Question) -> str:
        """What there is to do, in words."""

    @abstractmethod
    def score(self, question: Question, answer: Any) -> Sequence[float]:
        """The score of an answer on each objective, more is better."""

    @abstractmethod
    def questions(self, split: str) -> Sequence[Question]:
        """The questions of `train` or `test`."""

    def read(self, text: str) -> Any:
        """The answer that stands in tags; None if it is none. Without this, the text itself."""
        return text or None

    def examples(self, question: Question) -> Sequence[str]:  # noqa: ARG002 - this one has none
        """Texts of answers, good or not, from which a model learns the form. Without this, none."""
        return ()

    def reply(self, texts: Sequence[str]) -> str:
        """A completion that holds these answers in the form that `prompt` asks for."""
        numbers = [""] if len(texts) == 1 else [f"_{number}" for number in range(1, len(texts) + 1)]
        tags = [f"{self.tag}{number}" for number in numbers]
        return "\n".join(f"<{tag}>{text}</{tag}>" for tag, text in zip(tags, texts, strict=True))

    def prompt(self, question: Question, m: int = 1) -> str:
        """The task, and the form in which m answers are asked for."""
        check_count(m)
        ask = (
            f"Put the answer between <{self.tag}> and </{self.tag}>."
            if m == 1
            else f"Give {m} answers that differ from each other. Put the first between <{self.tag}_1> and"
            f" </{self.tag}_1>, and so on to <{self.tag}_{m}>."
        )
        return "\n\n".join(part for part in (self.task(question), f"{self.form} {ask}".strip()) if part) + "\n"

    def parse(self, text: str, m: int = 1, cut: bool = False) -> DomainReply[Any]:  # noqa: ARG002 - an open tag holds none
        """The answers in their tags.

        Raises:
            ConfigurationError: `m` is below 1.
        """
        check_count(m)
        said = spoken(text)
        if m == 1:
            found = between(said, self.tag)
            return fill([found], [] if found is not None else [UNFORMED], 1, self._read)
        return fill(*numbered(said, self.tag, m), m, self._read)

    def reward(self, question: Question, answer: Any) -> Floats:
        """The scores as an array."""
        return np.asarray(self.score(question, answer), dtype=np.float64)

    def scalar(self, vector: Floats) -> float:
        """The mean of the scores."""
        return float(vector.mean())

    def identity(self, answer: Any, vector: Floats) -> Hashable:
        """Equal answers count once; answers that cannot be compared count once where their scores are equal."""
        return answer if isinstance(answer, Hashable) else tuple(vector.tolist())

    def _read(self, text: str) -> tuple[Any, str]:
        answer = self.read(text.strip())
        return answer, MISSING if answer is None else ""
