"""Where runs and batches are: in a database, or with a service. Both are opened behind the same protocols."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from evolve.repository import Repository
from evolve.views.candidate_view import CandidateView
from service.bootstrap.storage import open_existing_storage, open_reader, open_storage
from service.client.service_choice import ServiceChoice, SourceOptions, choose_service
from service.config import database_url
from service.ports import DEFAULT_TENANT, Bundle, CandidateRecord, RunReader, RunRecord, Submissions
from service.projections.run_site import RunSite, stored_site

if TYPE_CHECKING:
    from service.client import Client
    from service.config import Settings
    from service.db.storage import SqlStorage
    from service.policy_settings.settings import PolicySettings
    from service.usecases.batches import Batches
    from service.usecases.control_runs import RunController
    from service.usecases.policy_registry import StoredPolicies
    from service.usecases.policy_site import PolicySite
    from service.usecases.run_leftovers import RunLeftovers
    from service.usecases.training_jobs import StoredTrainingJobs
    from service.usecases.training_site import TrainingSite


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSite:
    """A place where batches are.

    Attributes:
        storage: its database, whose batches this process runs; None: a service runs them.
        service: that service.
    """

    batches: "Batches"
    storage: "SqlStorage | None" = None
    service: ServiceChoice | None = None


@contextmanager
def open_site(settings: "Settings", where: SourceOptions) -> Iterator[RunSite]:
    """The place where runs are, for reading.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where, said=False):
        from service.client.run_site import remote_site

        with service.client() as client:
            yield replace(remote_site(client), repository=lambda run: _repository(_download(client, run)))
        return

    def repository(run: RunRecord) -> Repository | None:
        with open_existing_storage(settings, where.db) as storage:
            return _repository(storage.problems.bundle(run.bundle_hash))

    with open_reader(settings, where.db) as reader:
        site = stored_site(reader, database_url(settings, where.db))
        yield replace(site, repository=repository, drawn=partial(_drawn, settings, where, reader))


def _drawn(
    settings: "Settings", where: SourceOptions, reader: RunReader, candidate: CandidateRecord
) -> CandidateView | None:
    """The view of a candidate, which the sandbox of this process draws where it is drawn on demand."""
    view = reader.view(candidate.id)
    if view is None or not view.on_demand:
        return view
    from service.bootstrap.evaluators import choose_evaluators
    from service.usecases.draw_views import draw_candidate

    with open_existing_storage(settings, where.db) as storage:
        evaluators = choose_evaluators(settings, queue="", database=storage.url)
        return asyncio.run(draw_candidate(storage, evaluators, candidate))


@contextmanager
def open_bundles(settings: "Settings", where: SourceOptions) -> Iterator[tuple[RunSite, Callable[[RunRecord], Bundle]]]:
    """The place where runs are, for reading, and what gives the folder of a run's problem.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where, said=False):
        with service.client() as client:
            yield remote_bundles(client)
        return
    with open_existing_storage(settings, where.db) as storage:
        problems = storage.problems

        def stored(run: RunRecord) -> Bundle:
            return problems.bundle(run.bundle_hash)

        yield _with_repository(stored_site(storage.reader, storage.url), stored)


def remote_bundles(client: "Client") -> tuple[RunSite, Callable[[RunRecord], Bundle]]:
    """The runs of a service, for reading, and what gives the folder of a run's problem."""
    from service.client.run_site import remote_site

    return _with_repository(remote_site(client), partial(_download, client))


