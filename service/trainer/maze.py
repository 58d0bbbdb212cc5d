"""The back end of small maze policies: `evolve train maze` in a process of its own, on a processor."""

import hashlib
import json
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from evolve.domains import open_domain
from evolve.domains.maze import Maze, read, render
from evolve.errors import ProblemError
from evolve.statistics.answer_sets import best_at_k
from service.errors import UsageError
from service.policy_settings.shipped import DEFAULTS_FILE, read_defaults
from service.ports import HeldOutValues, TrainingStep
from service.ports.training_backends import UPDATE, TrainingTask
from service.trainer.backend_process import read_step, run_evaluation
from service.trainer.held_out_mazes import (
    DEFAULT_KINDS,
    describe_held_out,
    held_out_kinds,
    held_out_mazes,
    maze_name,
)

K = 16
ANSWERS = 32  # to a held-out maze
CHAIN = 4  # answers of a chain, if a model does not say
SEED = 7
_NUMBERS = ("k", "steps", "warm_steps", "seed", "alpha")
_CHECKPOINT = re.compile(r"(warm-start|reinforce)-(\d+)\.pt")
_EVOLVE = (sys.executable, "-m", "service.cli.main")


class MazeBackend:
    """Trains walkers through mazes. With runs, it reinforces on the mazes of their problems.

    Args:
        threads: of the processor. 0: all.
        save_every: steps between two checkpoints.
    """

    needs: Collection[str] = ()  # the texts of its problems come with the request

    def __init__(self, *, threads: int = 0, save_every: int = 50) -> None:
        self._threads, self._save_every = threads, save_every

    def missing(self) -> str:
        """Torch, if it is not installed."""
        if find_spec("torch") is not None:
            return ""
        return "torch is not installed: install the extra training, as docs/how-to/train-a-policy.md says"

    def check(self, request: Mapping[str, Any]) -> None:
        """Refuse what this back end does not have.

        Raises:
            UsageError: the request names a model or hyperparameters.
        """
        for name in ("model", "served", "hyperparameters"):
            if request.get(name):
                raise UsageError(f"the back end maze has no {name}: leave it out, or name the back end trl")
        if request.get("test_runs"):
            raise UsageError("the back end maze has held-out mazes of its own: leave test_runs out")

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        """`evolve train maze`, with the mazes of the runs if there are any.

        Raises:
            UsageError: none of the runs is of a maze, or there are no mazes to evaluate the version on.
        """
        request = job.request
        if UPDATE in request:
            _refuse_without_torch()
            return [sys.executable, "-m", "training.within_run", str(folder), "--threads", str(self._threads)]
        held_out_kinds(request, self._learnt(job))
        words = [*_EVOLVE, "train", "maze", "-o", str(folder / "training"), "--json", "--method", self._method(job)]
        words += ["--validated", "20", "--threads", str(self._threads), "--save-every", str(self._save_every)]
        for name in _NUMBERS:
            if request.get(name) is not None and (name != "warm_steps" or base is None):
                words += [f"--{name.replace('_', '-')}", str(request[name])]
        if request.get("kinds"):
            words += ["--kinds", ",".join(request["kinds"])]
        if base is not None:
            words += ["--base", str(base)]
        if job.runs:
            found = [render(maze) for maze in self._learnt(job)]
            if not found:
                raise UsageError("none of the runs is of a maze: the back end maze learns from those")
            path = folder / "mazes.jsonl"
            path.write_text("".join(json.dumps({"maze": text}) + "\n" for text in found), encoding="utf-8")
            words += ["--mazes", str(path)]
        return words

    def read(self, line: str) -> TrainingStep | None:
        """A step from a line of `--json`."""
        return read_step(line)

    def checkpoint(self, folder: Path) -> Mapping[str, Any]:
        """The newest checkpoint file."""
        found = [
            (name[1] == "reinforce", int(name[2]), name[1])
            for path in (folder / "training" / "checkpoints").glob("*.pt")
            if (name := _CHECKPOINT.fullmatch(path.name))
        ]
        return {"stage": max(found)[2], "step": max(found)[1]} if found else {}

    def model(self, job: TrainingTask, folder: Path) -> Path:
        """The model folder that is named as the method, or that of an update."""
        if UPDATE in job.request:
            return folder / "model"
        return folder / "training" / self._method(job)

    def training(self, job: TrainingTask, _folder: Path) -> Mapping[str, Any]:
        """The method, its settings, the mazes, and those of the evaluation."""
        kinds, learnt = job.request.get("kinds") or DEFAULT_KINDS, self._learnt(job)
        if (update := job.request.get(UPDATE)) is not None:
            problems = [maze_name(render(maze)) for maze in learnt]
            return {"method": self._method(job), "problems": problems, UPDATE: update["number"], **update["settings"]}
        problems = [maze_name(render(maze)) for maze in learnt] or [f"maze {kind}/train" for kind in kinds]
        numbers = {name: job.request[name] for name in _NUMBERS if job.request.get(name) is not None}
        told = describe_held_out(held_out_kinds(job.request, learnt), _tested(job))
        return {"method": self._method(job), **numbers, "kinds": list(kinds), "problems": problems, "held_out": told}

    def evaluate(self, job: TrainingTask, model: Path, seen: Collection[str], stopped: Event) -> HeldOutValues:
        """The expected best of 16 answers to the first mazes of the test split, of the kinds that the job is about."""
        asked = held_out_mazes(held_out_kinds(job.request, self._learnt(job)), _tested(job), seen)
        texts = [render(maze) for maze in asked]
        content = "".join(json.dumps({"maze": text}) + "\n" for text in texts)
        # Which mazes these are may have changed when an evaluation is repeated.
        output = model.parent / f"evaluation-{model.name}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
        output.mkdir(exist_ok=True)
        questions = output / "mazes.jsonl"
        questions.write_text(content, encoding="utf-8")
        words = [*_EVOLVE, "train", "evaluate", "maze", "--policy", f"bundled:{model}", "-o", str(output), "--json"]
        m = _chain(model)
        words += ["--data", str(questions), "--chains", str(ANSWERS // m), "--answers", str(m), "--temperature", "1"]
        run_evaluation(words, stopped)
        domain, values = open_domain("maze"), {}
        for line in (output / "answers.jsonl").read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            scalars = [domain.scalar(np.asarray(row)) for chain in told["rewards"] for row in chain]
            missing = ANSWERS // m * m - len(scalars)  # of chains that ended early: they are worth nothing
            values[told["question"]] = float(best_at_k(scalars + [0.0] * missing, K))
        return HeldOutValues(
            metric=f"best@{K}",
            problems=[maze_name(text) for text in texts],
            values=[values[place] for place in range(len(texts))],
        )

    @staticmethod
    def _method(job: TrainingTask) -> str:
        return str(job.request.get("method") or "vpo_marginal")

    @staticmethod
    def _learnt(job: TrainingTask) -> list[Maze]:
        """The mazes of the problems of the runs, each once."""
        found: dict[str, Maze] = {}
        for text in job.request.get("texts", ()):
            try:
                maze = read(text)
            except ProblemError:
                continue
            found[render(maze)] = maze
        return list(found.values())


def _refuse_without_torch() -> None:
    """Refuse a training without torch.

    Raises:
        UsageError: it is not installed.
    """
    if find_spec("torch") is None:
        raise UsageError("the trainer has no torch: install evolve-search[training] for it")


def _chain(model: Path) -> int:
    """How many answers a run asks a model for at once."""
    path = model / DEFAULTS_FILE
    return int(read_defaults(path.read_bytes(), path).get("answers", CHAIN)) if path.is_file() else CHAIN


def _tested(job: TrainingTask) -> int:
    return int(job.request.get("test_problems") or 0)
