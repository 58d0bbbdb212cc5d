"""What becomes of a trained model or adapter: a version of its policy, its evaluation, and its promotion."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

from service.errors import ConflictError, UnreachableError, UsageError
from service.policy_settings.shipped import ADAPTER_DEFAULTS, DEFAULTS_FILE
from service.ports import (
    HeldOutValues,
    PolicyEvaluation,
    PolicyVersion,
    TrainingBackend,
    TrainingJob,
)
from service.ports.training_backends import UPDATE, held_out_runs
from service.trainer.trainer import PublishedVersion
from service.usecases.model_folders import ModelFolders
from service.usecases.policy_registry import CARD_FILE, StoredPolicies
from service.usecases.run_data import RunDataWriter, forget_runs
from service.usecases.run_learning import write_update
from service.usecases.training_jobs import StoredTrainingJobs, refuse_unpermitted
from service.usecases.version_settings import ADAPTER_CONFIG, asked_alike, author_settings, is_adapter

# Of an evaluation, what an event has.
_TOLD = ("metric", "mean", "baseline_mean", "difference", "low", "high")


class VersionPublisher:
    """The port Publisher: bases from the registry, versions into it.

    Args:
        jobs: says what may be trained on.
        registry: policies and their versions.
        folders: unpacks the versions.
        runs: writes the runs of jobs.
    """

    def __init__(
        self, jobs: StoredTrainingJobs, registry: StoredPolicies, folders: ModelFolders, runs: RunDataWriter
    ) -> None:
        self._jobs, self._registry, self._folders, self._runs = jobs, registry, folders, runs

    def prepare(self, job: TrainingJob, backend: TrainingBackend, base: Path | None, folder: Path) -> None:
        """Write what a job updates the policy of its run by, or what a back end needs of the runs of a job."""
        asked = job.request.get(UPDATE)
        if asked is not None:
            start = self._folder(self._registry.named(job.tenant, asked["start"])) if asked["start"] else None
            write_update(self._jobs.reader(job.tenant), asked, base, start, folder)
        else:
            self._runs.write(job, backend.needs, folder)

    def forget(self, folder: Path) -> None:
        """Remove the runs of a job from its folder."""
        forget_runs(folder)

    def base(self, job: TrainingJob) -> Path | None:
        """Folder of the version that a job starts from. None: it starts from scratch."""
        base = str(job.request.get("base", ""))
        return self._folder(self._registry.named(job.tenant, base)) if base else None

    def check(self, job: TrainingJob) -> None:
        """Refuse a job whose runs may not be trained on any more. A run that trains its own policy asked for that."""
        refuse_unpermitted(
            [*job.runs, *held_out_runs(job)], self._jobs.allowed(job.tenant, unanswered=UPDATE in job.request)
        )

    def publish(self, job: TrainingJob, backend: TrainingBackend, folder: Path, stopped: Event) -> PublishedVersion:
        """Store a model as a version, evaluate it, and promote it if the job asks for it. Repeating stores nothing."""
        self.check(job)
        model = backend.model(job, folder)
        found = self._stored(job) or self._store(job, backend, model, folder)
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
        except (ConflictError, UnreachableError) as error:  # the gate, or the vLLM, which does not answer with it
            return PublishedVersion(version=found.version, evaluation=told, refusal=str(error))
        return PublishedVersion(version=found.version, evaluation=told, promoted=True)

    def _store(self, job: TrainingJob, backend: TrainingBackend, model: Path, folder: Path) -> PolicyVersion:
        asked = self._ask_alike(job, model)
        files = {str(path.relative_to(model)): path.read_bytes() for path in model.rglob("*") if path.is_file()}
        trained = backend.training(job, folder)
        training = {"job": job.id, "backend": job.request["backend"], "runs": list(job.runs), **trained}
        try:
            json.dumps(training, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"what the back end tells of its training is not JSON: {error}") from error
        base = str(job.request.get("base", ""))
        served = self._served(job, base) if ADAPTER_CONFIG in files else ""
        card = _card(files.get(CARD_FILE, b"").decode(errors="replace"), str(training.get("held_out", "")))
        return self._registry.add_version(
            job.tenant,
            job.policy,
            files,
            base=base,
            training=training,
            card=card,
            by=job.id,
            served=served,
            asked=asked,
        )

    def _ask_alike(self, job: TrainingJob, model: Path) -> Mapping[str, Any]:
        """How runs ask a version beyond what its folder says; what that can say of an adapter is written into it.

        An update is asked as its run asks its policy. Another adapter is asked as the promoted version, else its base.
        """
        adapter, update = (model / ADAPTER_CONFIG).is_file(), job.request.get(UPDATE)
        if update is not None:
            like = author_settings(self._jobs.reader(job.tenant).run(str(update["run"])))
        else:
            like = self._comparable(job) if adapter else {}
        if adapter and not (model / DEFAULTS_FILE).exists() and (text := asked_alike(like)):
            (model / DEFAULTS_FILE).write_text(text, encoding="utf-8")
        if update is not None:
            return like
        return {name: value for name, value in like.items() if name not in ADAPTER_DEFAULTS}

    def _comparable(self, job: TrainingJob) -> Mapping[str, Any]:
        promoted = self._registry.get(job.tenant, job.policy).promoted
        like = str(job.request.get("base", "")) if promoted is None else f"{job.policy}@{promoted}"
        return self._registry.named(job.tenant, like).settings if like else {}

    def _served(self, job: TrainingJob, base: str) -> str:
        """The address of the vLLM that serves an adapter: that of the job, else that of the base.

        Raises:
            UsageError: neither has one.
        """
        if job.request.get("served"):
            return str(job.request["served"])
        settings = self._registry.named(job.tenant, base).settings if base else {}
        if not (settings and is_adapter(settings)):
            raise UsageError("the adapter has no vLLM: name its address in served")
        return str(settings["base_url"])

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
