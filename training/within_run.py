"""Updates of a maze policy within a run: on answers that the run already has, near to the policy that it began with.

`python -m training.within_run FOLDER` makes one. The folder holds `records.jsonl`, the run's training records so far,
and `update.json`, the settings and the folders of the models. The new model is written to `FOLDER/model`.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from evolve.multiobjective.scalarization import Floats
from service.policy.bundled.model import Model, load_model
from training.answered_prompts import (
    MAX_NORM,
    PASSES,
    AnsweredPrompt,
    BestReply,
    Encode,
    Message,
    TaughtPrompt,
    UpdateSettings,
    batch_figures,
    best_replies,
    minibatches_of,
    policy_loss,
    read_prompts,
    taught_prompts,
)
from training.batches import PaddedBatch
from training.errors import TrainingError
from training.export import export, read_model
from training.llama import Weights, reply_losses

if TYPE_CHECKING:
    from torch import Tensor

    from training.recipe import Shape

RECORDS, UPDATE, MODEL = "records.jsonl", "update.json", "model"


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
    taught = taught_prompts(batch, settings)
    own = {name: weight.detach().clone().requires_grad_() for name, weight in weights.items()}
    optimizer = torch.optim.Adam(own.values(), lr=settings.rate)
    best = _imitated(best_replies(archive)) if settings.replay else None
    minibatches = [_Minibatch.of(some) for some in minibatches_of(taught, settings.seed, len(archive))]
    with torch.no_grad():
        before = [(each.losses(weights, shape), each.losses(start, shape)) for each in minibatches]
    moved: list[float] = []
    for _ in range(PASSES):
        moved.clear()
        for minibatch, (old, first) in zip(minibatches, before, strict=True):
            optimizer.zero_grad()
            losses = minibatch.losses(own, shape)
            loss, distance = policy_loss(losses, old, first, minibatch.worth, minibatch.share, settings.divergence)
            moved.append(distance)
            if best is not None:
                loss = loss + settings.replay * (best.losses(own, shape) * best.share).sum()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(own.values(), MAX_NORM)
            optimizer.step()
    if not all(bool(torch.isfinite(weight).all()) for weight in own.values()):
        raise TrainingError("the weights diverged: set a lower learning.rate")
    return own, {**batch_figures(batch), "divergence": float(np.mean(moved))}


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
    def of(cls, taught: Sequence[TaughtPrompt], weights: Floats | None = None) -> "_Minibatch":
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


def _imitated(best: Sequence[BestReply]) -> _Minibatch | None:
    """The best replies of the run, laid out. None: there is none."""
    if not best:
        return None
    taught = [TaughtPrompt(ids=one.ids, replies=[one.reply], worth=np.ones(1)) for one in best]
    return _Minibatch.of(taught, np.array([one.weight for one in best]))


def encoder(model: Model) -> Encode:
    """Gives the tokens of a maze policy."""
    end = min(model.ends)

    def encode(
        messages: Sequence[Message], replies: Sequence[tuple[str, bool]]
    ) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
        ids = model.vocabulary.encode(model.render(messages))
        return ids, [[*model.vocabulary.encode(text), *([end] if whole else [])] for text, whole in replies]

    return encode


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
    read = read_prompts(lines, encoder(load_model(newest)))
    batch = [prompt for number, prompt in read if number > asked["after"]]
    found, figures = update(weights, start, shape, batch, [prompt for _, prompt in read], settings)
    export(found, shape, folder / MODEL, m=int(asked["answers"]), card=asked["card"])
    told = {"kind": "training.step", "stage": "update", "step": 1, "steps": 1, **figures}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