@contextmanager
def open_controller(settings: "Settings", where: SourceOptions) -> Iterator["RunController"]:
    """The place where runs are, for steering.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    from service.usecases.control_runs import RunController, StoredControl

    if service := choose_service(settings, where):
        from service.client.control import RemoteControl
        from service.client.run_site import remote_site

        with service.client() as client:
            yield RunController(site=remote_site(client), control=RemoteControl(client), alone=False)
        return
    with open_existing_storage(settings, where.db) as storage:
        control = StoredControl(
            storage, partial(_submissions, settings, storage), partial(_leftovers, settings, storage)
        )
        yield RunController(site=stored_site(storage.reader, storage.url), control=control, alone=True)


@contextmanager
def open_batches(settings: "Settings", where: SourceOptions, *, make: bool = False) -> Iterator[BatchSite]:
    """The place where batches are.

    Args:
        settings: of this installation.
        where: the place that the command names.
        make: whether a SQLite file that is not there is made.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    from service.usecases.batches import StoredBatches

    if service := choose_service(settings, where):
        from service.client.batches import RemoteBatches
        from service.problems.upload_request import upload_of

        with service.client() as client:
            yield BatchSite(batches=RemoteBatches(client, upload_of), service=service)
        return
    with (open_storage if make else open_existing_storage)(settings, where.db) as storage:
        submissions, registered = partial(_submissions, settings, storage), partial(_registered, settings, storage)
        batches = StoredBatches(
            storage, settings.policies, submissions, registered, leftovers=partial(_leftovers, settings, storage)
        )
        yield BatchSite(batches=batches, storage=storage)


def _with_repository(
    site: RunSite, bundle: Callable[[RunRecord], Bundle]
) -> tuple[RunSite, Callable[[RunRecord], Bundle]]:
    return replace(site, repository=lambda run: _repository(bundle(run))), bundle


def _download(client: "Client", run: RunRecord) -> Bundle:
    from service.client import calls

    return Bundle(hash=run.bundle_hash, content=client.send(calls.download_problem(run.problem_id)))


def _repository(bundle: Bundle) -> Repository | None:
    from service.problems.repository.bases import repository_of

    return repository_of(bundle)


@contextmanager
def open_policies(settings: "Settings", where: SourceOptions) -> Iterator["PolicySite"]:
    """The registry of policies. A SQLite file that is not there is made.

    Raises:
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where):
        from service.client.policies import RemotePolicySite

        with service.client() as client:
            yield RemotePolicySite(client)
        return
    from service.usecases.policy_site import StoredPolicySite

    with open_storage(settings, where.db) as storage:
        yield StoredPolicySite(storage.policies, partial(_registry, settings, storage))


@contextmanager
def open_training(settings: "Settings", where: SourceOptions) -> Iterator["TrainingSite"]:
    """Training jobs. A SQLite file that is not there is made.

    Raises:
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where):
        from service.client.training import RemoteTrainingSite

        with service.client() as client:
            yield RemoteTrainingSite(client)
        return
    from service.usecases.training_site import StoredTrainingSite

    with open_storage(settings, where.db) as storage:
        yield StoredTrainingSite(storage.training, partial(_training_jobs, settings, storage))


def _submissions(settings: "Settings", storage: "SqlStorage") -> Submissions:
    """Made when something is submitted: a command that pauses a run reads no policies."""
    from service.bootstrap.submissions import make_submissions

    return make_submissions(settings, storage)


def _leftovers(settings: "Settings", storage: "SqlStorage") -> "RunLeftovers":
    """Made when a run ends here. It reads the operator's policies if that run trained its policy."""
    from service.bootstrap.leftovers import make_leftovers

    return make_leftovers(settings, storage)


def _registry(settings: "Settings", storage: "SqlStorage") -> "StoredPolicies":
    """Made when something is changed: a command that lists policies reads none of the operator's."""
    from service.bootstrap.submissions import make_registry

    return make_registry(settings, storage)


def _training_jobs(settings: "Settings", storage: "SqlStorage") -> "StoredTrainingJobs":
    """Made when something is changed: a command that lists jobs needs no back ends."""
    from service.bootstrap.trainers import make_training_jobs

    return make_training_jobs(settings, storage)


def _registered(settings: "Settings", storage: "SqlStorage", words: str) -> "PolicySettings":
    """The policy of the registry that a name stands for."""
    return _registry(settings, storage).settings(DEFAULT_TENANT, words)
