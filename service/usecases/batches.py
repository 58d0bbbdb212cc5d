"""Batches where runs are: in a database, whose batches this process can run, or with a service."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from service.errors import ConflictError, NotFoundError
from service.ports import (
    DEFAULT_TENANT,
    ENDED,
    WORKERS,
    NewRun,
    RunFilter,
    RunRecord,
    RunRequest,
    Storage,
    Submissions,
)
from service.process.identity import is_gone, this_process
from service.projections.batches import batch_reply, new_batch, refuse_repeated_problem, run_requests
from service.schemas.batches import MAX_RUNS, Batch, BatchCreate, BatchSummary
from service.usecases.policy_site import COMMAND_LINE

if TYPE_CHECKING:
    from service.config import PoliciesSettings
    from service.policy_settings.roles import Registered
    from service.problems.load import LoadedProblem
    from service.usecases.run_leftovers import RunLeftovers

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


class StoredBatches:
    """Batches of a database, of the tenant `default`: their runs are those of `evolve run`, submitted as one.

    Args:
        storage: where the batches are.
        policies: those of the operator.
        submissions: makes what runs of stored problems are submitted to.
        registered: finds policies of the registry by name. None: there is no registry.
        leftovers: makes what removes what runs leave that are cancelled here. None: they leave nothing.
    """

    def __init__(
        self,
        storage: Storage,
        policies: "PoliciesSettings",
        submissions: Callable[[], Submissions],
        registered: "Registered | None" = None,
        leftovers: "Callable[[], RunLeftovers] | None" = None,
    ) -> None:
        self._policies, self._submissions, self._registered = policies, submissions, registered
        self._leftovers = leftovers
        self._storage, self._clock = storage, storage.clock
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
        from service.projections.batch_summaries import summarize

        batch = self._batches.get(DEFAULT_TENANT, batch_id)
        runs = self.runs(batch.id)
        found = [self._problems.get(DEFAULT_TENANT, problem_id) for problem_id in {run.problem_id for run in runs}]
        return summarize(batch, runs, {problem.id: f"{problem.name}@{problem.version}" for problem in found})

    def want(self, batch_id: str, desired_state: str) -> Batch:
        """Want the runs that have not ended running, paused or cancelled; those that nobody drives are so at once."""
        from service.usecases.control_runs import StoredControl

        control = StoredControl(self._storage, self._submissions, self._leftovers)
        for run in self.runs(batch_id):
            if run.state not in ENDED:
                with suppress(ConflictError):  # it has ended meanwhile, or is about to
                    control.want(run, desired_state)
        return self.get(batch_id)

    def reserve(self, batch_id: str) -> None:
        """Keep other runners off its runs, for some seconds: their programs have the rights of this command."""
        from service.runner.lease import LEASE_SECONDS

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
        from service.identifiers import new_id
        from service.policy_settings.choice import operator_policies, own_policies
        from service.usecases.plan import RunOrder, new_run, plan_loaded
        from service.usecases.prompt_templates import read_templates
        from service.usecases.submit_run import problem_document

        loaded = self._own.get(request.problem)
        if loaded is None:
            (run,) = self._submissions().prepare(DEFAULT_TENANT, [request], COMMAND_LINE)
            return replace(run, id=new_id("run", now), created_at=now, owner=this_process())
        order = RunOrder(flags=request.config, labels=request.labels)
        # The problem's own policies are not read where others are named.
        read = loaded if request.policy is None else replace(loaded, policies=())
        plan = plan_loaded(order, read, new_id("run", now), words=LAYER)
        if request.policy is not None:
            operators = operator_policies(self._policies)
            plan = replace(plan, policies=tuple(own_policies(operators, request.policy, self._registered)))
        read_templates(plan)  # what is off there is said before anything is stored
        return replace(
            new_run(plan, WORKERS, now),
            document=problem_document(loaded),
            batch_id=request.batch_id,
            created_by=COMMAND_LINE,
            owner=this_process(),
        )
