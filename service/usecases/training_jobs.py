"""Training jobs: what front doors ask for, what may be trained on, and what becomes of a trained model."""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from service.errors import (
    ConflictError,
    InvalidProblemError,
    NotFoundError,
    RefusedError,
    StorageAwayError,
    StorageError,
    UsageError,
)
from service.identifiers import new_id
from service.policy_settings.shipped import REGISTERED
from service.ports import (
    Clock,
    HeldOutValues,
    PolicyEvaluation,
    PolicyVersion,
    ProblemRecord,
    ProblemStore,
    Readers,
    RunFilter,
    RunReader,
    TrainingBackend,
    TrainingEvent,
    TrainingJob,
    TrainingPermission,
    TrainingStore,
)
from service.problems.load import load_bundle
from service.trainer.maze import UPDATE
from service.trainer.trainer import PublishedVersion
from service.usecases.model_folders import ModelFolders
from service.usecases.policy_registry import CARD_FILE, StoredPolicies
from service.usecases.run_learning import write_update

MAX_RUNS = 1000
# Of an evaluation, what an event has.
_TOLD = ("metric", "mean", "baseline_mean", "difference", "low", "high")
# Of a request, what a job has as fields of its own.
_OWN = ("policy", "runs")


class StoredTrainingJobs:
    """The port TrainingJobs over the stores.

    Args:
        store: where jobs are.
        registry: policies and their versions.
        readers: runs by tenant.
        problems: those of the runs.
        clock: times of jobs.
        backends: names of the back ends that trainers of this version have.
    """

    def __init__(
        self,
        store: TrainingStore,
        registry: StoredPolicies,
        readers: Readers,
        problems: ProblemStore,
        clock: Clock,
        backends: Collection[str],
    ) -> None:
        self._store, self._registry, self._readers = store, registry, readers
        self._problems, self._clock, self._backends = problems, clock, backends

    def submit(self, tenant: str, request: Mapping[str, Any], by: str) -> TrainingJob:
        """Store a job, queued.

        Raises:
            NotFoundError: the tenant has no such policy, base or run.
            RefusedError: the policy is not its own, or a run may not be trained on.
            UsageError: there is no such back end, or no run fits the filter.
        """
        if request["backend"] not in self._backends:
            raise UsageError(f"there is no back end {request['backend'][:60]!r}: name {', '.join(self._backends)}")
        policy = self._registry.own(tenant, request["policy"])
        base = self._registry.named(tenant, request["base"]).name if request["base"] else ""
        runs = self._runs(tenant, request)
        now = self._clock.now()
        wanted = {name: value for name, value in request.items() if name not in _OWN}
        wanted |= {"base": base, "texts": self._texts(tenant, runs)}
        job = TrainingJob(
            id=new_id("trn", now),
            tenant=tenant,
            policy=policy.name,
            request=wanted,
            runs=runs,
            created_by=by,
            created_at=now,
        )
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
        return self._store.resume(tenant, job_id, self._clock.now())

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
            raise RefusedError(f"the run {run_id} may not be trained on: allow it with PUT /v1/training-permissions")


