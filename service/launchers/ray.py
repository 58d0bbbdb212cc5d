"""Ray: each worker is an actor, which has as many cores as the worker has slots."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from service.errors import UnreachableError
from service.launchers.library import load_library
from service.launchers.replicas import WorkerLoss, WorkerPhase, WorkerStatus
from service.launchers.worker_command import WorkerCommand
from service.launchers.worker_process import WorkerProcess

ANSWER_SECONDS = 5.0
MAX_REASON = 300


@dataclass(slots=True)
class RayWorker:
    """An actor that keeps a worker.

    Attributes:
        actor: its handle.
        question: how it is, asked and not answered yet.
        alive: whether it has ever answered.
    """

    actor: Any
    question: Any = None
    alive: bool = False


class RayCluster:
    """Workers as actors of a Ray cluster that this process is connected to.

    Args:
        command: what each is.
        key: of the workers.
    """

    def __init__(self, command: WorkerCommand, key: SecretStr) -> None:
        self._ray, self._errors = load_library("ray", "ray"), load_library("ray", "ray.exceptions")
        self._command, self._key = command, key
        # Restarted by us and not by Ray: the launcher tells of it, and waits after failures.
        self._actors = self._ray.remote(
            num_cpus=command.slots, max_restarts=0, max_concurrency=1, scheduling_strategy="SPREAD"
        )(WorkerProcess)

    def start(self) -> RayWorker:
        """Ask for an actor."""
        return RayWorker(self._actors.remote(self._command, self._key))

    def statuses(self, workers: Sequence[RayWorker]) -> list[WorkerStatus]:
        """Ask all at once, and wait a moment for the answers."""
        for worker in workers:
            worker.question = worker.question or worker.actor.ending.remote()
        questions = [worker.question for worker in workers]
        answered: set[Any] = set()
        if questions:
            answered.update(self._ray.wait(questions, num_returns=len(questions), timeout=ANSWER_SECONDS)[0])
        return [self._status(worker, worker.question in answered) for worker in workers]

    def _status(self, worker: RayWorker, answered: bool) -> WorkerStatus:
        standing = WorkerPhase.ALIVE if worker.alive else WorkerPhase.WAITING
        if not answered:
            return standing
        question, worker.question = worker.question, None
        try:
            ending = self._ray.get(question)
        except self._errors.ActorUnavailableError:  # the network was away
            return standing
        except self._errors.RayError as error:
            return WorkerLoss(reason=" ".join(str(error).split())[:MAX_REASON])
        worker.alive = True
        return ending or WorkerPhase.ALIVE

    def drain(self, workers: Sequence[RayWorker]) -> None:
        """Tell all; nobody waits for the answers."""
        for worker in workers:
            worker.actor.drain.remote()

    def discard(self, workers: Sequence[RayWorker]) -> None:
        """End the actors, started or not."""
        for worker in workers:
            self._ray.kill(worker.actor)


@contextmanager
def connect_ray(address: str, command: WorkerCommand, key: SecretStr) -> Iterator[RayCluster]:
    """A cluster, until the block ends.

    Args:
        address: as `ray.init` takes it, such as `auto` or `ray://head:10001`.
        command: what each worker is.
        key: of the workers.

    Raises:
        MissingExtensionError: Ray is not installed.
        UnreachableError: no cluster answers at the address.
    """
    ray = load_library("ray", "ray")
    try:
        ray.init(address=address, logging_level="WARNING")
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise UnreachableError(f"no Ray cluster answers at {address}: {error}") from error
    try:
        yield RayCluster(command, key)
    finally:
        ray.shutdown()
