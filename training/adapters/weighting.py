"""Weights that all processes of a group draw identically, and the set reward under them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import DRAWS, Sampler, draw_weights, reward_matrix, set_reward
from evolve.vpo.group import Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighting:
    """How the weights of a group are drawn: by run, step and prompt alone, so that processes which share it agree.

    Attributes:
        seed: of the training run.
        alpha: concentration of the Dirichlet distribution.
        draws: K, how many weights.
        sampler: `naive` draws independently, `sobol` spreads the draws evenly.
    """

    seed: int = 0
    alpha: float = 1.0
    draws: int = DRAWS
    sampler: Sampler = "naive"

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise RewardError(f"The seed must not be negative, as {self.seed} is.")
        self.weights(0, "", 2)  # says at once what is wrong with the rest

    def weights(self, step: int, prompt: Any, k: int) -> Floats:
        """The weights of the group of a prompt, (draws, k).

        Args:
            step: of the training. Another step has other weights.
            prompt: a text or anything that is JSON.
            k: number of objectives.

        Raises:
            RewardError: a setting is out of range.
        """
        digest = hashlib.sha256(json.dumps(prompt, sort_keys=True, default=str).encode()).digest()
        words = np.frombuffer(digest[:16], dtype=np.uint32).tolist()
        return draw_weights(k, np.random.default_rng([self.seed, step, *words]), self.draws, self.alpha, self.sampler)

    def value(self, rewards: Floats | None, step: int, prompt: Any) -> float:
        """The set reward of a rollout. 0 without a matrix."""
        return 0.0 if rewards is None else set_reward(rewards, self.weights(step, prompt, rewards.shape[1]))


def checked(rollouts: Sequence[Rollout], prompts: Sequence[Any]) -> list[Floats | None]:
    """The matrices of rollouts, equally wide within a prompt. None for a rollout without answers.

    Raises:
        RewardError: a value is not a matrix of finite numbers, or differs in width from others to the same prompt, or
            the number of rollouts and prompts differs.
    """
    if len(rollouts) != len(prompts):
        raise RewardError(f"{len(prompts)} completions needed scores, and {len(rollouts)} rewards came back.")
    widths: dict[str, int] = {}
    matrices: list[Floats | None] = []
    for number, (rollout, prompt) in enumerate(zip(rollouts, prompts, strict=True)):
        key = json.dumps(prompt, sort_keys=True, default=str)
        matrix = None if rollout is None else reward_matrix(rollout, widths.get(key), f"completion {number}")
        if matrix is not None and matrix.size:
            widths.setdefault(key, matrix.shape[1])
        matrices.append(matrix if matrix is not None and matrix.size else None)
    return matrices
