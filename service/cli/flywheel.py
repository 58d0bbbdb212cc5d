"""The command `evolve flywheel run`: rounds of search, training, gate and promotion, each continued where it stands."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from service.bootstrap.sites import BatchSite, open_batches, open_policies, open_training
from service.bootstrap.storage import open_storage
from service.bootstrap.trainers import make_backends, make_trainer
from service.cli.batch_here import drive_batch, refuse_weak_isolation
from service.cli.batch_progress import batch_code, wait_for_batch
from service.cli.exit_codes import FAILED, INTERRUPTED, OK
from service.cli.flywheel_report import rounds_of, show_rounds
from service.cli.terminal import Terminal
from service.cli.training_jobs import follow_job
from service.client.service_choice import SourceOptions, choose_service
from service.config import load_settings
from service.errors import StorageError, UsageError
from service.ports import DEFAULT_TENANT, ENDED, JOB_CANCELLED, JOB_ENDED, JOB_FAILED, JOB_SUCCEEDED, TrainingBackend
from service.usecases.flywheel import (
    FlywheelOrder,
    RecordedRound,
    recorded_rounds,
    refuse_other_order,
    refuse_unready,
    submit_search,
    submit_training,
)

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
    flywheel = _Flywheel(terminal, where, options, backends)
    flywheel.refuse()
    for number in range(1, options.rounds + 1):
        for phase in (flywheel.search, flywheel.train):
            code = phase(number)
            if code != OK:
                if code == INTERRUPTED:
                    terminal.note("Results so far are saved. Repeat the same command to continue.")
                return code
    rounds = rounds_of(where, options.order.name)
    if terminal.as_json:
        terminal.emit({"schema": 1, "kind": "flywheel.summary", "flywheel": options.order.name, "rounds": len(rounds)})
    else:
        show_rounds(terminal, rounds)
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
            with self._batches() as site:
                refuse_other_order(self._order, recorded_rounds(self._order.name, site.batches, training))
        if not self._here:
            _refuse_words_of_this_process(self._options)
            return
        refuse_weak_isolation(self._options.require_isolation)
        if self._backends is make_backends and self._order.training.get("backend") == "maze":
            from service.cli.train import check_frameworks

            check_frameworks()

    def search(self, number: int) -> int:
        """Search the problems of a round."""
        with self._batches() as site:
            found = self._round(site, number)
            batch = submit_search(self._order, number, site.batches) if found is None else found.batch
            if found is not None and all(run.state in ENDED for run in found.runs):
                return _searched(found)
            self._terminal.note(f"round {number}: searching {self._order.problems} problems")
            options = self._options
            try:
                if site.storage is None:
                    wait_for_batch(self._terminal, site.batches, batch)
                elif drive_batch(self._terminal, site, batch, options.parallel, options.require_isolation):
                    return INTERRUPTED
            except KeyboardInterrupt:
                return INTERRUPTED
            code = batch_code(self._terminal, site.batches.runs(batch.id), batch)
            found = self._round(site, number)
            assert found is not None
            return _searched(found) if code == FAILED else code

    def train(self, number: int) -> int:
        """Train on what was searched. The job asks the gate, and promotes."""
        with open_training(self._settings, self._where) as training:
            with self._batches() as site:
                found = self._round(site, number)
            assert found is not None
            job = found.job or submit_training(self._order, found, training, allowed=self._options.allowed)
            if job.state == JOB_SUCCEEDED:
                return OK
            self._terminal.note(f"round {number}: training {self._order.policy}")
            if job.state in (JOB_FAILED, JOB_CANCELLED):
                training.resume(job.id)
            job = training.get(job.id)
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
        backends = self._backends(settings=self._settings, threads=options.threads, save_every=options.save_every)
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


def _searched(found: RecordedRound) -> int:
    """Whether a round has something to train on."""
    return OK if any(run.state == "succeeded" for run in found.runs) else FAILED


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
