"""Trains a policy from scratch to its model folder, for `evolve train maze`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from training.card import card
from training.evaluation import evaluate
from training.llama import Weights
from training.maze import REINFORCE, Report, RunFolder, base_of, keep_model, recipe_on, reinforce, warm_start
from training.plots import draw_training
from training.recipe import Recipe
from training.training_log import TrainingLog

if TYPE_CHECKING:
    from evolve.domains.maze import Maze

BASE = "base"
VALIDATED = 100
ANSWERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """The settings of a training.

    Attributes:
        method: an estimator of `evolve.vpo`, or `base` for the warm start alone.
        base: model folder to start from instead of random weights.
        warm: whether there is a warm start, also from a base.
        command: the user's command, for the model card.
        mazes: those to reinforce on. Empty: the training split's.
        validated: number of validation mazes for the figures on the card.
    """

    recipe: Recipe
    method: str
    base: Path | None
    command: str
    mazes: "tuple[Maze, ...]" = ()
    validated: int = VALIDATED
    warm: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedPolicy:
    """A trained policy: its model folder, and its figures by kind of maze."""

    folder: Path
    figures: Mapping[str, Mapping[str, float]]


def train_policy(wanted: TrainingRequest, place: RunFolder, report: Report) -> TrainedPolicy:
    """Train, or continue an interrupted training, and write the model folders of the base and the policy.

    Raises:
        TrainingError: the base cannot be read, the folder belongs to another recipe, or the result is not a valid
            model.
        ConfigurationError: the base does not know chains of the wanted length.
    """
    warm = wanted.warm or wanted.base is None
    if wanted.base is not None:
        wanted = replace(wanted, recipe=recipe_on(wanted.base, wanted.recipe, teach=warm))
    recipe = wanted.recipe
    start = None if wanted.base is None else base_of(wanted.base, recipe)
    base = warm_start(recipe, place, report, start) if start is None or warm else start
    if wanted.method == BASE:
        return _keep(base, wanted, place)
    if warm:
        _keep(base, wanted, place, BASE)
    trained = _keep(reinforce(recipe, base, place, report, wanted.mazes), wanted, place)
    lines = [line for line in TrainingLog(place.folder / "journal.jsonl").lines() if line["stage"] == REINFORCE]
    draw_training(lines, f"{wanted.method}, seed {recipe.seed}", place.folder / "training.svg")
    return trained


def _keep(weights: Weights, wanted: TrainingRequest, place: RunFolder, method: str = "") -> TrainedPolicy:
    method = method or wanted.method
    recipe = wanted.recipe
    # Measured as they are stored.
    resting = {name: weight.detach().to(place.device, torch.float16).float() for name, weight in weights.items()}
    m, goals = recipe.reinforcement.m, method != BASE and recipe.reinforcement.goals
    figures = {
        kind: evaluate(resting, recipe.shape, kind=kind, m=m, count=wanted.validated, answers=ANSWERS, goals=goals)
        for kind in recipe.kinds
    }
    folder = place.folder / method
    text = card(
        name=f"maze-{method}",
        method=method,
        command=wanted.command,
        weights=sum(weight.numel() for weight in resting.values()),
        recipe=recipe,
        figures=figures,
        mazes=wanted.validated,
        answers=ANSWERS,
    )
    keep_model(weights, recipe, folder, text, goals=goals)
    return TrainedPolicy(folder=folder, figures=figures)