class VersionPublisher:
    """The port Publisher: bases from the registry, versions into it.

    Args:
        jobs: says what may be trained on.
        registry: policies and their versions.
        folders: unpacks the versions.
    """

    def __init__(self, jobs: StoredTrainingJobs, registry: StoredPolicies, folders: ModelFolders) -> None:
        self._jobs, self._registry, self._folders = jobs, registry, folders

    def base(self, job: TrainingJob) -> Path | None:
        """Folder of the version that a job starts from. None: it starts from scratch."""
        base = str(job.request.get("base", ""))
        return self._folder(self._registry.named(job.tenant, base)) if base else None

    def check(self, job: TrainingJob) -> None:
        """Refuse a job whose runs may not be trained on any more. A run that trains its own policy asked for that."""
        refuse_unpermitted(job.runs, self._jobs.allowed(job.tenant, unanswered=UPDATE in job.request))

    def prepare(self, job: TrainingJob, base: Path | None, folder: Path) -> None:
        """Write what a job learns from, if it updates the policy of a run."""
        asked = job.request.get(UPDATE)
        if asked is not None and base is not None:
            start = self._folder(self._registry.named(job.tenant, asked["start"]))
            write_update(self._jobs.reader(job.tenant), asked, base, start, folder)

    def publish(self, job: TrainingJob, backend: TrainingBackend, model: Path, stopped: Event) -> PublishedVersion:
        """Store a model as a version, evaluate it, and promote it if the job asks for it. Repeating stores nothing."""
        self.check(job)
        found = self._stored(job) or self._store(job, backend, model)
        promoted = self._registry.get(job.tenant, job.policy).promoted
        told: Mapping[str, Any] = {}
        if promoted is not None and promoted != found.version and job.request.get("test_problems"):
            other = self._registry.version(job.tenant, job.policy, promoted)
            found = self._evaluate(job, backend, model, found, other, stopped)
            told = {name: found.evaluations[-1][name] for name in _TOLD}
        if not job.request.get("promote"):
            return PublishedVersion(version=found.version, evaluation=told)
        try:
            self._registry.serve(job.tenant, job.policy, found.version)
            self._registry.promote(job.tenant, job.policy, found.version, by=job.id)
        except ConflictError as error:
            return PublishedVersion(version=found.version, evaluation=told, refusal=str(error))
        return PublishedVersion(version=found.version, evaluation=told, promoted=True)

    def _store(self, job: TrainingJob, backend: TrainingBackend, model: Path) -> PolicyVersion:
        files = {str(path.relative_to(model)): path.read_bytes() for path in model.rglob("*") if path.is_file()}
        trained = backend.training(job)
        training = {"job": job.id, "backend": job.request["backend"], "runs": list(job.runs), **trained}
        try:
            json.dumps(training, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"what the back end tells of its training is not JSON: {error}") from error
        base = str(job.request.get("base", ""))
        card = _card(files.get(CARD_FILE, b"").decode(errors="replace"), str(training.get("held_out", "")))
        return self._registry.add_version(
            job.tenant, job.policy, files, base=base, training=training, card=card, by=job.id
        )

    def _stored(self, job: TrainingJob) -> PolicyVersion | None:
        """The version that a trainer stored before it was killed."""
        versions = self._registry.versions(job.tenant, job.policy, limit=200)
        return next((found for found in versions if found.training.get("job") == job.id), None)

    def _evaluate(
        self,
        job: TrainingJob,
        backend: TrainingBackend,
        model: Path,
        found: PolicyVersion,
        promoted: PolicyVersion,
        stopped: Event,
    ) -> PolicyVersion:
        """Evaluate a version and the promoted one on the same held-out problems."""
        other = self._folder(promoted)
        copy = model.parent / f"promoted-{other.name[:12]}"
        if not copy.exists():
            copy.symlink_to(other, target_is_directory=True)  # its evaluation is written beside it
        trained_on = self._registry.trained_on
        seen = frozenset(trained_on(found) | trained_on(promoted))
        own, theirs = (backend.evaluate(job, folder, seen, stopped) for folder in (model, copy))
        return self._registry.evaluate(job.tenant, job.policy, found.version, paired(own, theirs, promoted.version))

    def _folder(self, found: PolicyVersion) -> Path:
        model = str(found.settings.get("model", ""))
        if not model.startswith(REGISTERED):
            raise NotFoundError(f"{found.name} has no folder")
        return self._folders.folder(found.bundle_hash)


def _card(text: str, held_out: str) -> str:
    """A model's card, with a section about the problems of the evaluation gate."""
    return f"{text.rstrip()}\n\n## Evaluation gate\n\n{held_out}\n" if held_out else text


def paired(own: HeldOutValues, theirs: HeldOutValues, against: int) -> PolicyEvaluation:
    """An evaluation of two models on the same problems.

    Raises:
        UsageError: a value is not a finite number.
    """
    if not all(map(math.isfinite, (*own.values, *theirs.values))):
        raise UsageError(f"the evaluation gave a value of {own.metric} that is not a finite number: train again")
    return PolicyEvaluation(
        against=against, metric=own.metric, problems=own.problems, values=own.values, baseline=theirs.values
    )
