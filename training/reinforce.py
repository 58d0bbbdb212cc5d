"""Reinforcement learning of maze policies: rollouts, reward vectors, advantages, an update."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from evolve.domains import MazeDomain, grade
from evolve.domains.maze import OBJECTIVES, Maze, steps
from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import expected_max, mean_pairwise_l2
from evolve.vpo import Options, RolloutGroup, draw_weights, method_of
from training import measures
from training.batches import PaddedBatch
from training.demonstrator import Rng
from training.llama import Weights, reply_losses
from training.recipe import Reinforcement, Shape
from training.rollouts import Rollouts, roll_out
from training.vocabulary import SHARES, answer_places, decode, encode, in_form, max_reply, prompt_words

if TYPE_CHECKING:
    from torch import Generator, Tensor

_DOMAIN = MazeDomain()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownWalk:
    """A walk that a prompt shows, with its reward vector (4,)."""

    moves: str
    rewards: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A step's rollouts and their rewards.

    Attributes:
        rewards: for each prompt (chains, m, 4).
        moves: the answers of each prompt, chain by chain. None for a missing answer.
        goals: the weights (4,) that each prompt shows. Empty if they show none.
    """

    prompts: PaddedBatch
    rollouts: Rollouts
    rewards: tuple[Floats, ...]
    moves: tuple[tuple[str | None, ...], ...]
    goals: tuple[Floats, ...] = ()


def draw_goals(count: int, alpha: float, rng: Rng) -> tuple[Floats, ...]:
    """Weights of the objectives to show in prompts, in the eighths in which a prompt can show them, (4,) each."""
    drawn = draw_weights(len(OBJECTIVES), rng, count, alpha)
    return tuple(np.rint(weights * SHARES) / SHARES for weights in drawn)


def experience(
    weights: Weights,
    shape: Shape,
    settings: Reinforcement,
    asked: Sequence[Maze],
    parents: Sequence[ShownWalk | None],
    generator: "Generator",
    goals: Sequence[Floats] = (),
) -> Experience:
    """Let the policy answer each maze with `settings.answers` walks in chains of `settings.m`, and score them.

    Answers in another form earn nothing. The parser of searches is tolerant. With it, policies learn to write on after
    their last answer, and to start answers again.
    """
    aims: Sequence[Floats | None] = goals or [None] * len(asked)
    prompts = PaddedBatch.of(
        [
            encode(_prompt(maze, settings.m, parent, goal))
            for maze, parent, goal in zip(asked, parents, aims, strict=True)
        ],
        _device_of(weights),
    )
    chains = settings.answers // settings.m
    rollouts = roll_out(
        weights,
        shape,
        prompts,
        each=chains,
        maximum=max_reply(asked, settings.m),
        generator=generator,
        temperature=settings.temperature,
    )
    texts = [decode(in_form(reply, settings.m)) for reply in rollouts.written]
    rewards, moves = [], []
    for place, maze in enumerate(asked):
        written = texts[place * chains : (place + 1) * chains]
        graded = [grade(_DOMAIN, maze, text, settings.m) for text in written]
        rewards.append(np.stack([one.rewards for one in graded]))
        moves.append(tuple(answer for one in graded for answer in one.reply.answers))
    return Experience(
        prompts=prompts, rollouts=rollouts, rewards=tuple(rewards), moves=tuple(moves), goals=tuple(goals)
    )


def _device_of(weights: Weights) -> str:
    return str(next(iter(weights.values())).device)


def _prompt(maze: Maze, m: int, parent: ShownWalk | None, goal: Floats | None) -> list[str]:
    if parent is None:
        return prompt_words(maze, m, goal=goal)
    return prompt_words(maze, m, steps(maze, parent.moves), parent.rewards, goal)


def choose_parents(found: Experience, rng: Rng) -> list[ShownWalk | None]:
    """For each prompt, the best answer under weights drawn for it, as a search chooses. None: there is none."""
    chosen: list[ShownWalk | None] = []
    for rewards, moves in zip(found.rewards, found.moves, strict=True):
        flat = rewards.reshape(-1, rewards.shape[-1])
        best = int((flat @ rng.dirichlet(np.ones(flat.shape[1]))).argmax())
        walked = moves[best]
        chosen.append(None if walked is None else ShownWalk(moves=walked, rewards=flat[best]))
    return chosen


def advantages_of(found: Experience, settings: Reinforcement, rng: Rng) -> Floats:
    """An advantage for each chain (chains,), or for each of its tokens (chains, length), in the order of the rollouts.

    A method that credits answers gives each answer's tokens its own advantage. The other tokens get the chain's.

    A shown parent earns nothing. If it counted with every set, most sets of a prompt would have the same value. Their
    small differences would be noise when normalised, and training would stop improving.
    """
    method, options = method_of(settings.method), Options(k=settings.k)
    preferences: Sequence[Floats | None] = found.goals or [None] * len(found.rewards)
    groups = [
        RolloutGroup.of(
            list(rewards),
            weights=draw_weights(rewards.shape[-1], rng, settings.draws, settings.alpha),
            preference=preference,
        )
        for rewards, preference in zip(found.rewards, preferences, strict=True)
    ]
    chains = np.concatenate(method.estimator(groups, options))
    if method.credit is None:
        return chains
    answers = [credit for group in method.credit(groups, options) for credit in group]
    spread = np.repeat(chains[:, None], found.rollouts.replies.ids.shape[1], axis=1)
    for row, (ids, credit) in enumerate(zip(found.rollouts.written, answers, strict=True)):
        for answer, start, end in answer_places(ids, settings.m):
            spread[row, start:end] = credit[answer]
    return spread


def policy_loss(weights: Weights, shape: Shape, found: Experience, advantages: Floats) -> "Tensor":
    """REINFORCE: minus the mean over all tokens written of an advantage times the token's log-probability.

    Args:
        weights: of the policy.
        shape: of the model.
        found: the rollouts.
        advantages: (chains,) or (chains, length).
    """
    replies = found.rollouts.replies
    losses = reply_losses(weights, shape, found.prompts, replies)
    worth = torch.as_tensor(advantages, dtype=losses.dtype, device=losses.device)
    return (losses * (worth if worth.dim() == 2 else worth[:, None])).sum() / replies.lengths.sum()


def figures_of(found: Experience) -> dict[str, float]:
    """The journal's figures of a step: mean and best scalar, set reward of a chain, diversity, entropy, share cut."""
    answers = [rewards.reshape(-1, rewards.shape[-1]) for rewards in found.rewards]
    even = measures.weights()
    return {
        "mean": float(np.mean([rewards.mean() for rewards in answers])),
        "best": float(np.mean([rewards.mean(axis=1).max() for rewards in answers])),
        "set": float(np.mean([expected_max(chain, even) for rewards in found.rewards for chain in rewards])),
        "diversity": float(np.mean([mean_pairwise_l2(rewards) for rewards in answers])),
        "entropy": found.rollouts.entropy,
        "cut": float(np.mean(found.rollouts.cut)),
        "missing": float(np.mean([answer is None for moves in found.moves for answer in moves])),
        "tokens": float(found.rollouts.replies.lengths.sum()),
    }
