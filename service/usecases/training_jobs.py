"""Training jobs: what front doors ask for, within which quotas, and what may be trained on."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

from service.errors import (
    ConflictError,
    InvalidProblemError,
    NotFoundError,
    QuotaError,
    RefusedError,
    StorageAwayError,
    StorageError,
    UsageError,
)
from service.identifiers import new_id
from service.ports import (
    DEFAULT_TENANT,
    JOB_ENDED,
    Clock,
    ProblemRecord,
    ProblemStore,
    Readers,
    RunFilter,
    RunReader,
    TenantAccounts,
    TrainingBackend,
    TrainingEvent,
    TrainingJob,
    TrainingPermission,
    TrainingStore,
)
from service.problems.load import load_bundle
from service.usecases.policy_registry import StoredPolicies

MAX_RUNS = 1000
DAY = timedelta(days=1)
# Of a request, what a job has as fields of its own, or nothing after its start needs.
_OWN = ("policy", "runs", "new_policy")


class StoredTrainingJobs:
    """The port TrainingJobs over the stores.

    Args:
        store: where jobs are.
        registry: policies and their versions.
        readers: runs by tenant.
        problems: those of the runs.
        accounts: quotas of tenants.
        atomic: opens the transaction in which a quota is counted, and a job and its new policy are added.
        clock: times of jobs.
        backends: that a job may name. None: only trainers can open it.
    """

    def __init__(
        self,
        store: TrainingStore,
        registry: StoredPolicies,
        readers: Readers,
        problems: ProblemStore,
        accounts: TenantAccounts,
        atomic: Callable[[], AbstractContextManager[object]],
        clock: Clock,
        backends: Mapping[str, TrainingBackend | None],
    ) -> None:
        self._store, self._registry, self._readers = store, registry, readers
        self._problems, self._clock, self._backends = problems, clock, backends
        self._accounts, self._atomic = accounts, atomic

    def submit(self, tenant: str, request: Mapping[str, Any], by: str) -> TrainingJob:
        """Store a job, queued.

        Raises:
            NotFoundError: the tenant has no such policy, base or run.
            RefusedError: the policy is not its own, or a run may not be trained on.
            ConflictError: the name of a new policy is taken by the installation.
            UsageError: there is no such back end, it does not have a setting, or no run fits the filter.
            QuotaError: the tenant has used up a quota of training.
        """
        backend = request["backend"]
        if backend not in self._backends:
            raise UsageError(f"there is no back end {backend[:60]!r}: name {', '.join(self._backends)}")
        self._refuse_place(tenant, request)
        if (known := self._backends[backend]) is not None:
            known.check(request)
        new = self._is_new(tenant, request)
        base = self._registry.named(tenant, request["base"]).name if request["base"] else ""
        runs = self._runs(tenant, request)
        tests = self._tests(tenant, request, runs)
        now = self._clock.now()
        wanted = {name: value for name, value in request.items() if name not in _OWN}
        wanted |= {"base": base, "texts": self._texts(tenant, runs), "test_runs": tests}
        job = TrainingJob(
            id=new_id("trn", now),
            tenant=tenant,
            policy=request["policy"],
            request=wanted,
            runs=runs,
            created_by=by,
            created_at=now,
        )
        with self._atomic():
            self._refuse_beyond(tenant, now)
            if new:
                self._register(tenant, request, by)
            self._store.add(job)
        return self._store.get(tenant, job.id)

    def get(self, tenant: str, job_id: str) -> TrainingJob:
        """A job."""
        return self._store.get(tenant, job_id)

    def jobs(self, tenant: str, before: str = "", limit: int = 50) -> list[TrainingJob]:
        """Jobs, newest first."""
        return self._store.jobs(tenant, before, limit)

    def events(self, tenant: str, job_id: str, after: int = 0, limit: int = 50) -> list[TrainingEvent]:
        """Events of a job in order."""
        return self._store.events(self._store.get(tenant, job_id).id, after, limit)

    def cancel(self, tenant: str, job_id: str) -> TrainingJob:
        """End a job."""
        return self._store.cancel(tenant, job_id, self._clock.now())

    def resume(self, tenant: str, job_id: str) -> TrainingJob:
        """Queue a cancelled or failed job again."""
        now = self._clock.now()
        with self._atomic():
            if self._store.get(tenant, job_id).state in JOB_ENDED:
                self._refuse_beyond(tenant, now)
            return self._store.resume(tenant, job_id, now)

    def permit(self, tenant: str, run_id: str, *, allowed: bool, by: str) -> TrainingPermission:
        """Record whether runs may be trained on. A job that learns from a run of a withdrawn permission fails.

        Raises:
            NotFoundError: the tenant has no such run.
        """
        whole = self._readers.of(tenant).run(run_id).id if run_id else ""
        answer = TrainingPermission(tenant=tenant, run_id=whole, allowed=allowed, by=by, at=self._clock.now())
        self._store.permit(answer)
        return answer

    def permissions(self, tenant: str) -> list[TrainingPermission]:
        """The answers that count."""
        return self._store.permissions(tenant)

    def _refuse_beyond(self, tenant: str, now: datetime) -> None:
        """Refuse one more job of a tenant.

        Raises:
            QuotaError: the tenant has used up what it may.
        """
        quotas = self._accounts.quotas(tenant)
        if quotas.active_training_jobs is not None:
            self._accounts.hold(tenant)  # of several who come at once each counts those before it
            count = self._store.active(tenant)
            if count >= quotas.active_training_jobs:
                raise QuotaError(
                    f"the tenant has {count} of {quotas.active_training_jobs} training jobs that have not ended: wait"
                    " for one, or cancel it"
                )
        if quotas.training_seconds_per_day is not None:
            used = self._store.seconds(tenant, now - DAY)
            if used >= quotas.training_seconds_per_day:
                raise QuotaError(
                    f"the tenant has used {used:.0f} of {quotas.training_seconds_per_day} seconds of training in 24"
                    " hours: try again later"
                )

    @staticmethod
    def _refuse_place(tenant: str, request: Mapping[str, Any]) -> None:
        """Refuse a folder of the trainer, or an address of a server, that somebody else than the operator names.

        Raises:
            RefusedError: it is somebody else.
        """
        for name in ("model", "served"):
            if request.get(name) and tenant != DEFAULT_TENANT:
                raise RefusedError(
                    f"only the tenant {DEFAULT_TENANT} names {name}: start from a version, such as one that is shared"
                )

    def _is_new(self, tenant: str, request: Mapping[str, Any]) -> bool:
        """Whether the policy of a request is to be registered with the job.

        Raises:
            NotFoundError: there is no such policy, and the request does not register it.
            RefusedError: it is shared by the operator.
        """
        try:
            self._registry.own(tenant, request["policy"])
        except NotFoundError:
            if not request.get("new_policy"):
                raise
            return True
        return False

    def _register(self, tenant: str, request: Mapping[str, Any], by: str) -> None:
        """Register the policy of a request, unless another request has done so meanwhile.

        Raises:
            ConflictError: the name is taken by the installation.
        """
        try:
            self._registry.register(tenant, request["policy"], "", shared=False, by=by)
        except ConflictError:
            if self._is_new(tenant, request):
                raise

    def _runs(self, tenant: str, request: Mapping[str, Any]) -> list[str]:
        reader, may = self._readers.of(tenant), self.allowed(tenant)
        named = [reader.run(run_id).id for run_id in request["runs"]]
        refuse_unpermitted(named, may)
        if not (request["problem"] or request["labels"]):
            return list(dict.fromkeys(named))
        only = RunFilter(problem=request["problem"], labels=request["labels"])
        found = [run.id for run in reader.runs(MAX_RUNS, only=only) if may(run.id)]
        if not (found or named):
            raise UsageError("no run that may be trained on fits the filter: allow it, or name another")
        return list(dict.fromkeys([*named, *found]))

    def _tests(self, tenant: str, request: Mapping[str, Any], runs: Sequence[str]) -> list[str]:
        """The runs whose prompts compare versions.

        Raises:
            NotFoundError: the tenant has no such run.
            RefusedError: one may not be used.
            UsageError: one is of a problem that the job learns from.
        """
        reader = self._readers.of(tenant)
        found = {run.id: run for run in map(reader.run, request.get("test_runs") or ())}
        refuse_unpermitted(list(found), self.allowed(tenant))
        learnt = {reader.run(run_id).bundle_hash for run_id in runs} if found else set()
        for run in found.values():
            if run.bundle_hash in learnt:
                raise UsageError(
                    f"the run {run.id} is of {run.problem_name}, which the job learns from: name runs of other problems"
                    " in test_runs"
                )
        return list(found)

    def _texts(self, tenant: str, runs: Sequence[str]) -> list[str]:
        """The descriptions of the problems of runs, each once."""
        reader = self._readers.of(tenant)
        problems = dict.fromkeys(reader.run(run_id).problem_id for run_id in runs)
        return [self._description(self._problems.get(tenant, problem)) for problem in problems]

    def _description(self, problem: ProblemRecord) -> str:
        """The description of a problem. If it was run without a service, only its folder is stored.

        A folder that is damaged, or that this version cannot read, tells nothing.
        """
        if "description" in problem.document:
            return str(problem.document["description"])
        bundle = self._problems.bundle(problem.bundle_hash)
        try:
            return load_bundle(bundle, problem.name).problem.description
        except StorageAwayError:
            raise
        except (InvalidProblemError, StorageError):
            return ""

    def allowed(self, tenant: str, *, unanswered: bool = False) -> Callable[[str], bool]:
        """Whether a run of a tenant may be trained on.

        Args:
            tenant: whose runs.
            unanswered: what holds where nobody has answered.
        """
        answers = {one.run_id: one.allowed for one in self._store.permissions(tenant)}
        return lambda run_id: answers.get(run_id, answers.get("", unanswered))

    def reader(self, tenant: str) -> RunReader:
        """The runs of a tenant."""
        return self._readers.of(tenant)


def refuse_unpermitted(runs: Sequence[str], may: Callable[[str], bool]) -> None:
    """Refuse runs that may not be trained on.

    Raises:
        RefusedError: one may not.
    """
    for run_id in runs:
        if not may(run_id):
            raise RefusedError(
                f"the run {run_id} may not be trained on: allow it with evolve training allow {run_id}, or with"
                " PUT /v1/training-permissions"
            )
