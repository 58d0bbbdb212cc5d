"""A small policy that fills knapsacks item by item, alone or in chains of answers, and learns by any training method.

In a chain the policy sees what its earlier answers reached, so it can learn to give different ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from evolve.multiobjective.scalarization import Floats
from evolve.vpo import Options, RolloutGroup, draw_weights, method_of
from training.knapsack import OBJECTIVES, SAME, Kind, Knapsack, knapsack

if TYPE_CHECKING:
    from torch import Generator, Tensor

CHAIN = 4  # answers of a chain, at most
_HIDDEN = 64
_FEATURES = 4 * OBJECTIVES + 4 + CHAIN + 2 * OBJECTIVES


@dataclass(frozen=True, slots=True, kw_only=True)
class KnapsackTraining:
    """The settings of a training from scratch, equal for every method but for `rate`.

    Attributes:
        method: its name.
        k: for the methods that take the best of k.
        problems, answers: prompts of an update, and answers to each.
        pool: knapsacks to draw from.
        alpha: concentration of the weights that the answers of a knapsack share.
        rate: initial learning rate of Adam. It falls linearly to zero.
    """

    method: str
    kind: Kind
    seed: int = 0
    k: int = 4
    updates: int = 400
    problems: int = 16
    answers: int = 32
    pool: int = 4000
    draws: int = 32
    alpha: float = 1.0
    rate: float = 3e-3
    clip: float = 1.0

    @property
    def m(self) -> int:
        """Answers of a completion."""
        return CHAIN if method_of(self.method).chains else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledKnapsacks:
    """Answers: rows are completions, those to one knapsack adjacent.

    Attributes:
        features: (rows, m, items, features), what the policy saw before each choice.
        picks: (rows, m, items).
        open: (rows, m, items), whether there was a choice: the item fitted.
        rewards: (rows, m, objectives).
    """

    features: "Tensor"
    picks: "Tensor"
    open: "Tensor"
    rewards: "Tensor"

    def by_problem(self, problems: int) -> Floats:
        """The reward vectors of each knapsack's completions, (problems, completions, m, objectives)."""
        rewards = self.rewards.numpy()
        return np.asarray(rewards.reshape(problems, -1, *rewards.shape[1:]))


