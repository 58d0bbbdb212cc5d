"""Batches where runs are: in a database, whose batches this process can run, or with a service."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from service.bootstrap.storage import open_storage, refuse_missing
from service.client.service_choice import ServiceChoice, SourceOptions, choose_service
from service.config import database_url
from service.errors import ConflictError, NotFoundError
from service.ports import (
    CANCELLED,
    DEFAULT_TENANT,
    ENDED,
    PAUSED,
    RUNNING,
    NewRun,
    RunFilter,
    RunRecord,
    RunRequest,
    Storage,
)
from service.process.identity import is_gone, this_process
from service.projections.batches import batch_reply, new_batch, refuse_repeated_problem, run_requests, summarize
from service.runner.lease import LEASE_SECONDS
from service.schemas.batches import MAX_RUNS, Batch, BatchCreate, BatchSummary
from service.usecases.control_runs import COMMAND_LINE, StoredControl

if TYPE_CHECKING:
    from service.client import Client
    from service.config import Settings
    from service.problems.load import LoadedProblem

PAGE = 200
LAYER = "the batch"


class Batches(Protocol):
    """Batches of one place.

    Every method that takes an id raises NotFoundError where there is no such batch.
    """

    def add_problem(self, folder: Path) -> str:
        """Store a problem's folder; the id by which a batch names it."""

    def create(self, body: BatchCreate) -> Batch:
        """Store a batch with its runs: all of them or none."""

    def get(self, batch_id: str) -> Batch:
        """A batch by its id or a beginning of it."""

    def batches(self, limit: int) -> list[Batch]:
        """Batches, newest first."""

    def runs(self, batch_id: str) -> list[RunRecord]:
        """The runs of a batch, oldest first."""

    def summary(self, batch_id: str) -> BatchSummary:
        """What its runs have come to so far."""

    def want(self, batch_id: str, desired_state: str) -> Batch:
        """Want the runs that have not ended running, paused or cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSite:
    """A place where batches are.

    Attributes:
        storage: its database, whose batches this process runs; None: a service runs them.
        service: that service.
    """

    batches: Batches
    storage: Storage | None = None
    service: ServiceChoice | None = None


@contextmanager
def open_batches(settings: "Settings", where: SourceOptions, *, make: bool = False) -> Iterator[BatchSite]:
    """The place where batches are.

    Args:
        settings: of this installation.
        where: what a command was told.
        make: whether a SQLite file that is not there is made.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where):
        with service.client() as client:
            yield BatchSite(batches=RemoteBatches(client), service=service)
        return
    if not make:
        refuse_missing(database_url(settings, where.db))
    with open_storage(settings, where.db) as storage:
        yield BatchSite(batches=StoredBatches(settings, storage), storage=storage)


class RemoteBatches:
    """Batches of a service."""

    def __init__(self, client: "Client") -> None:
        from service.client.reader import RemoteRunReader

        self._client, self._reader = client, RemoteRunReader(client)

    def add_problem(self, folder: Path) -> str:
        """Send a problem's folder."""
        from service.client import calls
        from service.problems.upload_request import upload_of

        return self._client.send(calls.create_problem(upload_of(folder))).id

    def create(self, body: BatchCreate) -> Batch:
        """Submit a batch."""
        from service.client import calls

        return self._client.send(calls.create_batch(body))

    def get(self, batch_id: str) -> Batch:
        """A batch by its id or a beginning of it."""
        from service.client import calls

        return self._client.send(calls.get_batch(batch_id))

    def batches(self, limit: int) -> list[Batch]:
        """Batches, newest first."""
        from service.client import calls

        pages = self._client.pages(calls.list_batches(limit=min(limit, PAGE)))
        return list(islice(chain.from_iterable(page.items for page in pages), limit))

    def runs(self, batch_id: str) -> list[RunRecord]:
        """The runs of a batch, oldest first."""
        return self._reader.runs(MAX_RUNS, only=RunFilter(batch_id=batch_id))[::-1]

    def summary(self, batch_id: str) -> BatchSummary:
        """What its runs have come to so far."""
        from service.client import calls

        return self._client.send(calls.get_batch_summary(batch_id))

    def want(self, batch_id: str, desired_state: str) -> Batch:
        """Want the runs that have not ended running, paused or cancelled."""
        from service.client import calls

        wants = {RUNNING: calls.resume_batch, PAUSED: calls.pause_batch, CANCELLED: calls.cancel_batch}
        return self._client.send(wants[desired_state](batch_id))


