"""The back end of LoRA adapters: TRL trains a model that the user brings, in a process of its own."""

import hashlib
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from evolve.statistics.intervals import enough_pairs
from evolve.vpo import METHODS
from service.errors import UsageError
from service.policy_settings.shipped import ADAPTER_DEFAULTS, DEFAULTS_FILE, read_defaults
from service.ports.training_backends import (
    CANDIDATES,
    PROBLEM,
    RECORDS,
    RECORDS_FILE,
    UPDATE,
    UPDATE_FILE,
    HeldOutValues,
    RunData,
    TrainingStep,
    TrainingTask,
    held_out_data,
    held_out_runs,
    run_data,
)
from service.trainer.backend_process import read_step, run_evaluation
from service.trainer.held_out_parents import (
    RecordedParents,
    parent_name,
    problem_name,
    prompts_of,
    split_parents,
    write_asked,
    write_trained,
)

SFT = "sft"
STEPS = {SFT: 60}
REINFORCE_STEPS = 100
METRIC = "set reward"
MAX_TOKENS, SFT_COMPLETION_TOKENS = 2048, 1024
_CONFIG = "adapter_config.json"
_PACKAGES = ("torch", "transformers", "trl", "peft", "datasets")
# Lowest and highest value of each hyperparameter, and whether it is a whole number.
_BOUNDS: Mapping[str, tuple[float, float, bool]] = {
    "answers": (1, 16, True),
    "batch": (1, 1024, True),
    "completion_tokens": (1, 1 << 20, True),
    "completions": (1, 1024, True),
    "divergence": (0, 100, False),
    "group": (2, 1024, True),
    "max_tokens": (1, 1 << 20, True),
    "prompts": (1, 1024, True),
    "rank": (1, 512, True),
    "rate": (1e-12, 1, False),
    "reward_temperature": (1e-3, 1e3, False),
    "temperature": (1e-3, 10, False),
}
_ONLY_SFT = ("answers", "batch", "reward_temperature")
_ONLY_REINFORCED = ("divergence", "group", "prompts", "temperature")
_MAZE = ("kinds", "test_kinds", "warm_steps")
_PROCESS = (sys.executable, "-m", "service.cli.training_process")


