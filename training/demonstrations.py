"""Demonstrations for a warm start: prompts as a run builds them, answered by children that a run found valid."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, islice

import numpy as np

from evolve.answers.chain import ChainFormat, parse_format
from evolve.credit.operators import MUTATE
from evolve.errors import PolicyRefused
from evolve.multiobjective.scalarization import Floats, dirichlet, scalarise
from evolve.prompt import PromptRequest, build_prompt
from evolve.proposal import Individual, Proposal
from evolve.similarity.fingerprint import fingerprint
from training.candidate_sources import CandidateSource
from training.errors import TrainingError
from training.reply_writer import reads_back, write_reply

Count = Callable[[str], int]

MAX_CHARACTERS_PER_TOKEN = 16  # a longer program cannot fit, and is not even counted
_INSPIRATION_POOL = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DemonstrationSettings:
    """The form of demonstrations.

    Attributes:
        answers: each m, answers per completion, equally often.
        format: separation of a completion's answers, as in the next run's policy.
        edits: `rewrite` or `diff`, as in the next run's policy.
        max_tokens: of prompt and reply together.
        per_parent: maximum number of demonstrations of a parent for each m.
        reward_temperature: draws demonstrations by exp(z / it), where z is the standard score of the mean worth of
            their answers. None: each is used equally often.
        seed: of every draw.
    """

    answers: tuple[int, ...] = (1, 2, 4)
    format: str = "tags:answer"
    edits: str = "rewrite"
    max_tokens: int = 2048
    per_parent: int = 4
    reward_temperature: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        parse_format(self.format)
        if self.edits not in {"rewrite", "diff"}:
            raise TrainingError(f"edits must be rewrite or diff, not {self.edits!r}.")
        if not self.answers or min(self.answers) < 1 or len(set(self.answers)) < len(self.answers):
            raise TrainingError("answers must be different numbers of at least 1, such as 1,2,4.")
        if self.format == "single" and self.answers != (1,):
            raise TrainingError("A completion in the format single holds one answer: ask for --answers 1.")
        if self.reward_temperature is not None and not self.reward_temperature > 0:
            raise TrainingError(f"reward_temperature must be above 0, not {self.reward_temperature}.")
        for name in ("max_tokens", "per_parent"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} must be at least 1, not {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A prompt and its reply, which holds `answers` programs.

    Attributes:
        worth: mean of its answers, under the weights that were drawn for it.
    """

    messages: tuple[Mapping[str, str], ...]
    reply: str
    answers: int
    worth: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstrations:
    """The result of a search for demonstrations.

    Attributes:
        by_answers: demonstrations for each m, in the order of their use.
        parents: number of programs with valid children.
        too_long: prompts with their replies that did not fit `max_tokens`.
        unreadable: replies that a run would have read as other programs.
    """

    by_answers: Mapping[int, tuple[Demonstration, ...]]
    parents: int
    too_long: int
    unreadable: int

    def schedule(self, size: int) -> list[Demonstration]:
        """That many demonstrations, each m equally often. A demonstration repeats only after all of its m were used."""
        turns = cycle([cycle(demonstrations) for demonstrations in self.by_answers.values() if demonstrations])
        return [next(turn) for turn in islice(turns, size)]

    def weighted_schedule(self, size: int, temperature: float, rng: np.random.Generator) -> list[Demonstration]:
        """That many demonstrations, each m equally often, and drawn by their worth (reward-weighted regression).

        Source: Peters and Schaal, "Reinforcement learning by reward-weighted regression for operational space control"
        (2007). Worths are standardised, so that the temperature means the same for every scale.
        """
        drawn = [
            [made[place] for place in rng.choice(len(made), size=size, p=reward_weights(made, temperature))]
            for made in self.by_answers.values()
            if made
        ]
        return [drawn[number % len(drawn)][number // len(drawn)] for number in range(size)]


def reward_weights(made: Sequence[Demonstration], temperature: float) -> Floats:
    """The share with which each demonstration is drawn: exp(z / temperature), normalised."""
    worth = np.array([one.worth for one in made], dtype=np.float64)
    spread = worth.std()
    scores = (worth - worth.mean()) / spread if spread > 0 else np.zeros(len(made))
    weights = np.exp((scores - scores.max()) / temperature)
    return np.asarray(weights / weights.sum())


def demonstrate(
    sources: Sequence[CandidateSource], settings: DemonstrationSettings, count: Count, size: int
) -> Demonstrations:
    """Make demonstrations from accepted programs of runs.

    A parent's valid children answer its prompt. With several objectives, weights are drawn for each demonstration. Its
    answers are the best children under them among those not used yet for this parent and m. A prompt shows other
    programs of the run by the run's configuration, as far as `max_tokens` leaves room.

    Args:
        sources: runs.
        settings: the form.
        count: the tokens of a text.
        size: number for each m, and the maximum.

    Raises:
        TrainingError: there is no demonstration. The message says why.
    """
    rng = np.random.default_rng(settings.seed)
    writer = _Writer(settings, lru_cache(maxsize=4096)(count), rng)
    families = [family for source in sources for family in _families(source, settings)]
    order = [families[place] for place in rng.permutation(len(families))]
    made = {m: tuple(islice(writer.demonstrations(order, m), size)) for m in settings.answers}
    result = Demonstrations(
        by_answers=made, parents=len(families), too_long=writer.too_long, unreadable=writer.unreadable
    )
    if not any(made.values()):
        raise TrainingError(_nothing(sources, result, settings))
    return result


def _nothing(sources: Sequence[CandidateSource], result: Demonstrations, settings: DemonstrationSettings) -> str:
    valid = sum(len(source.candidates) for source in sources)
    if result.too_long:
        return (
            f"None of {result.too_long} prompts with their replies fits {settings.max_tokens} tokens: raise"
            " --max-tokens, or ask for fewer answers."
        )
    if result.unreadable:
        return (
            f"None of {result.unreadable} replies can be read back in the format {settings.format} with edits"
            f" {settings.edits}: choose another."
        )
    return (
        f"There is nothing to demonstrate: of {valid} valid candidates no {min(settings.answers)} are children of the"
        " same parent. Run evolve run PROBLEM --policy syntax with more evaluations first."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """A parent, its different valid children with their ages, and the run that they are from."""

    source: CandidateSource
    parent: Individual
    children: tuple[tuple[int, Individual], ...]


def _families(source: CandidateSource, settings: DemonstrationSettings) -> Iterator[_Family]:
    longest, language = MAX_CHARACTERS_PER_TOKEN * settings.max_tokens, source.problem.language
    known = {each.individual.candidate_id: each.individual for each in source.candidates}
    children: dict[str, dict[str, tuple[int, Individual]]] = {}
    for age, each in enumerate(source.candidates):
        if each.parent_id in known and each.individual.program.size <= longest:
            own = children.setdefault(each.parent_id, {})
            own.setdefault(fingerprint(each.individual.program, language), (age, each.individual))
    for parent_id, found in children.items():
        parent = known[parent_id]
        found.pop(fingerprint(parent.program, language), None)
        if found and parent.program.size <= longest:
            yield _Family(source=source, parent=parent, children=tuple(found.values()))


class _Writer:
    """Writes the demonstrations of families, and counts the unusable ones."""

    def __init__(self, settings: DemonstrationSettings, count: Count, rng: np.random.Generator) -> None:
        self._settings, self._count, self._rng = settings, count, rng
        self._format: ChainFormat = parse_format(settings.format)
        self.too_long = 0
        self.unreadable = 0

    def demonstrations(self, families: Sequence[_Family], m: int) -> Iterator[Demonstration]:
        """First the best of every family, then the second best, and so on."""
        left = [(family, list(family.children)) for family in families]
        for _ in range(self._settings.per_parent):
            for family, children in left:
                if len(children) >= m and (made := self._demonstration(family, children, m)) is not None:
                    yield made

    def _demonstration(self, family: _Family, children: list[tuple[int, Individual]], m: int) -> Demonstration | None:
        """A demonstration with the best children under new weights, which are removed from the list."""
        k = len(family.source.problem.objectives)
        weights = tuple(float(weight) for weight in dirichlet(self._rng, k)) if k > 1 else ()
        children.sort(key=lambda child: (-_value(child[1], weights), child[1].candidate_id))
        chosen, children[:m] = children[:m], []
        programs = [child.program for _, child in chosen]
        problem, parent = family.source.problem, family.parent.program
        form = (self._format, self._settings.edits, problem.language, parent, programs, problem.repository)
        reply = write_reply(*form)
        if not reads_back(reply, *form):
            self.unreadable += 1
            return None
        messages = self._messages(family, chosen, weights, self._count(reply))
        if messages is None:
            return None
        worth = float(np.mean([_value(child, weights) for _, child in chosen]))
        return Demonstration(messages=messages, reply=reply, answers=m, worth=worth)

    def _messages(
        self, family: _Family, chosen: Sequence[tuple[int, Individual]], weights: tuple[float, ...], reply_tokens: int
    ) -> tuple[Mapping[str, str], ...] | None:
        source, m = family.source, len(chosen)
        proposal = Proposal(
            id="", number=1, island=0, operator=MUTATE, parent=family.parent, weights=weights, answers=m, limit=m,
            inspirations=self._inspirations(family, min(age for age, _ in chosen)),
        )  # fmt: skip
        request = PromptRequest(
            problem=source.problem,
            proposal=proposal,
            format=self._settings.format,
            edits=self._settings.edits,
            config=source.prompt,
            templates=source.templates,
            context_tokens=self._settings.max_tokens,
            reply_tokens=reply_tokens,
        )
        try:
            prompt = build_prompt(request, self._count)
        except PolicyRefused:
            self.too_long += 1
            return None
        return tuple({"role": message.role, "content": message.content} for message in prompt.messages)

    def _inspirations(self, family: _Family, age: int) -> tuple[Individual, ...]:
        """Earlier programs of the run: its best first, then others."""
        wanted = family.source.inspirations
        if not wanted.top + wanted.diverse or not age:
            return ()
        places = self._rng.choice(age, size=min(age, _INSPIRATION_POOL), replace=False)
        pool = [family.source.candidates[int(place)].individual for place in places]
        others = [each for each in pool if each.candidate_id != family.parent.candidate_id]
        ranked = sorted(others, key=lambda each: (-_value(each, ()), each.candidate_id))[: wanted.top]
        names = {each.candidate_id for each in ranked}
        diverse = [each for each in others if each.candidate_id not in names][: wanted.diverse]
        return (*ranked, *diverse)


def _value(individual: Individual, weights: tuple[float, ...]) -> float:
    return float(scalarise(individual.rewards, weights)) if weights else (individual.fitness or 0.0)
