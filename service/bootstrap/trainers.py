"""The trainer and its jobs, opened over a database."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.bootstrap.submissions import make_registry
from service.config import Settings
from service.ports import TrainingBackend
from service.ports.training_backends import open_backend
from service.process.identity import this_process
from service.trainer.job_lease import TrainerObserver
from service.trainer.maze import MazeBackend
from service.trainer.trainer import Trainer
from service.trainer.trl import TrlBackend
from service.usecases.model_folders import ModelFolders
from service.usecases.plan import RunPlan
from service.usecases.run_data import RunDataWriter
from service.usecases.run_learning import RunTrainers, StoredRunTrainer
from service.usecases.training_jobs import StoredTrainingJobs
from service.usecases.version_publisher import VersionPublisher
from service.user_folders import data_home

if TYPE_CHECKING:
    from service.db.storage import SqlStorage


def make_backends(
    settings: Settings | None = None, *, threads: int = 0, save_every: int | None = None
) -> Mapping[str, TrainingBackend]:
    """The back ends of this version, and those that the operator adds, by name.

    Args:
        settings: name more. None: there are no more.
        threads: of the processor. 0: all.
        save_every: steps between two checkpoints. None: as each back end does.

    Raises:
        ExtensionError: one of the operator's cannot be loaded.
    """
    every: dict[str, Any] = {"threads": threads} | ({} if save_every is None else {"save_every": save_every})
    own: dict[str, TrainingBackend] = {"maze": MazeBackend(**every), "trl": TrlBackend(**every)}
    return own | {name: open_backend(name) for name in (settings.training.backends if settings else ())}


BACKENDS = make_backends()


def make_training_jobs(
    settings: Settings, storage: "SqlStorage", backends: Mapping[str, TrainingBackend] = BACKENDS
) -> StoredTrainingJobs:
    """The port TrainingJobs of this installation.

    Args:
        settings: of this installation. A job may name the back ends that they add. Trainers alone load those.
        storage: where jobs wait.
        backends: of this version.

    Raises:
        UsageError: the operator's policies cannot be read.
    """
    registry = make_registry(settings, storage)
    known: dict[str, TrainingBackend | None] = dict.fromkeys(settings.training.backends)
    return StoredTrainingJobs(
        storage.training,
        registry,
        storage.readers,
        storage.problems,
        storage.accounts,
        storage.unit,
        storage.clock,
        known | dict(backends),
    )


def make_run_trainers(settings: Settings, storage: "SqlStorage") -> RunTrainers:
    """Gives runs of this installation who trains their policies within them.

    Raises:
        UsageError: the operator's policies cannot be read.
    """
    registry, folders = make_registry(settings, storage), ModelFolders(storage.problems.bundle)

    def trainer_of(plan: RunPlan) -> StoredRunTrainer | None:
        if not plan.config.learning.every:
            return None
        return StoredRunTrainer(storage.training, registry, folders, storage.clock, plan)

    return trainer_of


def make_trainer(
    settings: Settings,
    storage: "SqlStorage",
    *,
    folder: Path | None = None,
    backends: Mapping[str, TrainingBackend] = BACKENDS,
    observer: TrainerObserver | None = None,
) -> Trainer:
    """A trainer over a database.

    Args:
        settings: of this installation.
        storage: where jobs wait.
        folder: of the jobs' folders. None: in the user's data folder.
        backends: train, by name.
        observer: is called with what the trainer does.

    Raises:
        UsageError: the operator's policies cannot be read.
    """
    jobs = make_training_jobs(settings, storage, backends)
    publisher = VersionPublisher(
        jobs,
        make_registry(settings, storage),
        ModelFolders(storage.problems.bundle),
        RunDataWriter(storage.readers, storage.problems),
    )
    root = folder or data_home() / "evolve" / "training"
    return Trainer(storage.training, backends, publisher, storage.clock, this_process(), root=root, observer=observer)
