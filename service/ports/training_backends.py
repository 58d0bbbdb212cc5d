"""Back ends of training jobs: how a trainer has a version of a policy trained, such as by Evolve's own code or by TRL.

A back end never trains in the trainer's process. It names a command, and the trainer runs it, reads its steps and kills
it if the job is not to go on. The same command in the same folder continues from its newest checkpoint.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from evolve.extensions import ExtensionKind, Extensions, guarded

# What a trainer may write of the runs that a job learns from, see `TrainingBackend.needs`.
RECORDS, CANDIDATES, PROBLEM = "records", "candidates", "problem"
NEEDS = (RECORDS, CANDIDATES, PROBLEM)
RUNS_FOLDER = "runs"
# Of a request: the job updates the policy of a run within it. Its folder holds these files in place of runs.
UPDATE = "update"
RECORDS_FILE, UPDATE_FILE = "records.jsonl", "update.json"


class TrainingTask(Protocol):
    """A job, as its back end sees it."""

    @property
    def id(self) -> str:
        """Of the job."""

    @property
    def policy(self) -> str:
        """Name of the policy that gets the version."""

    @property
    def request(self) -> Mapping[str, Any]:
        """What was asked for: base, method, seed, steps, hyperparameters and more."""

    @property
    def runs(self) -> Sequence[str]:
        """Ids of the runs that it learns from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStep:
    """A step that a back end reports."""

    stage: str
    step: int
    steps: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutValues:
    """Values of a model on held-out problems, more being better."""

    metric: str
    problems: Sequence[str]
    values: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """A run that a job learns from, as the trainer wrote it into the job's folder.

    Attributes:
        records: its training records, as of `evolve export --training`.
        candidates: its candidates, as of `evolve export`.
        problem: folder of its problem.
        document: `problem_name`, and the run's `config` and `policies`.
    """

    run_id: str
    records: Path
    candidates: Path
    problem: Path
    document: Path

    @classmethod
    def of(cls, folder: Path, run_id: str) -> "RunData":
        """Where the data of a run are in the folder of a job."""
        place = folder / RUNS_FOLDER / run_id
        return cls(
            run_id=run_id,
            records=place / "records.jsonl",
            candidates=place / "candidates.jsonl",
            problem=place / "problem",
            document=place / "run.json",
        )


def run_data(task: TrainingTask, folder: Path) -> Iterator[RunData]:
    """The data of all runs that a job learns from."""
    return (RunData.of(folder, run_id) for run_id in task.runs)


def held_out_runs(task: TrainingTask) -> Sequence[str]:
    """Ids of the runs whose prompts compare versions. Nothing is trained on them."""
    return tuple(task.request.get("test_runs") or ())


def held_out_data(task: TrainingTask, folder: Path) -> Iterator[RunData]:
    """The data of the runs whose prompts compare versions."""
    return (RunData.of(folder, run_id) for run_id in held_out_runs(task))


class TrainingBackend(Protocol):
    """Trains in a process of its own. The same command in the same folder continues from its newest checkpoint.

    Attributes:
        needs: what the trainer writes of the job's runs before the first command: `records`, `candidates`, `problem`.
    """

    needs: Collection[str]

    def missing(self) -> str:
        """What is not installed here, and how to install it, in one sentence. Empty: the back end can train."""

    def check(self, request: Mapping[str, Any]) -> None:
        """Refuse a request that this back end cannot serve, before it is queued.

        Raises:
            Exception: a setting is off, or means nothing to this back end. Its text says what to change.
        """

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        """The command that trains, or continues.

        Args:
            job: what to train.
            base: folder of the version to start from. None: from scratch.
            folder: where it writes. `run_data` has the runs in it.
        """

    def read(self, line: str) -> TrainingStep | None:
        """A step from a line of the command's output. None: the line tells none."""

    def checkpoint(self, folder: Path) -> Mapping[str, Any]:
        """From where the command would continue: `stage` and `step`. Empty: from the beginning."""

    def model(self, job: TrainingTask, folder: Path) -> Path:
        """The folder of the model or adapter, after the command has ended well."""

    def training(self, job: TrainingTask, folder: Path) -> Mapping[str, Any]:
        """What the version says of its training: its problems among it, and as `held_out` which it is evaluated on."""

    def evaluate(self, job: TrainingTask, model: Path, seen: Collection[str], stopped: Event) -> HeldOutValues:
        """Values of a model on problems like those that the job learns from. The same problems for each model.

        Args:
            job: for whose version it is evaluated.
            model: its folder, inside of the job's or linked from it.
            seen: names of problems that a compared version was trained on. None of them is evaluated on.
            stopped: is set when the job is not to go on here. The evaluation then ends with an error.
        """


def open_backend(name: str, extensions: Extensions | None = None) -> TrainingBackend:
    """A back end of an installed package, or `module:Class`.

    Args:
        name: of an entry point in the group `evolve.training_backends`, or a reference.
        extensions: resolves the name. None: a new one.

    Raises:
        ExtensionError: it is not installed, or cannot be made.
    """
    extension, made = (extensions or Extensions()).resolve(ExtensionKind.TRAINING_BACKEND, name)
    with guarded(extension, "could not be made"):
        found: TrainingBackend = made()
    return found
