"""Batches of a service, behind the protocol that those of a database have."""

from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path

from service.client import Client, calls
from service.client.reader import RemoteRunReader
from service.ports import CANCELLED, PAUSED, RUNNING, RunFilter, RunRecord
from service.schemas.batches import MAX_RUNS, Batch, BatchCreate, BatchSummary
from service.schemas.problems import ProblemCreate

PAGE = 200


class RemoteBatches:
    """Batches of a service.

    Args:
        client: of the service.
        upload_of: reads the folder of a problem.
    """

    def __init__(self, client: Client, upload_of: Callable[[Path], ProblemCreate]) -> None:
        self._client, self._reader, self._upload_of = client, RemoteRunReader(client), upload_of

    def add_problem(self, folder: Path) -> str:
        """Send a problem's folder."""
        return self._client.send(calls.create_problem(self._upload_of(folder))).id

    def create(self, body: BatchCreate) -> Batch:
        """Submit a batch."""
        return self._client.send(calls.create_batch(body))

    def get(self, batch_id: str) -> Batch:
        """A batch by its id or a beginning of it."""
        return self._client.send(calls.get_batch(batch_id))

    def batches(self, limit: int) -> list[Batch]:
        """Batches, newest first."""
        pages = self._client.pages(calls.list_batches(limit=min(limit, PAGE)))
        return list(islice(chain.from_iterable(page.items for page in pages), limit))

    def runs(self, batch_id: str) -> list[RunRecord]:
        """The runs of a batch, oldest first."""
        return self._reader.runs(MAX_RUNS, only=RunFilter(batch_id=batch_id))[::-1]

    def summary(self, batch_id: str) -> BatchSummary:
        """What its runs have come to so far."""
        return self._client.send(calls.get_batch_summary(batch_id))

    def want(self, batch_id: str, desired_state: str) -> Batch:
        """Want the runs that have not ended running, paused or cancelled."""
        wants = {RUNNING: calls.resume_batch, PAUSED: calls.pause_batch, CANCELLED: calls.cancel_batch}
        return self._client.send(wants[desired_state](batch_id))
