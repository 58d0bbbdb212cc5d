"""Demonstrations of the form of a domain: its prompts, answered by its own examples of answers."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from evolve.domains import DomainWithExamples, open_domain
from training.demonstrations import Count, Demonstration, Demonstrations, DemonstrationSettings
from training.errors import TrainingError
from training.task_data import questions_of


def demonstrate_domain(name: str, settings: DemonstrationSettings, count: Count, size: int) -> Demonstrations:
    """Make demonstrations from the examples of a domain's training questions.

    A reply holds m examples of its question, drawn anew for each demonstration. `format` and `edits` of the settings do
    not act: the form is the domain's.

    Args:
        name: of the domain, or `module:Class`.
        settings: the numbers of answers, the limit of tokens and the seed.
        count: the tokens of a text.
        size: number for each m, and the maximum.

    Raises:
        TrainingError: there is no demonstration. The message says why.
        ExtensionError: the domain cannot be loaded.
    """
    domain = open_domain(name)
    if not isinstance(domain, DomainWithExamples):
        raise TrainingError(f"The domain {name} shows no examples: give it the methods examples and reply.")
    shown = [(question, list(domain.examples(question))) for question in questions_of(name, "train")]
    rng = np.random.default_rng(settings.seed)
    writer = _Writer(domain, shown, settings, count, rng)
    made = {m: tuple(islice(writer.demonstrations(m), size)) for m in settings.answers}
    if not any(made.values()):
        most = max(len(examples) for _, examples in shown)
        raise TrainingError(
            f"None of {writer.too_long} prompts with replies fits {settings.max_tokens} tokens: raise --max-tokens."
            if writer.too_long
            else f"There is nothing to demonstrate: the domain {name} has at most {most} examples for a question."
        )
    return Demonstrations(by_answers=made, parents=len(shown), too_long=writer.too_long, unreadable=0)


class _Writer:
    """Writes demonstrations, and counts those that are too long."""

    def __init__(
        self,
        domain: Any,
        shown: list[tuple[Any, list[str]]],
        settings: DemonstrationSettings,
        count: Count,
        rng: np.random.Generator,
    ) -> None:
        self._domain, self._shown, self._settings, self._count, self._rng = domain, shown, settings, count, rng
        self.too_long = 0

    def demonstrations(self, m: int) -> Iterator[Demonstration]:
        """Questions in turn, as often as `per_parent` says, with other examples each time."""
        for _ in range(self._settings.per_parent):
            for place in self._rng.permutation(len(self._shown)):
                question, examples = self._shown[place]
                if len(examples) >= m and (made := self._demonstration(question, examples, m)) is not None:
                    yield made

    def _demonstration(self, question: Any, examples: list[str], m: int) -> Demonstration | None:
        texts = [examples[place] for place in self._rng.permutation(len(examples))[:m]]
        prompt, reply = self._domain.prompt(question, m), self._domain.reply(texts)
        parsed = self._domain.parse(reply, m)
        if any(answer is None for answer in parsed.answers):
            lost = next(reason for answer, reason in zip(parsed.answers, parsed.reasons, strict=True) if answer is None)
            raise TrainingError(f"The domain does not read its own examples {texts}: {lost}.")
        if self._count(prompt) + self._count(reply) > self._settings.max_tokens:
            self.too_long += 1
            return None
        return Demonstration(messages=({"role": "user", "content": prompt},), reply=reply, answers=m)
