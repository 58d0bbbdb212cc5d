"""Trains a maze policy: a warm start, then reinforcement learning, with checkpoints, a journal and pictures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from evolve.domains.maze import render
from training.batches import GivenMazes, MazePool
from training.checkpoints import Checkpoint, Checkpoints
from training.errors import ModelError, OtherRecipeError, TrainingError
from training.export import export, read_model, taught_chains
from training.llama import Weights, digest, initial
from training.recipe import Recipe
from training.reinforce import advantages_of, choose_parents, draw_goals, experience, figures_of, policy_loss
from training.training_log import TrainingLog
from training.warm_start import imitation_loss, lesson, rate_at

if TYPE_CHECKING:
    from torch import Tensor

    from evolve.domains.maze import Maze
    from training.reinforce import Experience, ShownWalk

WARM_START, REINFORCE = "warm-start", "reinforce"
_WARM, _REINFORCED, _DRAWN = 1, 2, 3  # which random streams a stage draws from


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingProgress:
    """A finished step: `step` of `steps` in a stage, and its figures."""

    stage: str
    step: int
    steps: int
    figures: Mapping[str, float]


Report = Callable[[TrainingProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """The folder of a run.

    Attributes:
        save_every: steps between two checkpoints.
        warn: gets unreadable checkpoints.
    """

    folder: Path
    device: str = "cpu"
    save_every: int = 50
    warn: Callable[[str], None] = print


def warm_start(recipe: Recipe, place: RunFolder, report: Report, base: Weights | None = None) -> Weights:
    """Imitate the demonstrator. It continues from the newest checkpoint, if there is one.

    Args:
        recipe: of the training.
        place: where checkpoints are.
        report: hears of every step.
        base: weights to start from. None: random ones.
    """
    settings = recipe.warm_start

    def begin() -> Weights:
        if base is None:
            return initial(recipe.shape, torch.Generator().manual_seed(recipe.seed), place.device)
        return {name: weight.detach().clone() for name, weight in base.items()}

    run = _Run(recipe, place, WARM_START, begin, base="" if base is None else digest(base))
    pool = MazePool(recipe.pool)
    for step in run.steps(settings.steps, settings.rate, decay=settings.decay):
        run.rate(rate_at(step, settings.steps, settings.rate))
        kind = recipe.kinds[step % len(recipe.kinds)]
        taught = lesson(pool, kind, settings, np.random.default_rng([recipe.seed, _WARM, step]), place.device)
        with _half(place.device):
            loss = imitation_loss(run.weights, recipe.shape, taught)
        run.update(loss, clip=1.0)
        run.done(step, settings.steps, {"loss": loss.item()}, report)
    return run.weights


def reinforce(recipe: Recipe, base: Weights, place: RunFolder, report: Report, mazes: "Sequence[Maze]" = ()) -> Weights:
    """Reinforce a policy. It continues from the newest checkpoint, if there is one.

    Args:
        recipe: of the training.
        base: weights to start from.
        place: where checkpoints are.
        report: hears of every step.
        mazes: those to train on, in place of the training split's.
    """
    settings = recipe.reinforcement
    begun = {name: weight.detach().clone() for name, weight in base.items()}
    run = _Run(recipe, place, REINFORCE, lambda: begun, base=digest(begun) + _named(mazes))
    pool = GivenMazes(mazes) if mazes else MazePool(recipe.pool)
    turns = _turns(recipe)
    before: Experience | None = None
    asked: list[Maze] = []
    for step in run.steps(settings.steps, settings.rate, decay=0.0):
        run.rate(settings.rate * (1 - step / settings.steps))
        turn = turns[step % len(turns)]
        if not turn.shown or before is None:
            drawn = np.random.default_rng([recipe.seed, _DRAWN, step])
            asked = [field.maze for field in pool.draw(turn.kind, settings.mazes, drawn)]
            before = None
        rng = np.random.default_rng([recipe.seed, _REINFORCED, step])
        shown: list[ShownWalk | None] = [None] * len(asked) if before is None else choose_parents(before, rng)
        goals = draw_goals(len(asked), settings.alpha, rng) if settings.goals else ()
        with _half(place.device), torch.no_grad():
            generator = _generator(recipe.seed, _REINFORCED, step, place.device)
            found = experience(run.weights, recipe.shape, settings, asked, shown, generator, goals)
        advantages = advantages_of(found, settings, rng)
        with _half(place.device):
            loss = policy_loss(run.weights, recipe.shape, found, advantages)
        run.update(loss, settings.clip)
        before = found
        figures = {**figures_of(found), "kind_index": float(recipe.kinds.index(turn.kind)), "shown": float(turn.shown)}
        run.done(step, settings.steps, figures, report, whole=not turns[(step + 1) % len(turns)].shown)
    return run.weights


def _named(mazes: "Sequence[Maze]") -> str:
    """Which mazes these are, in a word. Empty: none."""
    return f" on {sha256(chr(10).join(map(render, mazes)).encode()).hexdigest()[:16]}" if mazes else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A step: the kind of its mazes, and whether it shows parents out of the step before, on the same mazes."""

    kind: str
    shown: bool


