"""Updates of policies within their runs: training jobs, whose versions are those of a policy that each run has."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from service.errors import ConflictError, NotFoundError, UsageError
from service.identifiers import new_id
from service.policy_settings.roles import is_version
from service.policy_settings.shipped import REGISTERED, find_folder
from service.ports import (
    DEFAULT_TENANT,
    JOB_CANCELLED,
    JOB_ENDED,
    JOB_QUEUED,
    JOB_SUCCEEDED,
    Clock,
    RunReader,
    RunRecord,
    RunTrainer,
    TrainingJob,
    TrainingStore,
    UpdateOrder,
    UpdateResult,
)
from service.ports.training_backends import RECORDS_FILE, UPDATE, UPDATE_FILE
from service.projections.candidates import objectives_of
from service.projections.export import training_lines
from service.usecases.model_folders import ModelFolders
from service.usecases.plan import RunPlan
from service.usecases.policy_registry import StoredPolicies

FIRST_VERSION = 1  # of a bundled policy: the model that the run began with
_PAGE = 100


# Gives a run who trains its policy. None: nobody does.
RunTrainers = Callable[[RunPlan], RunTrainer | None]


def no_trainer(_: RunPlan) -> None:
    """Nobody trains policies within runs."""


def backend_of(author: Mapping[str, Any]) -> str:
    """The back end that trains an author within a run: `maze` for a model that this process runs, else `trl`."""
    return "maze" if author.get("kind") == "bundled" else "trl"


def backends_of(runs: Iterable[RunRecord]) -> set[str]:
    """The back ends that train within stored runs."""
    learning = [run for run in runs if run.config.get("learning", {}).get("every")]
    return {backend_of(one) for run in learning for one in run.policies if one.get("role", "author") == "author"}


def policy_of_run(run_id: str) -> str:
    """The policy of the registry that holds the versions of a run."""
    return run_id.replace("_", "-").lower()


def jobs_of_run(store: TrainingStore, tenant: str, run_id: str) -> Iterator[TrainingJob]:
    """The updates of a run, newest first. Jobs of the tenant from before the run are not looked at."""
    policy = policy_of_run(run_id)
    before, earliest = "", run_id.partition("_")[2]
    while page := store.jobs(tenant, before, _PAGE):
        yield from (job for job in page if job.policy == policy)
        before = page[-1].id
        if before.partition("_")[2] < earliest:
            return


class StoredRunTrainer:
    """The port RunTrainer over the stores of an installation.

    Args:
        store: where jobs are.
        registry: policies and their versions.
        folders: unpacks models of the registry.
        clock: times of jobs.
        plan: the run. Its only author is a model that this process runs, or one behind a vLLM.

    Attributes:
        backend: `maze` for a model that this process runs, `trl` for an adapter.
    """

    def __init__(
        self, store: TrainingStore, registry: StoredPolicies, folders: ModelFolders, clock: Clock, plan: RunPlan
    ) -> None:
        self._store, self._clock = store, clock
        self._registry, self._folders, self._plan = registry, folders, plan
        self._tenant = plan.record.tenant if plan.record else DEFAULT_TENANT
        self._policy = policy_of_run(plan.run_id)
        (self._author,) = (policy for policy in plan.policies if policy.role == "author")
        self._served = self._author.kind != "bundled"
        self.backend = backend_of(self._author.describe())

    def submit(self, order: UpdateOrder) -> str:
        """Store the training job of an update, and return its id. Repeating stores nothing.

        Raises:
            NotFoundError, UsageError, StorageError: what the run began with is not there any more.
        """
        if (found := self._submitted(order.number)) is not None:
            return found.id
        self._register()
        start = self._first_adapter() if self._served else self._first_model()
        now = self._clock.now()
        settings = dict(order.settings)
        asked = {"run": self._plan.run_id, "number": order.number, "start": start, "settings": settings}
        asked |= {"after": order.after, "through": order.through, "answers": self._answers}
        request = {
            "backend": self.backend,
            "base": order.newest or start,
            "method": settings["objective"],
            "seed": settings["seed"],
            "texts": [self._plan.problem.description],
            UPDATE: asked,
        }
        if self._served:
            request |= {"model": self._plan.config.learning.model, "served": self._author.base_url}
        job = TrainingJob(
            id=new_id("trn", now),
            tenant=self._tenant,
            policy=self._policy,
            request=request,
            runs=[self._plan.run_id],
            created_by=self._plan.run_id,
            created_at=now,
        )
        self._store.add(job)
        return job.id

    def result(self, job_id: str) -> UpdateResult | None:
        """What came of a job. None: it has not ended."""
        job = self._store.get(self._tenant, job_id)
        if job.state not in JOB_ENDED:
            return None
        if job.state != JOB_SUCCEEDED or job.version is None:
            reason = "the training was cancelled" if job.state == JOB_CANCELLED else job.error
            return UpdateResult(reason=reason or "the training failed")
        version = self._registry.version(self._tenant, job.policy, job.version)
        figures = {name: round(float(value), 6) for name, value in job.progress.get("figures", {}).items()}
        return UpdateResult(policy=version.name, model=version.bundle_hash, figures=figures)

    def waits(self, job_id: str) -> bool:
        """Whether no trainer has taken a job."""
        return self._store.get(self._tenant, job_id).state == JOB_QUEUED

    def cancel(self, job_id: str) -> None:
        """End a job that the run does not need any more. One that has ended is left."""
        try:
            self._store.cancel(self._tenant, job_id, self._clock.now())
        except ConflictError:
            return

    @property
    def _answers(self) -> int:
        return int(self._plan.config.answers or self._author.answers)

    def _submitted(self, number: int) -> TrainingJob | None:
        """The job of an update, if an earlier sitting stored it. One that the end of the run cancelled is made anew."""
        jobs = (job for job in self._jobs() if job.request.get(UPDATE, {}).get("number") == number)
        return next((job for job in jobs if JOB_CANCELLED not in (job.state, job.desired_state)), None)

    def _jobs(self) -> Iterator[TrainingJob]:
        return jobs_of_run(self._store, self._tenant, self._plan.run_id)

    def _register(self) -> None:
        """Have a policy for the versions of the run."""
        try:
            self._registry.get(self._tenant, self._policy)
        except NotFoundError:
            described = f"Versions of {self._author.name} that {self._plan.run_id} trained within the run"
            self._registry.register(self._tenant, self._policy, described, shared=False, by=self._plan.run_id)

    def _first_adapter(self) -> str:
        """The version that the run began with. Empty: it began with a model without an adapter.

        Raises:
            UsageError: there is neither such a version nor a model that a trainer reads.
        """
        name = self._author.name
        if is_version(name):
            with suppress(NotFoundError):
                found = self._registry.named(self._tenant, name)
                if found.settings.get("model") == self._author.model:
                    return found.name
        if not self._plan.config.learning.model:
            raise UsageError(f"{name} is not an adapter of the registry: name the model that it serves, learning.model")
        return ""

    def _first_model(self) -> str:
        """The name of the version that holds the model of the start, which is stored at the first update."""
        name = f"{self._policy}@{FIRST_VERSION}"
        if not self._registry.versions(self._tenant, self._policy, limit=1):
            folder = self._folder()
            files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
            told = {"run": self._plan.run_id, "start": self._author.name}
            self._registry.add_version(
                self._tenant, self._policy, files, training=told, by=self._plan.run_id, asked=self._author.describe()
            )
        return name

    def _folder(self) -> Path:
        model = str(self._author.model)
        if model.startswith(REGISTERED):
            return self._folders.folder(model.removeprefix(REGISTERED))
        return find_folder(model)


def write_update(
    reader: RunReader, asked: Mapping[str, Any], newest: Path | None, start: Path | None, folder: Path
) -> None:
    """Write what a back end makes an update from: the run's training records so far, and the settings.

    Args:
        reader: of the run's tenant.
        asked: `update` of the job's request.
        newest, start: folders of the models or adapters. None: there is no adapter yet.
        folder: of the job.

    Raises:
        NotFoundError: the run was deleted.
        UsageError: the run has no answers to learn from.
    """
    run = reader.run(str(asked["run"]))
    lines = [line for line in training_lines(reader, run) if json.loads(line)["number"] <= asked["through"]]
    if not lines:
        raise UsageError(f"the run {run.id} has no answered proposals to learn from")
    (folder / RECORDS_FILE).write_text("".join(lines), encoding="utf-8")
    values = {
        "settings": dict(asked["settings"]),
        "newest": None if newest is None else str(newest),
        "start": None if start is None else str(start),
        "bounded": [objective.bounded for objective in objectives_of(run)] or [False],
        "after": asked["after"],
        "answers": asked["answers"],
        "card": f"# Update {asked['number']} of a policy within its run\n\nTrained on the answers of the run.\n",
    }
    (folder / UPDATE_FILE).write_text(json.dumps(values) + "\n", encoding="utf-8")