def new_policy(seed: int) -> nn.Sequential:
    """A policy with random weights: the logit of picking an item, of its features."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(_FEATURES, _HIDDEN),
            nn.Tanh(),
            nn.Linear(_HIDDEN, _HIDDEN),
            nn.Tanh(),
            nn.Linear(_HIDDEN, 1),
        )


@torch.no_grad()
def fill(
    policy: nn.Module,
    problems: Sequence[Knapsack],
    completions: int,
    m: int,
    generator: "Generator",
    goals: Floats | None = None,
) -> FilledKnapsacks:
    """Let a policy answer each knapsack with completions of m answers.

    Args:
        goals: the weights that each completion shows, (problems * completions, objectives).
    """
    shown = np.zeros((len(problems) * completions, OBJECTIVES)) if goals is None else goals
    writing = _Writing(problems, completions, torch.as_tensor(shown, dtype=torch.float32))
    answers = [writing.answer(policy, number, generator) for number in range(m)]
    features, picks, choices, rewards = (torch.stack(part, dim=1) for part in zip(*answers, strict=True))
    return FilledKnapsacks(features=features, picks=picks, open=choices, rewards=rewards)


def train_knapsack(settings: KnapsackTraining) -> nn.Sequential:
    """Train a policy from scratch by REINFORCE, with fresh answers for each update."""
    policy = new_policy(settings.seed)
    generator = torch.Generator().manual_seed(settings.seed)
    rng = np.random.default_rng([settings.seed, 1])
    optimiser = torch.optim.Adam(policy.parameters(), lr=settings.rate)
    fall = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, settings.updates)
    completions = settings.answers // settings.m
    for _ in range(settings.updates):
        drawn = rng.choice(settings.pool, size=settings.problems, replace=False)
        problems = [knapsack(settings.kind, "train", int(number)) for number in drawn]
        goals = _goals(settings, rng)
        shown = None if goals is None else np.repeat(goals, completions, axis=0)
        found = fill(policy, problems, completions, settings.m, generator, shown)
        worth = _advantages(settings, found.by_problem(len(problems)), goals, rng)
        loss = _loss(policy, found, torch.as_tensor(worth, dtype=torch.float32))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), settings.clip)
        optimiser.step()
        fall.step()
    return policy


def answers_of(policy: nn.Module, settings: KnapsackTraining, asked: Sequence[Knapsack], count: int) -> list[Floats]:
    """The rewards of that many answers to each knapsack, (count, objectives), in the order drawn.

    A method that shows weights answers under one drawn for each `CHAIN` answers.
    """
    generator, rng = torch.Generator().manual_seed(settings.seed), np.random.default_rng([settings.seed, 2])
    completions = count // settings.m
    goals = None
    if method_of(settings.method).weights == "shown":
        drawn = draw_weights(OBJECTIVES, rng, len(asked) * completions // CHAIN)
        goals = np.repeat(drawn, CHAIN, axis=0)
    found = fill(policy, asked, completions, settings.m, generator, goals)
    return list(found.by_problem(len(asked)).reshape(len(asked), -1, OBJECTIVES))


def _goals(settings: KnapsackTraining, rng: np.random.Generator) -> Floats | None:
    if method_of(settings.method).weights != "shown":
        return None
    return draw_weights(OBJECTIVES, rng, settings.problems)


def _advantages(settings: KnapsackTraining, rewards: Floats, goals: Floats | None, rng: np.random.Generator) -> Floats:
    """The advantage of each answer, (rows, m)."""
    method = method_of(settings.method)
    options = Options(k=settings.k if method.subsets else None)
    groups = [
        RolloutGroup.of(
            list(completions),
            weights=draw_weights(OBJECTIVES, rng, settings.draws, settings.alpha),
            preference=None if goals is None else goals[place],
        )
        for place, completions in enumerate(rewards)
    ]
    if method.credit is not None:
        return np.stack([answers for group in method.credit(groups, options) for answers in group])
    return np.repeat(np.concatenate(method.estimator(groups, options))[:, None], settings.m, axis=1)


def _loss(policy: nn.Module, found: FilledKnapsacks, worth: "Tensor") -> "Tensor":
    logits = policy(found.features)[..., 0]
    logs = -nn.functional.binary_cross_entropy_with_logits(logits, found.picks.float(), reduction="none")
    return -(logs * found.open * worth[..., None]).sum() / found.open.sum()


class _Writing:
    """Completions that are being written: the knapsacks' numbers by row, and what earlier answers reached."""

    def __init__(self, problems: Sequence[Knapsack], completions: int, goals: "Tensor") -> None:
        def rows(parts: Sequence[Floats | float]) -> "Tensor":
            stacked = torch.as_tensor(np.stack([np.asarray(part) for part in parts]), dtype=torch.float64)
            return stacked.repeat_interleave(completions, dim=0)

        self._values = rows([problem.values for problem in problems])
        self._costs = rows([problem.costs for problem in problems])
        self._capacity = rows([problem.capacity for problem in problems])
        self._left = self._values.flip(1).cumsum(1).flip(1)
        self._goals = goals
        self._best = torch.zeros(len(self._values), OBJECTIVES, dtype=torch.float64)
        self._last = torch.zeros_like(self._best)
        self._picked = torch.zeros_like(self._costs)

    def answer(self, policy: nn.Module, number: int, generator: "Generator") -> tuple["Tensor", ...]:
        """One answer of each completion: features, picks, open, rewards."""
        free, gained = self._capacity.clone(), torch.zeros_like(self._best)
        features: list[Tensor] = []
        picks: list[Tensor] = []
        choices: list[Tensor] = []
        for item in range(self._costs.shape[1]):
            seen = self._features(number, item, free, gained)
            chance = torch.sigmoid(policy(seen)[:, 0])
            fits = self._costs[:, item] <= free + SAME
            pick = (torch.rand(len(chance), generator=generator) < chance) & fits
            free = free - pick * self._costs[:, item]
            gained = gained + pick[:, None] * self._values[:, item]
            features.append(seen)
            picks.append(pick)
            choices.append(fits)
        chosen = torch.stack(picks, dim=1)
        self._best, self._last = torch.maximum(self._best, gained), gained
        self._picked = (self._picked * number + chosen) / (number + 1)
        return torch.stack(features, dim=1), chosen, torch.stack(choices, dim=1), gained

    def _features(self, number: int, item: int, free: "Tensor", gained: "Tensor") -> "Tensor":
        rows = len(free)
        place = nn.functional.one_hot(torch.tensor(number), CHAIN).expand(rows, -1)
        numbers = torch.stack(
            [self._costs[:, item], free, torch.full_like(free, item / self._costs.shape[1]), self._picked[:, item]],
            dim=1,
        )
        worth = [self._values[:, item], gained, self._left[:, item], self._best, self._last]
        return torch.cat([*worth, numbers, place, self._goals], dim=1).float()
