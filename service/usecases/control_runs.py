"""Steering runs: of a database, where what nobody drives is settled at once, or of a service."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from service.client.run_site import remote_site
from service.client.service_choice import SourceOptions, choose_service
from service.errors import ConflictError
from service.ports import PAUSED, RUNNING, Intent, RunRecord, Storage
from service.projections.run_site import RunSite, stored_site

if TYPE_CHECKING:
    from service.config import Settings

COMMAND_LINE = "command line"


class RunControl(Protocol):
    """What people want of runs.

    Every method raises NotFoundError for a run that is not there, ConflictError where its state does not allow it.
    """

    def want(self, run: RunRecord, desired_state: str) -> RunRecord:
        """Want a run running, paused or cancelled."""

    def extend(self, run: RunRecord, budget: Mapping[str, Any]) -> RunRecord:
        """Want keys of the budget to have new values."""

    def fork(
        self, run: RunRecord, candidate_id: str, config: Mapping[str, Any], labels: Mapping[str, str]
    ) -> RunRecord:
        """Submit a run that begins with a program of another; it has these labels, and none of the other's."""

    def delete(self, run: RunRecord) -> None:
        """Delete an ended or paused run and all its data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunController:
    """A place where runs are, with what steers them there.

    Attributes:
        alone: whether nobody drives runs there on his own: a database without a runner.
    """

    site: RunSite
    control: RunControl
    alone: bool


@contextmanager
def open_helm(settings: "Settings", where: SourceOptions) -> Iterator[RunController]:
    """The place where runs are, for steering.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where):
        from service.client.control import RemoteControl

        with service.client() as client:
            yield RunController(site=remote_site(client), control=RemoteControl(client), alone=False)
        return
    from service.bootstrap.storage import open_storage, refuse_missing
    from service.config import database_url

    refuse_missing(database_url(settings, where.db))
    with open_storage(settings, where.db) as storage:
        yield RunController(
            site=stored_site(storage.reader, storage.url), control=StoredControl(settings, storage), alone=True
        )


class StoredControl:
    """Steers the runs of a database, of whichever tenant.

    What is wanted is written down for whoever drives the run. Where nobody does, a run is paused or cancelled here.
    """

    def __init__(self, settings: "Settings", storage: Storage) -> None:
        self._settings, self._storage = settings, storage

    def want(self, run: RunRecord, desired_state: str) -> RunRecord:
        """Want a run running, paused or cancelled."""
        wanted = self._storage.intents(run.tenant).want(run.id, desired_state, COMMAND_LINE)
        if desired_state != RUNNING and (run.state, desired_state) != (PAUSED, PAUSED):
            self._settle(wanted, desired_state)
        return self._storage.reader.run(run.id)

    def extend(self, run: RunRecord, budget: Mapping[str, Any]) -> RunRecord:
        """Want keys of the budget to have new values."""
        return self._storage.intents(run.tenant).extend(run.id, budget, COMMAND_LINE)

    def fork(
        self, run: RunRecord, candidate_id: str, config: Mapping[str, Any], labels: Mapping[str, str]
    ) -> RunRecord:
        """Submit a run that begins with a program of another."""
        from service.ports import RunRequest
        from service.usecases.submit_run import BundledSubmissions

        submissions = BundledSubmissions(self._settings, self._storage)
        request = RunRequest(config=config, fork_of=candidate_id, labels=labels)
        return submissions.submit(run.tenant, request, COMMAND_LINE)

    def delete(self, run: RunRecord) -> None:
        """Delete an ended or paused run and all its data."""
        self._storage.intents(run.tenant).delete(run.id)
        self._storage.deletions.remove(run.id)

    def _settle(self, run: RunRecord, desired_state: str) -> None:
        from service.process.identity import this_process
        from service.runner.undriven_runs import settle

        intent = Intent(desired_state=desired_state, by=COMMAND_LINE)
        try:
            asyncio.run(settle(self._storage.log, self._storage.clock, run, intent, this_process()))
        except ConflictError:
            return  # somebody drives it, and hears what is wanted
