"""The command `evolve flywheel run`: rounds of search, training, gate and promotion, each continued where it stands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread

from service.bootstrap.sites import BatchSite, open_batches, open_policies, open_site, open_training
from service.bootstrap.storage import open_storage
from service.bootstrap.trainers import BACKENDS, make_backends, make_trainer
from service.cli import formatting
from service.cli.batch_here import drive_batch, refuse_weak_isolation
from service.cli.batch_progress import batch_code, wait_for_batch
from service.cli.exit_codes import FAILED, INTERRUPTED, OK
from service.cli.flywheel_report import rounds_of, show_rounds
from service.cli.terminal import Terminal
from service.cli.training_jobs import follow_job
from service.client.service_choice import SourceOptions, choose_service
from service.config import load_settings
from service.errors import StorageError, UsageError
from service.ports import (
    DEFAULT_TENANT,
    ENDED,
    JOB_CANCELLED,
    JOB_ENDED,
    JOB_FAILED,
    JOB_SUCCEEDED,
    RunRecord,
    TrainingBackend,
)
from service.projections.run_site import RunSite
from service.schemas.batches import Batch
from service.telemetry import configure_logging
from service.usecases.flywheel import (
    FlywheelOrder,
    RecordedRound,
    held_out_batches,
    held_out_searches,
    jobs_before,
    recorded_rounds,
    refuse_other_order,
    refuse_unready,
    submit_held_out,
    submit_search,
    submit_training,
    training_of,
)
from service.usecases.flywheel_gate import refuse_few_held_out, refuse_few_searched
from service.usecases.policy_site import PolicySite
from service.usecases.version_settings import is_adapter

Backends = Callable[..., Mapping[str, TrainingBackend]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlywheelOptions:
    """The words of `evolve flywheel run`.

    Attributes:
        rounds: number of the last round.
        allowed: whether its own runs may be trained on.
        parallel, require_isolation: of runs in this process, as `evolve batch` has them.
        folder, threads, save_every: of the trainer in this process, as `evolve trainer` has them.
    """

    order: FlywheelOrder
    rounds: int
    allowed: bool = False
    parallel: int | None = None
    require_isolation: str | None = None
    folder: Path | None = None
    threads: int = 0
    save_every: int = 50


def run_flywheel(
    terminal: Terminal, where: SourceOptions, options: FlywheelOptions, backends: Backends = make_backends
) -> int:
    """Do the rounds that are missing, and return the exit code.

    Raises:
        NotFoundError, UsageError, RefusedError, ConflictError: the flywheel cannot begin, or was begun in another way.
    """
    configure_logging(terminal.verbosity, color=terminal.color)
    flywheel = _Flywheel(terminal, where, options, backends)
    flywheel.refuse()
    rounds = range(1, options.rounds + 1)
    phases: list[Callable[[], int]] = [flywheel.hold_out]
    for number in rounds:
        phases += [partial(flywheel.search, number), partial(flywheel.train, number)]
    for phase in phases:
        code = phase()
        if code != OK:
            if code == INTERRUPTED:
                terminal.note("Results so far are saved. Repeat the same command to continue.")
            return code
    found = rounds_of(where, options.order.name)
    if terminal.as_json:
        terminal.emit({"schema": 1, "kind": "flywheel.summary", "flywheel": options.order.name, "rounds": len(found)})
    else:
        show_rounds(terminal, found)
    return OK


class _Flywheel:
    """A sitting at a flywheel."""

    def __init__(self, terminal: Terminal, where: SourceOptions, options: FlywheelOptions, backends: Backends) -> None:
        self._terminal, self._where, self._options = terminal, where, options
        self._order, self._settings, self._backends = options.order, load_settings(), backends
        self._here = choose_service(self._settings, where, said=False) is None

    def refuse(self) -> None:
        """Refuse what would fail after hours of searching."""
        with open_training(self._settings, self._where) as training:
            with open_policies(self._settings, self._where) as policies:
                refuse_unready(self._order, training, policies, allowed=self._options.allowed)
                self._refuse_training()
                if not self._here:
                    _refuse_words_of_this_process(self._options)
                self._serve(policies)
            with self._batches() as site:
                name = self._order.name
                rounds = recorded_rounds(name, site.batches, training)
                refuse_other_order(self._order, rounds, held_out_batches(name, site.batches))
        if self._here:
            refuse_weak_isolation(self._options.require_isolation)
            self._refuse_missing()

    def _refuse_missing(self) -> None:
        """Refuse a back end that cannot train in this process.

        Raises:
            UsageError: packages are not installed.
        """
        if reason := self._opened()[str(self._order.training.get("backend", "maze"))].missing():
            raise UsageError(reason)

    def _refuse_training(self) -> None:
        """Refuse settings that the back end does not have.

        Raises:
            UsageError: they are off.
        """
        body = training_of(self._order, 1)
        backend = self._opened().get(body.backend) if self._here else BACKENDS.get(body.backend)
        if backend is None:
            if self._here:
                raise UsageError(f"there is no back end {body.backend!r}: name {', '.join(self._opened())}")
            return
        tests = ["held out"] if self._order.held_out else []
        backend.check({**body.model_dump(mode="json"), "test_runs": tests})

    def _opened(self) -> Mapping[str, TrainingBackend]:
        options = self._options
        return self._backends(settings=self._settings, threads=options.threads, save_every=options.save_every)

    def _serve(self, policies: PolicySite) -> None:
        """Let the vLLM of an adapter load the promoted version again, if it was restarted since.

        Raises:
            UnreachableError: it does not.
        """
        promoted = policies.get(self._order.policy).promoted
        found = next((one for one in policies.versions(self._order.policy) if one.version == promoted), None)
        if found is not None and is_adapter(found.settings):
            policies.promote(self._order.policy, found.version, "")

    def hold_out(self) -> int:
        """Search the held-out problems once, with the policy that the flywheel begins with.

        Raises:
            ServiceError: they leave too little for the gate.
        """
        if not self._order.held_out:
            return OK
        codes: list[int] = []
        with self._batches() as site:
            for batch in submit_held_out(self._order, site.batches):
                codes.append(self._finish(site, batch, f"searching {len(batch.request['runs'])} held-out problems"))
                if codes[-1] == INTERRUPTED:
                    return INTERRUPTED
            found = self._tests(site)
            with open_training(self._settings, self._where) as training:
                rounds = recorded_rounds(self._order.name, site.batches, training)
        if OK not in codes:
            return codes[-1]
        with open_site(self._settings, self._where) as records:
            refuse_few_held_out(self._order, rounds, found, partial(_records, records))
        return OK

    def _tests(self, site: BatchSite) -> list[RunRecord]:
        """The runs whose prompts compare versions."""
        searches = held_out_searches(self._order, site.batches) if self._order.held_out else []
        return [run for batch in searches for run in site.batches.runs(batch.id)]

    def search(self, number: int) -> int:
        """Search the problems of a round."""
        with self._batches() as site:
            found = self._round(site, number)
            batch = submit_search(self._order, number, site.batches) if found is None else found.batch
            return self._finish(site, batch, f"round {number}: searching {self._order.problems} problems")

    def _finish(self, site: BatchSite, batch: Batch, told: str) -> int:
        """Run a batch to its end, or see that it has ended. It is well if one of its runs succeeded."""
        runs = site.batches.runs(batch.id)
        if all(run.state in ENDED for run in runs):
            return OK if _succeeded(runs) else batch_code(self._terminal, runs, batch)
        self._terminal.note(told)
        code = self._drive(site, batch)
        return OK if code == FAILED and _succeeded(site.batches.runs(batch.id)) else code

    def _drive(self, site: BatchSite, batch: Batch) -> int:
        """Run a batch, or wait for it."""
        options = self._options
        try:
            if site.storage is None:
                wait_for_batch(self._terminal, site.batches, batch)
            elif drive_batch(self._terminal, site, batch, options.parallel, options.require_isolation):
                return INTERRUPTED
        except KeyboardInterrupt:
            return INTERRUPTED
        return batch_code(self._terminal, site.batches.runs(batch.id), batch)

    def train(self, number: int) -> int:
        """Train on what was searched. The job asks the gate, and promotes.

        Raises:
            ServiceError: no problems are held out, and the searched ones leave too little for the gate.
        """
        with open_training(self._settings, self._where) as training:
            with self._batches() as site:
                rounds = recorded_rounds(self._order.name, site.batches, training)
                found = next(one for one in rounds if one.number == number)
                tests = self._tests(site)
            if found.job is None and not tests:
                with open_site(self._settings, self._where) as records:
                    learnt = [run for one in rounds for run in one.runs]
                    refuse_few_searched(self._order, learnt, partial(_records, records))
            job = found.job or submit_training(self._order, found, training, tests, allowed=self._options.allowed)
            if job.state == JOB_SUCCEEDED:
                return OK
            self._terminal.note(f"round {number}: training {self._order.policy}")
            if job.state in (JOB_FAILED, JOB_CANCELLED):
                training.resume(job.id)
            job = training.get(job.id)
            able = [name for name, one in self._opened().items() if not one.missing()] if self._here else []
            if before := jobs_before(job, training, able):
                verb = "comes" if before == 1 else "come"
                self._terminal.note(f"{formatting.plural(before, 'training job')} of this database {verb} first")
            with self._trainer(job.id) if self._here else _nobody():
                try:
                    job = follow_job(self._terminal, training, job, job.sequence if found.job else 0)
                except KeyboardInterrupt:
                    return INTERRUPTED
        return OK if job.state == JOB_SUCCEEDED else INTERRUPTED if job.state == JOB_CANCELLED else FAILED

    def _round(self, site: BatchSite, number: int) -> RecordedRound | None:
        with open_training(self._settings, self._where) as training:
            rounds = recorded_rounds(self._order.name, site.batches, training)
        return next((found for found in rounds if found.number == number), None)

    @contextmanager
    def _batches(self) -> Iterator[BatchSite]:
        with open_batches(self._settings, self._where, make=True) as site:
            yield site

    @contextmanager
    def _trainer(self, job_id: str) -> Iterator[None]:
        """A trainer in this process, which takes jobs until this one has ended."""
        options = self._options
        backends = self._opened()
        with open_storage(self._settings, self._where.db) as storage:
            trainer = make_trainer(self._settings, storage, folder=options.folder, backends=backends)

            def ended() -> bool:
                try:
                    return storage.training.get(DEFAULT_TENANT, job_id).state in JOB_ENDED
                except StorageError:  # it waits for the database
                    return False

            thread = Thread(target=trainer.run, args=(ended,), name="trainer")
            thread.start()
            try:
                yield
            finally:
                trainer.leave()
                thread.join()


def _records(site: RunSite, run_id: str) -> Iterator[str]:
    return site.export(run_id, "training")


def _succeeded(runs: Sequence[RunRecord]) -> bool:
    """Whether runs leave something to train on, or to compare versions on."""
    return any(run.state == "succeeded" for run in runs)


def _refuse_words_of_this_process(options: FlywheelOptions) -> None:
    words = {
        "--parallel": options.parallel is not None,
        "--require-isolation": options.require_isolation is not None,
        "--folder": options.folder is not None,
        "--threads": options.threads != 0,
    }
    for word, given in words.items():
        if given:
            raise UsageError(f"{word} is for runs and trainings of this process: leave it out with a service")


@contextmanager
def _nobody() -> Iterator[None]:
    """A trainer of the service takes the job."""
    yield
