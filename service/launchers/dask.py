"""Dask: each worker is an actor on a worker of Dask, spread evenly."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pydantic import SecretStr

from service.errors import UnreachableError
from service.launchers.library import load_library
from service.launchers.replicas import WorkerLoss, WorkerPhase, WorkerStatus
from service.launchers.worker_command import WorkerCommand
from service.launchers.worker_process import WorkerProcess

CONNECT_SECONDS = 15.0
ANSWER_SECONDS = 5.0
MAX_REASON = 300
# What a call of an actor raises whose worker of Dask is gone, or goes while it is asked.
GONE = (OSError, RuntimeError, ValueError, KeyError)


@dataclass(slots=True)
class DaskWorker:
    """An actor that keeps a worker.

    Attributes:
        future: of the actor; while it is held, the actor lives.
        question: how it is, asked and not answered yet.
        alive: whether it has ever answered.
    """

    future: Any
    question: Any = None
    alive: bool = False


class DaskCluster:
    """Workers as actors of a Dask cluster.

    Args:
        client: of its scheduler.
        command: what each is.
        key: of the workers.
    """

    def __init__(self, client: Any, command: WorkerCommand, key: SecretStr) -> None:
        self._client, self._command, self._key = client, command, key

    def start(self) -> DaskWorker:
        """Ask for an actor."""
        name = f"evolve-worker-{uuid4().hex}"
        try:
            future = self._client.submit(WorkerProcess, self._command, self._key, actor=True, pure=False, key=name)
        except GONE as error:
            raise UnreachableError(f"the scheduler of Dask does not answer: {error}") from error
        return DaskWorker(future)

    def statuses(self, workers: Sequence[DaskWorker]) -> list[WorkerStatus]:
        """Ask all at once, and wait a moment for the answers.

        Raises:
            UnreachableError: the scheduler is gone for good.
        """
        if self._client.status == "closed":
            raise UnreachableError("the scheduler of Dask is gone: its workers end, and others take over their tasks")
        if self._client.status != "running":  # it connects again
            return [WorkerPhase.ALIVE if worker.alive else WorkerPhase.WAITING for worker in workers]
        for worker in workers:
            if worker.question is None and worker.future.status == "finished":
                with suppress(*GONE):
                    worker.question = worker.future.result(timeout=ANSWER_SECONDS).ending()
        deadline = time.monotonic() + ANSWER_SECONDS
        return [self._status(worker, deadline) for worker in workers]

    def _status(self, worker: DaskWorker, deadline: float) -> WorkerStatus:
        if worker.future.status not in ("pending", "finished"):
            return WorkerLoss(reason=self._loss(worker))
        standing = WorkerPhase.ALIVE if worker.alive else WorkerPhase.WAITING
        if worker.question is None:
            return standing
        try:
            ending = worker.question.result(timeout=max(0.01, deadline - time.monotonic()))
        except TimeoutError:
            return standing
        except GONE:  # the scheduler will hear of it: then the future tells
            worker.question = None
            return standing
        worker.question, worker.alive = None, True
        return ending or WorkerPhase.ALIVE

    def _loss(self, worker: DaskWorker) -> str:
        if worker.future.status != "error":
            return f"Dask says {worker.future.status}"
        return " ".join(str(worker.future.exception(timeout=ANSWER_SECONDS)).split())[:MAX_REASON]

    def drain(self, workers: Sequence[DaskWorker]) -> None:
        """Tell all; nobody waits for the answers."""
        for worker in workers:
            with suppress(*GONE):
                worker.future.result(timeout=ANSWER_SECONDS).drain()

    def discard(self, workers: Sequence[DaskWorker]) -> None:
        """Release the actors, started or not."""
        for worker in workers:
            worker.future.cancel()


@contextmanager
def connect_dask(address: str, command: WorkerCommand, key: SecretStr) -> Iterator[DaskCluster]:
    """A cluster, until the block ends.

    Args:
        address: of its scheduler, such as `tcp://head:8786`.
        command: what each worker is.
        key: of the workers.

    Raises:
        MissingExtensionError: Dask is not installed.
        UnreachableError: no scheduler answers at the address.
    """
    distributed = load_library("dask", "distributed")
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)  # the default one, which actors look up
    except (OSError, ValueError) as error:
        raise UnreachableError(f"no scheduler of Dask answers at {address}: {error}") from error
    with client:
        yield DaskCluster(client, command, key)
