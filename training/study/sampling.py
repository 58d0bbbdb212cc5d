"""Plain sampling: a policy's answers to a maze without a search."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.domains.maze import KINDS, OBJECTIVES, SPLITS, Maze, MazeDomain, mazes
from evolve.multiobjective.scalarization import Floats
from service.policy.bundled.sampling import SampledChain, generate
from training.study.contenders import Contender, open_model
from training.study.raw import MeasurementKey, Store
from training.vocabulary import encode, max_reply, prompt_words

_DOMAIN = MazeDomain()
_SEED = 2605_22817
_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers of a model.

    Attributes:
        rewards: (mazes, answers, 4), in the order written. Zeros for a missing or malformed answer.
        missing: (mazes, answers), whether it is missing or malformed.
        repeats: (mazes, answers), whether its chain holds the same walk before. It is scored anyway.
        tokens: (mazes, chains), written, including the end.
    """

    rewards: Floats
    missing: NDArray[np.bool_]
    repeats: NDArray[np.bool_]
    tokens: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingTask:
    """A task: a model gives a number of answers to each of the first mazes of a split."""

    contender: Contender
    kind: str
    split: str
    mazes: int
    answers: int
    temperature: float

    @property
    def key(self) -> MeasurementKey:
        """The conditions of the task."""
        values = {
            "what": "sampling",
            "version": _VERSION,
            "model": self.contender.digest,
            "m": self.contender.m,
            "kind": self.kind,
            "split": self.split,
            "mazes": self.mazes,
            "answers": self.answers,
            "temperature": self.temperature,
        }
        title = f"sampling.{self.contender.name}.{self.kind}.{self.split}.t{self.temperature:g}.n{self.answers}"
        return MeasurementKey(title=title, values=values)

    @property
    def size(self) -> int:
        """Answers."""
        return self.mazes * self.answers

    def run(self, problems: Callable[[str, str, int], Any]) -> Mapping[str, NDArray[Any]]:  # noqa: ARG002 - as all tasks
        """Ask and score."""
        model, m = open_model(self.contender), self.contender.m
        asked = mazes(self.kind, self.split, self.mazes)
        written = generate(
            model,
            [encode(prompt_words(maze, m)) for maze in asked],
            samples=self.answers // m,
            max_tokens=max_reply(asked, m),
            temperature=self.temperature,
            seeds=[_seed(self.kind, self.split, number) for number in range(self.mazes)],
        )
        scored = [_scored(maze, chains, m) for maze, chains in zip(asked, written, strict=True)]
        names = ("rewards", "missing", "repeats", "tokens")
        return {name: np.stack([one[name] for one in scored]) for name in names}

    def read(self, store: Store) -> Answers:
        """The result.

        Raises:
            StudyError: the file is cut off or damaged.
        """
        each = (self.mazes, self.answers)
        shapes = {"rewards": (*each, len(OBJECTIVES)), "missing": each, "repeats": each}
        found = store.read(self.key, {**shapes, "tokens": (self.mazes, self.answers // self.contender.m)})
        return Answers(**found)


def _seed(kind: str, split: str, number: int) -> int:
    entropy = [_SEED, list(KINDS).index(kind), SPLITS.index(split), number]
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def _scored(maze: Maze, chains: list[SampledChain], m: int) -> dict[str, NDArray[Any]]:
    rewards, missing, repeats = [], [], []
    for chain in chains:
        seen: set[str] = set()
        for answer in _DOMAIN.parse(chain.text, m, cut=chain.finish_reason == "length").answers:
            missing.append(answer is None)
            repeats.append(answer in seen)
            rewards.append(np.zeros(len(OBJECTIVES)) if answer is None else _DOMAIN.reward(maze, answer))
            seen |= set() if answer is None else {answer}
    return {
        "rewards": np.stack(rewards),
        "missing": np.array(missing),
        "repeats": np.array(repeats),
        "tokens": np.array([len(chain.ids) for chain in chains], dtype=np.int64),
    }