class StoredBatches:
    """Batches of a database, of the tenant `default`: their runs are those of `evolve run`, submitted as one."""

    def __init__(self, settings: "Settings", storage: Storage) -> None:
        self._settings, self._storage, self._clock = settings, storage, storage.clock
        self._batches, self._problems = storage.batches, storage.problems
        self._reader = storage.readers.of(DEFAULT_TENANT)
        self._own: dict[str, LoadedProblem] = {}

    def add_problem(self, folder: Path) -> str:
        """Store a problem's folder, whose runs may do what those of `evolve run` may."""
        from service.ports import NewProblem
        from service.problems.load import load_problem
        from service.usecases.submit_run import problem_document

        loaded = load_problem(folder)
        problem = NewProblem(
            tenant=DEFAULT_TENANT,
            name=loaded.problem.name,
            bundle=loaded.bundle,
            document=problem_document(loaded),
            created_at=self._clock.now(),
        )
        found = self._problems.add(problem).id
        self._own[found] = loaded
        return found

    def create(self, body: BatchCreate) -> Batch:
        """Store a batch with its runs: all of them or none."""
        from service.identifiers import new_id
        from service.usecases.submit_run import created_at

        now = self._clock.now()
        batch_id = new_id("bat", now)
        requests = run_requests(body, batch_id)
        runs = [self._planned(request, created_at(now, place)) for place, request in enumerate(requests)]
        refuse_repeated_problem(body.sweep, runs)
        with self._storage.unit():
            self._batches.add(new_batch(batch_id, DEFAULT_TENANT, body, now))
            for run in runs:
                self._storage.log.create(run)
        return self.get(batch_id)

    def get(self, batch_id: str) -> Batch:
        """A batch by its id or a beginning of it."""
        return batch_reply(self._batches.get(DEFAULT_TENANT, batch_id))

    def batches(self, limit: int) -> list[Batch]:
        """Batches, newest first."""
        return [batch_reply(batch) for batch in self._batches.batches(DEFAULT_TENANT, limit=limit)]

    def runs(self, batch_id: str) -> list[RunRecord]:
        """The runs of a batch, oldest first."""
        return self._reader.runs(MAX_RUNS, only=RunFilter(batch_id=batch_id), oldest_first=True)

    def summary(self, batch_id: str) -> BatchSummary:
        """What its runs have come to so far."""
        batch = self._batches.get(DEFAULT_TENANT, batch_id)
        runs = self.runs(batch.id)
        found = [self._problems.get(DEFAULT_TENANT, problem_id) for problem_id in {run.problem_id for run in runs}]
        return summarize(batch, runs, {problem.id: f"{problem.name}@{problem.version}" for problem in found})

    def want(self, batch_id: str, desired_state: str) -> Batch:
        """Want the runs that have not ended running, paused or cancelled; those that nobody drives are so at once."""
        control = StoredControl(self._settings, self._storage)
        for run in self.runs(batch_id):
            if run.state not in ENDED:
                with suppress(ConflictError):  # it has ended meanwhile, or is about to
                    control.want(run, desired_state)
        return self.get(batch_id)

    def reserve(self, batch_id: str) -> None:
        """Keep other runners off its runs, for some seconds: their programs have the rights of this command."""
        self._storage.claims(batch_id).reserve(this_process(), LEASE_SECONDS, is_gone)

    def give_back(self, batch_id: str) -> None:
        """Let other runners have its runs."""
        self._storage.claims(batch_id).give_back(this_process())

    def tell_drivers(self, batch_id: str, desired_state: str) -> None:
        """Want it of the runs that have not ended, and leave it to whoever drives them."""
        intents = self._storage.intents(DEFAULT_TENANT)
        for run in self.runs(batch_id):
            if run.state not in ENDED:
                with suppress(ConflictError, NotFoundError):
                    intents.want(run.id, desired_state, COMMAND_LINE)

    def _planned(self, request: RunRequest, now: datetime) -> NewRun:
        """The run that a request asks for: of a folder of one's own, else of a problem that was stored earlier."""
        from service.bootstrap.policy_factory import read_templates
        from service.identifiers import new_id
        from service.policy_settings.choice import operator_policies, own_policies
        from service.usecases.plan import RunOrder, new_run, plan_loaded
        from service.usecases.submit_run import WORKERS, BundledSubmissions, problem_document

        loaded = self._own.get(request.problem)
        if loaded is None:
            submissions = BundledSubmissions(self._settings, self._storage)
            (run,) = submissions.prepare(DEFAULT_TENANT, [request], COMMAND_LINE)
            return replace(run, id=new_id("run", now), created_at=now, owner=this_process())
        order = RunOrder(flags=request.config, labels=request.labels)
        # The problem's own policies are not read where others are named.
        read = loaded if request.policy is None else replace(loaded, policies=())
        plan = plan_loaded(order, read, new_id("run", now), words=LAYER)
        if request.policy is not None:
            operators = operator_policies(self._settings.policies)
            plan = replace(plan, policies=tuple(own_policies(operators, request.policy)))
        read_templates(plan)  # what is off there is said before anything is stored
        return replace(
            new_run(plan, WORKERS, now),
            document=problem_document(loaded),
            batch_id=request.batch_id,
            created_by=COMMAND_LINE,
            owner=this_process(),
        )
