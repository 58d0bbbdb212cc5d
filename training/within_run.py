"""Updates of a maze policy within a run: on answers that the run already has, near to the policy that it began with.

`python -m training.within_run FOLDER` makes one. The folder holds `records.jsonl`, the run's training records so far,
and `update.json`, the settings and the folders of the models. The new model is written to `FOLDER/model`.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from evolve.multiobjective.scalarization import Floats
from evolve.vpo import Options, RolloutGroup, method_of
from service.policy.bundled.model import Model, load_model
from training.batches import PaddedBatch
from training.errors import TrainingError
from training.export import export, read_model
from training.llama import Weights, reply_losses

if TYPE_CHECKING:
    from torch import Tensor

    from training.recipe import Shape

METHODS: Mapping[str, str] = {"entropic": "entropic", "pkpo": "max_at_k"}
RECORDS, UPDATE, MODEL = "records.jsonl", "update.json", "model"
REPLAYED = 8  # replies of the archive
_MINIBATCH = 4  # prompts of a gradient step
_PASSES = 2  # over the batch
_CLIP = 0.2  # of the ratio of probabilities, as in PPO
_MAX_NORM = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSettings:
    """How a policy is updated.

    Attributes:
        objective: `entropic` (TTT-Discover) or `pkpo` (the best of k).
        k: of `pkpo`. Groups with fewer replies take the best of all.
        rate: learning rate.
        divergence: weight of the penalty for distance to the policy that the run began with, in nats a token.
        replay: weight of the best replies of the run so far, which are imitated in proportion to their fitness.
    """

    objective: str = "entropic"
    k: int = 8
    rate: float = 1e-4
    divergence: float = 0.0
    replay: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnsweredPrompt:
    """A prompt and its replies, as tokens.

    Attributes:
        rewards: a matrix (answers, objectives) for each reply. An answer that is missing, invalid or a duplicate has
            zeros.
        fitness: of the best new answer of each reply. None: it has none.
    """

    ids: Sequence[int]
    replies: Sequence[Sequence[int]]
    rewards: Sequence[Floats]
    fitness: Sequence[float | None]


def update(
    weights: Weights,
    start: Weights,
    shape: "Shape",
    batch: Sequence[AnsweredPrompt],
    archive: Sequence[AnsweredPrompt],
    settings: UpdateSettings,
) -> tuple[Weights, dict[str, float]]:
    """Update a policy on a batch of a run.

    Replies that other versions of the policy wrote count as if the present one wrote them. The clipped ratio bounds
    each pass.

    Args:
        weights: of the newest version.
        start: of the policy that the run began with.
        shape: of both.
        batch: prompts that were answered since the last update.
        archive: all prompts of the run, for replay.
        settings: of the update.

    Returns:
        The new weights, and figures.

    Raises:
        TrainingError: the batch teaches nothing, or the weights diverge.
    """
    taught = list(_taught(batch, settings))
    if not taught:
        raise TrainingError("all replies to each prompt of the batch are worth the same: nothing can be learnt")
    own = {name: weight.detach().clone().requires_grad_() for name, weight in weights.items()}
    optimizer = torch.optim.Adam(own.values(), lr=settings.rate)
    best = _best(archive) if settings.replay else None
    rng = np.random.default_rng([settings.seed, len(archive)])
    order = rng.permutation(len(taught))
    places = np.array_split(order, math.ceil(len(order) / _MINIBATCH))
    minibatches = [_Minibatch.of([taught[place] for place in some]) for some in places]
    with torch.no_grad():
        before = [(each.losses(weights, shape), each.losses(start, shape)) for each in minibatches]
    moved: list[float] = []
    for _ in range(_PASSES):
        moved.clear()
        for minibatch, (old, first) in zip(minibatches, before, strict=True):
            optimizer.zero_grad()
            loss, distance = _loss(minibatch.losses(own, shape), old, first, minibatch, settings.divergence)
            moved.append(distance)
            if best is not None:
                loss = loss + settings.replay * (best.losses(own, shape) * best.share).sum()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(own.values(), _MAX_NORM)
            optimizer.step()
    if not all(bool(torch.isfinite(weight).all()) for weight in own.values()):
        raise TrainingError("the weights diverged: set a lower learning.rate")
    return own, {**_figures(batch), "divergence": float(np.mean(moved))}


def _figures(batch: Sequence[AnsweredPrompt]) -> dict[str, float]:
    """Prompts and replies of a batch, the share of replies with a new valid answer, and the mean fitness of these."""
    scored = [value for prompt in batch for value in prompt.fitness if value is not None]
    replies = sum(len(prompt.replies) for prompt in batch)
    mean = float(np.mean(scored)) if scored else 0.0
    return {"prompts": float(len(batch)), "replies": float(replies), "new": len(scored) / replies, "mean": mean}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Taught:
    """Replies to a prompt, each with a worth."""

    ids: Sequence[int]
    replies: Sequence[Sequence[int]]
    worth: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Minibatch:
    """Replies to several prompts as tensors. Prompts with fewer replies have further rows, which count nothing.

    Attributes:
        worth: (rows, 1).
        share: (rows, length), what each token counts. Sums to 1.
    """

    prompts: PaddedBatch
    replies: PaddedBatch
    worth: "Tensor"
    share: "Tensor"

    @classmethod
    def of(cls, taught: Sequence[_Taught], weights: Floats | None = None) -> "_Minibatch":
        """Lay out replies. Each token counts the same, or each reply with its weight."""
        most = max(len(one.replies) for one in taught)
        rows = [[*one.replies, *[one.replies[0]] * (most - len(one.replies))] for one in taught]
        worth = [[*one.worth, *[0.0] * (most - len(one.replies))] for one in taught]
        counted = [[1.0] * len(one.replies) + [0.0] * (most - len(one.replies)) for one in taught]
        replies = PaddedBatch.of([row for some in rows for row in some])
        share = replies.mask * torch.tensor(counted).reshape(-1, 1)
        if weights is None:
            share = share / share.sum()
        else:
            share = share / replies.lengths[:, None] * torch.from_numpy(weights.astype(np.float32))[:, None]
        prompts = PaddedBatch.of([one.ids for one in taught])
        return cls(prompts=prompts, replies=replies, worth=torch.tensor(worth).reshape(-1, 1), share=share)

    def losses(self, weights: Weights, shape: "Shape") -> "Tensor":
        """Negative log-probability of each token: (rows, length)."""
        return reply_losses(weights, shape, self.prompts, self.replies)


def _taught(batch: Sequence[AnsweredPrompt], settings: UpdateSettings) -> Iterator[_Taught]:
    """The prompts whose replies differ in worth, with advantages of unit spread."""
    estimator = method_of(METHODS[settings.objective]).estimator
    for prompt in batch:
        options = Options(k=min(settings.k, len(prompt.replies))) if settings.objective == "pkpo" else Options()
        (advantages,) = estimator([RolloutGroup.of(list(prompt.rewards))], options)
        if np.any(advantages):
            yield _Taught(ids=prompt.ids, replies=prompt.replies, worth=advantages / np.std(advantages))


def _loss(
    losses: "Tensor", old: "Tensor", start: "Tensor", minibatch: _Minibatch, divergence: float
) -> "tuple[Tensor, float]":
    """The clipped loss with the penalty, and the distance to the start in nats a token."""
    ratio = torch.exp(old - losses)
    gained = torch.minimum(ratio * minibatch.worth, ratio.clamp(1 - _CLIP, 1 + _CLIP) * minibatch.worth)
    # Half the square of the difference in log-probability: its gradient is that of the divergence where the policy
    # wrote the tokens, and it stays small where another version wrote what the policy would not.
    distance = ((losses - start) ** 2 / 2 * minibatch.share).sum()
    return divergence * distance - (gained * minibatch.share).sum(), float(distance.detach())


def _best(archive: Sequence[AnsweredPrompt]) -> _Minibatch | None:
    """The best replies of the run, each with a weight: a softmax over their spread in fitness. None: there is none."""
    found = [
        (fitness, place, prompt.ids, reply)
        for place, prompt in enumerate(archive)
        for reply, fitness in zip(prompt.replies, prompt.fitness, strict=True)
        if fitness is not None
    ]
    kept = sorted(found, key=lambda one: (-one[0], one[1]))[:REPLAYED]
    if not kept:
        return None
    values = np.array([one[0] for one in kept])
    raised = np.exp((values - values.max()) / max(float(values.std()), 1e-6))
    taught = [_Taught(ids=ids, replies=[reply], worth=np.ones(1)) for _, _, ids, reply in kept]
    return _Minibatch.of(taught, raised / raised.sum())


def read_prompts_of(lines: Sequence[str], model: Model) -> list[tuple[int, AnsweredPrompt]]:
    """Training records as tokens, with the numbers of their proposals. Records of other policies' prompts are left out.

    Raises:
        TrainingError: a line is not a training record.
    """
    found = []
    for line in lines:
        try:
            record = json.loads(line)
            if record["messages"] and record["completions"]:
                found.append((int(record["number"]), _prompt(record, model)))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise TrainingError(f"a line of {RECORDS} is not a training record: {error}") from error
    return found


def _prompt(record: Mapping[str, Any], model: Model) -> AnsweredPrompt:
    ids = model.vocabulary.encode(model.render(record["messages"]))
    m, width = int(record["asked"]["answers"] or 1), len(record["objectives"])
    rewards = [np.zeros((m, width)) for _ in record["completions"]]
    fitness: list[float | None] = [None] * len(rewards)
    for answer in record["answers"]:
        reply, place = divmod(int(answer["position"]), m)
        if answer["rewards"] and not answer["duplicate_of"] and reply < len(rewards):
            rewards[reply][place] = np.maximum(answer["rewards"], 0.0)
            value = float(answer["fitness"])
            fitness[reply] = value if fitness[reply] is None else max(value, fitness[reply] or value)
    end = min(model.ends)
    replies = [
        [*model.vocabulary.encode(text), *([] if reason == "length" else [end])]
        for text, reason in zip(record["completions"], record["finish_reasons"], strict=True)
    ]
    kept = [place for place, reply in enumerate(replies) if reply]
    return AnsweredPrompt(
        ids=ids,
        replies=[replies[place] for place in kept],
        rewards=[rewards[place] for place in kept],
        fitness=[fitness[place] for place in kept],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the update that a folder asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        _update_folder(options.folder)
    except TrainingError as error:
        sys.exit(str(error))


def _update_folder(folder: Path) -> None:
    asked = json.loads((folder / UPDATE).read_text(encoding="utf-8"))
    settings = UpdateSettings(**asked["settings"])
    newest, first = Path(asked["newest"]), Path(asked["start"])
    weights, shape = read_model(newest)
    start, _ = read_model(first)
    lines = (folder / RECORDS).read_text(encoding="utf-8").splitlines()
    read = read_prompts_of(lines, load_model(newest))
    batch = [prompt for number, prompt in read if number > asked["after"]]
    found, figures = update(weights, start, shape, batch, [prompt for _, prompt in read], settings)
    export(found, shape, folder / MODEL, m=int(asked["answers"]), card=asked["card"])
    told = {"kind": "training.step", "stage": "update", "step": 1, "steps": 1, **figures}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