class TrlBackend:
    """Trains a LoRA adapter on the prompts of runs: by a training method of Evolve, or by supervised fine-tuning.

    Args:
        threads: of the processor. 0: all.
        save_every: steps between two checkpoints.
    """

    needs: Collection[str] = (RECORDS, CANDIDATES, PROBLEM)

    def __init__(self, *, threads: int = 0, save_every: int = 20) -> None:
        self._threads, self._save_every = threads, save_every

    def missing(self) -> str:
        """The packages of the extra `trl` that are not installed."""
        absent = [name for name in _PACKAGES if find_spec(name) is None]
        if not absent:
            return ""
        told = " and ".join([", ".join(absent[:-1]), absent[-1]]) if absent[1:] else absent[0]
        verb = "are" if absent[1:] else "is"
        return f"{told} {verb} not installed: install the extra trl, as docs/how-to/train-a-policy.md says"

    def check(self, request: Mapping[str, Any]) -> None:
        """Refuse a method, a setting or a hyperparameter that this back end does not have.

        Raises:
            UsageError: it does.
        """
        method = _method(request)
        known = [SFT, *(name for name, found in METHODS.items() if found.weights != "shown")]
        if method not in known:
            raise UsageError(f"the back end trl has no method {method!r}: name {', '.join(known)}")
        if request.get("k") is not None and (method == SFT or not METHODS[method].subsets):
            raise UsageError(f"the method {method} takes the best of no subsets: leave k out")
        for name in _MAZE:
            if request.get(name):
                raise UsageError(f"the back end trl has no {name}: leave it out")
        if not any(request.get(name) for name in ("runs", "problem", "labels")):
            raise UsageError("the back end trl learns from runs: name them, their problem or their labels")
        if not (request.get("model") or request.get("base")):
            raise UsageError("the back end trl needs a model, or an adapter as the base")
        if method == SFT and request.get("base"):
            raise UsageError("the method sft begins a new adapter: leave base out, and name the model")
        _check_hyperparameters(method, request.get("hyperparameters") or {})

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        """The process that trains, with its settings in a file.

        Raises:
            UsageError: the base is not an adapter, or there are too few parents to compare versions on.
        """
        if UPDATE in job.request:
            return self._update(job, base, folder)
        self.check({**job.request, "runs": job.runs})
        runs, parents = list(run_data(job, folder)), self._parents(job, folder)
        self._refuse_few(job, parents)
        own = [write_trained(run, set(parents.held_out), folder / "trained" / run.run_id) for run in runs]
        settings = {
            "model": _model(job, base), "start": None if base is None else str(base), "method": _method(job.request),
            "k": job.request.get("k"), "seed": job.request.get("seed", 0), "steps": _steps(job.request),
            "output": str(folder / "training"), "save_every": self._save_every, "threads": self._threads,
            "runs": [_places(run) for run in own], "hyperparameters": dict(job.request.get("hyperparameters") or {}),
        }  # fmt: skip
        return [*_PROCESS, "train", str(_written(folder / "training.json", settings))]

    def _update(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        """The process that trains on the answers of a run, within it."""
        settings = {
            "model": _model(job, base), "update": str(folder / UPDATE_FILE), "records": str(folder / RECORDS_FILE),
            "output": str(folder / "training"), "threads": self._threads,
        }  # fmt: skip
        return [*_PROCESS, "update", str(_written(folder / "training.json", settings))]

    def read(self, line: str) -> TrainingStep | None:
        """A step from a line of the process."""
        return read_step(line)

    def checkpoint(self, folder: Path) -> Mapping[str, Any]:
        """The newest checkpoint whose last file is written."""
        states = (folder / "training" / "checkpoints").glob("checkpoint-*/trainer_state.json")
        steps = [int(path.parent.name.partition("-")[2]) for path in states]
        return {"stage": "update", "step": max(steps)} if steps else {}

    def model(self, _job: TrainingTask, folder: Path) -> Path:
        """The folder of the adapter."""
        return folder / "training" / "adapter"

    def training(self, job: TrainingTask, folder: Path) -> Mapping[str, Any]:
        """The method, its settings, the parents that were trained on, and those of the evaluation."""
        if (update := job.request.get(UPDATE)) is not None:
            asked = prompts_of(folder / RECORDS_FILE)
            problems = sorted({parent_name(line["parent"]["files"]) for line in asked})
            return {
                "method": _method(job.request),
                "problems": problems,
                UPDATE: update["number"],
                **update["settings"],
            }
        parents = self._parents(job, folder)
        given = {name: job.request[name] for name in ("k", "seed") if job.request.get(name) is not None}
        learnt = dict.fromkeys(map(problem_name, run_data(job, folder)))
        tests = dict.fromkeys(map(problem_name, held_out_data(job, folder)))
        return {
            "method": _method(job.request), "steps": _steps(job.request), **given,
            "hyperparameters": dict(job.request.get("hyperparameters") or {}),
            "problems": [*learnt, *parents.trained], "held_out": _held_out(parents, tests),
        }  # fmt: skip

    def evaluate(self, job: TrainingTask, model: Path, seen: Collection[str], stopped: Event) -> HeldOutValues:
        """The mean set reward of completions to the prompt of each held-out parent."""
        folder = model.parent.parent
        tested = list(held_out_data(job, folder))
        for name in map(problem_name, tested):
            if name in seen:
                raise UsageError(f"a compared version was trained on the {name}: name runs of another in test_runs")
        names = [name for name in self._parents(job, folder).held_out if name not in seen]
        if not names:
            raise UsageError("no parent of the runs is left to compare versions on: learn from more runs")
        key = hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
        asked, values = folder / f"asked-{key}.jsonl", folder / f"values-{model.name}-{key}.json"
        runs = tested or list(run_data(job, folder))
        write_asked(runs, names, asked, tested=bool(tested))
        given, usual = job.request.get("hyperparameters") or {}, _usual(model)
        settings = {
            "adapter": str(model), "asked": str(asked), "values": str(values), "seed": job.request.get("seed", 0),
            "threads": self._threads, "runs": [_places(run) for run in runs],
            "completions": int(given.get("completions") or given.get("group") or 8),
            "max_tokens": int(
                given.get("completion_tokens") or usual.get("max_tokens") or _completion_tokens(job.request)
            ),
            "temperature": float(usual.get("temperature", 1.0)),
        }  # fmt: skip
        words = [*_PROCESS, "evaluate", str(_written(folder / f"evaluation-{model.name}-{key}.json", settings))]
        run_evaluation(words, stopped)
        found = json.loads(values.read_text(encoding="utf-8"))
        return HeldOutValues(metric=METRIC, problems=names, values=[float(found[name]) for name in names])

    @staticmethod
    def _parents(job: TrainingTask, folder: Path) -> RecordedParents:
        wanted = int(job.request.get("test_problems") or 0)
        runs, tests = list(run_data(job, folder)), list(held_out_data(job, folder))
        return split_parents(runs, wanted, int(job.request.get("seed") or 0), tests)

    @staticmethod
    def _refuse_few(job: TrainingTask, parents: RecordedParents) -> None:
        if not job.request.get("test_problems") or enough_pairs(len(parents.held_out)):
            return
        if held_out_runs(job):
            raise UsageError(
                f"the test runs have {len(parents.held_out)} parents with prompts, and at least 6 compare versions:"
                " give these runs more evaluations, or set test_problems to 0"
            )
        raise UsageError(
            f"the runs have {len(parents.held_out) + len(parents.trained)} parents with prompts. At most a third of"
            " them, and at least 6, compare versions: learn from more runs, or set test_problems to 0"
        )


def _held_out(parents: RecordedParents, tests: Collection[str]) -> str:
    """What compares versions, for the card."""
    if not parents.held_out:
        return "The job asked for no evaluation, or its runs have too few parents."
    compared = f"Compared with the promoted version on {len(parents.held_out)} parent programs"
    if tests:
        return f"{compared} of {len(tests)} other problems: {', '.join(tests)}. Nothing was trained on these."
    return f"{compared} of the runs. No prompt of the training asks to change them."


def _usual(model: Path) -> Mapping[str, Any]:
    """How runs ask an adapter, as its file `evolve.toml` says."""
    path = model / DEFAULTS_FILE
    return read_defaults(path.read_bytes(), path, ADAPTER_DEFAULTS) if path.is_file() else {}


def _check_hyperparameters(method: str, given: Mapping[str, Any]) -> None:
    refused = _ONLY_REINFORCED if method == SFT else _ONLY_SFT
    for name, value in given.items():
        if name not in _BOUNDS or name in refused:
            known = ", ".join(one for one in _BOUNDS if one not in refused)
            raise UsageError(f"the method {method} has no hyperparameter {name[:60]!r}: name {known}")
        low, high, whole = _BOUNDS[name]
        if not low <= value <= high or (whole and value != int(value)):
            kind = "a whole number" if whole else "a number"
            raise UsageError(f"the hyperparameter {name} is {kind} from {low:g} to {high:g}, not {value:g}")


def _method(request: Mapping[str, Any]) -> str:
    return str(request.get("method") or "vpo")


def _steps(request: Mapping[str, Any]) -> int:
    return int(request.get("steps") or STEPS.get(_method(request), REINFORCE_STEPS))


def _completion_tokens(request: Mapping[str, Any]) -> int:
    """Those of the training. With `sft`, `max_tokens` counts the prompt, too."""
    given = request.get("hyperparameters") or {}
    return SFT_COMPLETION_TOKENS if _method(request) == SFT else int(given.get("max_tokens") or MAX_TOKENS)


def _model(job: TrainingTask, base: Path | None) -> str:
    """The model that is asked for, else that of the base.

    Raises:
        UsageError: the base is not an adapter.
    """
    if base is None:
        return str(job.request["model"])
    try:
        adapted = str(json.loads((base / _CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"])
    except (OSError, ValueError, LookupError) as error:
        raise UsageError(f"{job.request.get('base')} is not a LoRA adapter: name another base, or a model") from error
    return str(job.request.get("model") or adapted)


def _places(run: RunData) -> dict[str, str]:
    return {
        "run_id": run.run_id, "records": str(run.records), "candidates": str(run.candidates),
        "problem": str(run.problem), "document": str(run.document),
    }  # fmt: skip


def _written(path: Path, settings: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    return path