def _turns(recipe: Recipe) -> list[_Turn]:
    turns = []
    for kind in recipe.kinds:
        turns.append(_Turn(kind=kind, shown=False))
        turns += [_Turn(kind=kind, shown=True)] if kind in recipe.reinforcement.parents else []
    return turns


def keep_model(weights: Weights, recipe: Recipe, folder: Path, card: str, *, goals: bool = False) -> None:
    """Write the model folder of a policy, of one that reads weights of the objectives with `goals`."""
    taught = sorted(set(recipe.warm_start.taught))
    export(weights, recipe.shape, folder, m=recipe.reinforcement.m, card=card, goals=goals, taught=taught)


def base_of(folder: Path, recipe: Recipe) -> Weights:
    """A model folder to start from.

    Raises:
        ModelError: it cannot be read, or is of another shape than the recipe's.
    """
    weights, shape = read_model(folder)
    if shape != recipe.shape:
        raise ModelError(f"the model in {folder} has another shape than this recipe: {shape} and {recipe.shape}")
    return weights


def recipe_on(folder: Path, recipe: Recipe, *, teach: bool = False) -> Recipe:
    """The recipe of a training that starts from a model folder, with the lengths of chains that its policy knows.

    Args:
        teach: its warm start is continued, so the policy will also know those of the recipe. Lengths that are new to
            it get half of the updates.

    Raises:
        ModelError: the folder cannot be read.
        ConfigurationError: the policy does not know chains as long as those to reinforce.
    """
    known = taught_chains(folder)
    new = tuple(length for length in recipe.warm_start.taught if teach and length not in known)
    taught = (*known * max(1, len(new)), *new * len(known))
    return replace(recipe, warm_start=replace(recipe.warm_start, taught=taught))


class _Run:
    """Weights and optimizer of a stage, with the record of its steps."""

    def __init__(
        self, recipe: Recipe, place: RunFolder, stage: str, begin: Callable[[], Weights], *, base: str = ""
    ) -> None:
        self._recipe: dict[str, Any] = asdict(recipe) | {"base": base}
        self._place, self._stage = place, stage
        place.folder.mkdir(parents=True, exist_ok=True)
        self._checkpoints = Checkpoints(place.folder / "checkpoints")
        self._journal = TrainingLog(place.folder / "journal.jsonl")
        found = self._checkpoints.newest(stage, place.warn)
        if found is not None and found.recipe != self._recipe:
            raise OtherRecipeError(
                f"{place.folder} holds the checkpoints of another recipe or base: name another folder, or remove it"
            )
        started = begin() if found is None else found.weights
        self.weights = {name: weight.to(place.device).requires_grad_() for name, weight in started.items()}
        self._found = found
        self._due = False
        self._journal.go_on(stage, found.step if found else 0)

    def steps(self, count: int, rate: float, *, decay: float) -> Iterator[int]:
        """Numbers of the steps still to do."""
        self._optimizer = torch.optim.AdamW(self.weights.values(), lr=rate, betas=(0.9, 0.98), weight_decay=decay)
        if self._found is not None:
            self._optimizer.load_state_dict(self._found.optimizer)
        yield from range(self._found.step if self._found else 0, count)

    def rate(self, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def update(self, loss: "Tensor", clip: float) -> None:
        self._optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.weights.values(), clip)
        if not bool(torch.isfinite(norm)):
            raise TrainingError(f"the {self._stage} has an infinite loss: use another seed")
        self._optimizer.step()

    def done(self, step: int, steps: int, figures: Mapping[str, float], report: Report, *, whole: bool = True) -> None:
        """Store the figures of a step. A checkpoint is made where the next step needs nothing from this step."""
        finished = step + 1
        self._journal.add(self._stage, finished, figures)
        self._due = self._due or finished % self._place.save_every == 0
        if (self._due and whole) or finished == steps:
            self._due = False
            self._checkpoints.save(
                Checkpoint(
                    stage=self._stage,
                    step=finished,
                    recipe=self._recipe,
                    weights={name: weight.detach().cpu() for name, weight in self.weights.items()},
                    optimizer=self._optimizer.state_dict(),
                )
            )
        report(TrainingProgress(stage=self._stage, step=finished, steps=steps, figures=figures))


def _generator(seed: int, stage: int, step: int, device: str = "cpu") -> torch.Generator:
    mixed = int(np.random.SeedSequence([seed, stage, step]).generate_state(1, np.uint64)[0] >> 1)
    return torch.Generator(device).manual_seed(mixed)


def _half(device: str) -> Any:
    """Matrix products in bfloat16: half the time on processors that have them, and on accelerators."""
    return torch.autocast(device.partition(":")[0], dtype=torch.bfloat16)
