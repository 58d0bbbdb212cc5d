"""A trainer takes jobs by lease, stores what comes of them, asks the gate, and survives kill -9 anywhere."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import update

from service.bootstrap.storage import open_storage
from service.bootstrap.submissions import make_registry, make_submissions
from service.bootstrap.trainers import make_trainer, make_training_jobs
from service.cli import formatting
from service.cli.terminal import Terminal
from service.cli.trainer import JobLines
from service.config import DatabaseSettings, Settings
from service.db.policy_models import TrainingJobRow
from service.db.storage import SqlStorage
from service.errors import ConflictError, NotFoundError, RefusedError, UsageError
from service.ports import JOB_ENDED, HeldOutValues, RunRequest, TrainingBackend, TrainingJob, Upload
from service.ports.training_backends import TrainingTask
from service.trainer.job_lease import TrainerObserver
from tests.fakes.tiny_llama import write_model
from tests.fakes.training_backend import EVERY, JOURNAL, CountingBackend
from tests.patience import PATIENCE_SECONDS
from tests.unit.problems.folders import NATIVE, SCORE, SEED

FILES = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}
ROOT = Path(__file__).parents[2]


class Place:
    """An installation whose trainers count."""

    def __init__(self, folder: Path, settings: Settings, storage: SqlStorage) -> None:
        self.folder, self.settings, self.storage = folder, settings, storage
        self.registry = make_registry(settings, storage)
        self.jobs = make_training_jobs(settings, storage, {"count": CountingBackend()})

    def submit(self, steps: int = 12, **words: Any) -> TrainingJob:
        request = {
            "policy": "walker", "backend": "count", "base": "", "method": "", "runs": [], "problem": "", "labels": {},
            "seed": 3, "steps": steps, "max_seconds": 0, "test_problems": 8, "promote": False,
        }  # fmt: skip
        return self.jobs.submit("default", request | words, "ci")

    def train(self, backend: TrainingBackend | None = None, observer: TrainerObserver | None = None) -> None:
        """Train until no job is left."""
        backends = {"count": backend or CountingBackend()}
        trainer = make_trainer(self.settings, self.storage, folder=self.folder, backends=backends, observer=observer)
        trainer.run(lambda: all(job.state in JOB_ENDED for job in self.jobs.jobs("default")))

    def get(self, job: TrainingJob) -> TrainingJob:
        return self.jobs.get("default", job.id)

    def kinds(self, job: TrainingJob) -> list[str]:
        return [event.kind for event in self.jobs.events("default", job.id, limit=200)]

    def run(self) -> str:
        """A run that may not be trained on yet."""
        submissions = make_submissions(self.settings, self.storage)
        self.storage.problems.add(submissions.read_problem(Upload(name="", files=FILES)))
        return submissions.submit("default", RunRequest(problem="p", policy="syntax", labels={"family": "a"})).id


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the processes that count
    settings = Settings(database=DatabaseSettings(url=SecretStr(f"sqlite:///{tmp_path / 'evolve.db'}")))
    with open_storage(settings) as storage:
        found = Place(tmp_path / "training", settings, storage)
        found.registry.register("default", "walker", "", shared=False, by="")
        yield found


def files(folder: Path, seed: int) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in write_model(folder / str(seed), seed=seed).iterdir()}


def until(found: Any) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def beside(wait: Callable[[], None], act: Callable[[], object]) -> Iterator[None]:
    """Wait and then act in another thread while the block runs. The block ends with it, and with its error."""

    def wait_and_act() -> None:
        wait()
        act()

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(wait_and_act)
        yield
        acting.result()


def test_a_job_makes_a_version_that_tells_how_it_was_trained(place: Place) -> None:
    job = place.submit()
    assert (job.state, place.kinds(job)) == ("queued", ["training.queued"])
    place.train()
    job = place.get(job)
    assert (job.state, job.version, job.error) == ("succeeded", 1, "")
    assert (job.progress["step"], job.checkpoint) == (12, {"stage": "count", "step": 12})
    kinds = place.kinds(job)
    assert kinds[:2] == ["training.queued", "training.started"]
    assert kinds[-1] == "training.succeeded"
    assert {"training.checkpoint", "training.progress"} <= set(kinds)
    version = place.registry.version("default", "walker", 1)
    assert (version.training["job"], version.training["method"], version.created_by) == (job.id, "count", job.id)


def test_a_trainer_prints_a_line_when_a_job_begins_and_when_it_ends(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place.registry.add_version("default", "walker", files(tmp_path, 1))
    place.registry.promote("default", "walker", 1, by="")
    for backend in (CountingBackend(), CountingBackend(gain=-0.1), CountingBackend(fails=True)):
        job = place.submit(base="walker@1", promote=True)
        place.train(backend, JobLines(Terminal()))
        out, err = capsys.readouterr()
        lines = [line.partition(" ")[2] for line in err.splitlines()]
        own = f"{formatting.short(job.id)} walker"
        assert out == ""
        assert lines[0] == f"{own} started: from the beginning"
        assert all(line.startswith(own) for line in lines)
        if isinstance(place.get(job).version, int):
            assert sum(" progress: count " in line for line in lines) == 1
            promoted = place.registry.get("default", "walker").promoted == place.get(job).version
            assert f"{own} succeeded: version {place.get(job).version}, best@1 " in lines[-1]
            assert lines[-1].endswith(", promoted") == promoted
            assert ("Not promoted: " in lines[-1]) != promoted
        else:
            assert lines[-1] == f"{own} failed: the back end failed: the disk is full of numbers"
    place.submit()
    place.train(observer=JobLines(Terminal(verbosity=-1)))
    assert capsys.readouterr() == ("", "")


def test_a_trainer_says_that_it_waits_or_gives_a_job_back(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.submit()
    trainer = make_trainer(
        place.settings, place.storage, folder=place.folder, backends={"count": CountingBackend()},
        observer=JobLines(Terminal()),
    )  # fmt: skip
    printed: list[str] = []
    trainer.run(lambda: _waits(printed, capsys))
    place.submit(steps=10_000)
    given_back = make_trainer(
        place.settings, place.storage, folder=place.folder, backends={"count": CountingBackend(seconds=0.01)},
        observer=JobLines(Terminal()),
    )  # fmt: skip
    with beside(lambda: until(lambda: given_back.busy), given_back.leave):
        given_back.run()
    assert capsys.readouterr().err.rstrip().endswith(" walker released: another trainer continues it")


def _waits(printed: list[str], capsys: pytest.CaptureFixture[str]) -> bool:
    printed += capsys.readouterr().err.splitlines()
    return printed[-1:] == ["no further job is queued. Waiting for one"]


@pytest.mark.parametrize(("gain", "promoted"), [(0.1, 2), (-0.1, 1)])
def test_the_gate_decides_whether_a_jobs_version_is_promoted(
    place: Place, tmp_path: Path, gain: float, promoted: int
) -> None:
    place.registry.add_version("default", "walker", files(tmp_path, 1))
    place.registry.promote("default", "walker", 1, by="")
    job = place.submit(base="walker", promote=True)
    place.train(CountingBackend(gain=gain))
    assert place.registry.get("default", "walker").promoted == promoted
    told = place.jobs.events("default", job.id, limit=200)[-1].payload
    assert told["promoted"] == (promoted == 2)
    assert told["evaluation"]["difference"] == pytest.approx(gain * 1.35)
    assert ("must lie above 0" in told.get("refusal", "")) == (promoted == 1)
    assert place.registry.version("default", "walker", 2).base == "walker@1"


def test_a_back_end_that_fails_fails_the_job_with_its_words(place: Place) -> None:
    job = place.submit()
    place.train(CountingBackend(fails=True))
    failed = place.get(job)
    assert (failed.state, "the disk is full of numbers" in failed.error) == ("failed", True)
    place.jobs.resume("default", job.id)
    place.train()
    assert (place.get(job).state, place.get(job).error) == ("succeeded", "")
    with pytest.raises(ConflictError, match="has made version 1"):
        place.jobs.resume("default", job.id)


def test_a_job_is_cancelled_before_and_while_it_is_trained(place: Place) -> None:
    waiting, working = place.submit(), place.submit(steps=10_000)
    assert place.jobs.cancel("default", waiting.id).state == "cancelled"
    with beside(lambda: until(lambda: place.get(working).checkpoint), lambda: place.jobs.cancel("default", working.id)):
        place.train(CountingBackend(seconds=0.01))
    assert place.get(working).state == "cancelled"
    assert place.kinds(working)[-1] == "training.cancelled"


def test_a_cancelled_job_ends_with_the_trainer_that_leaves(place: Place) -> None:
    job = place.submit(steps=10_000)
    backend = CountingBackend(seconds=0.01)
    trainer = make_trainer(place.settings, place.storage, folder=place.folder, backends={"count": backend})
    assert not trainer.busy

    def cancel() -> None:
        assert trainer.busy
        place.jobs.cancel("default", job.id)
        trainer.leave()

    with beside(lambda: until(lambda: place.get(job).checkpoint), cancel):
        trainer.run()
    assert place.get(job).state == "cancelled"
    assert not trainer.busy


class Remembering(CountingBackend):
    """A back end that remembers what it may not evaluate on."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[set[str]] = []

    def evaluate(
        self, job: TrainingTask, model: Path, seen: Collection[str], stopped: threading.Event
    ) -> HeldOutValues:
        self.seen.append(set(seen))
        return super().evaluate(job, model, seen, stopped)

    def training(self, job: TrainingTask, folder: Path) -> Mapping[str, Any]:
        return {"problems": ["own"], "held_out": "Compared on problems of its family."}


def test_a_version_is_evaluated_on_nothing_that_it_or_the_promoted_one_was_trained_on(
    place: Place, tmp_path: Path
) -> None:
    place.registry.add_version("default", "walker", files(tmp_path, 1), training={"problems": ["base's"]})
    place.registry.add_version("default", "walker", files(tmp_path, 2), training={"problems": ["promoted's"]})
    place.registry.promote("default", "walker", 2, by="")
    job, backend = place.submit(base="walker@1"), Remembering()
    place.train(backend)
    assert place.get(job).error == ""
    assert backend.seen == [{"own", "base's", "promoted's"}] * 2
    card = place.registry.version("default", "walker", 3).card
    assert card.endswith("\n\n## Evaluation gate\n\nCompared on problems of its family.\n")


class Evaluating(CountingBackend):
    """A back end whose evaluations last until they are stopped."""

    def __init__(self) -> None:
        super().__init__()
        self._evaluates = threading.Event()

    def until_it_evaluates(self) -> None:
        assert self._evaluates.wait(PATIENCE_SECONDS)

    def evaluate(
        self, job: TrainingTask, model: Path, seen: Collection[str], stopped: threading.Event
    ) -> HeldOutValues:
        self._evaluates.set()
        assert stopped.wait(PATIENCE_SECONDS)
        raise ConflictError("the evaluation was stopped")


def test_a_job_is_cancelled_while_its_version_is_evaluated(place: Place, tmp_path: Path) -> None:
    place.registry.add_version("default", "walker", files(tmp_path, 1))
    place.registry.promote("default", "walker", 1, by="")
    job, backend = place.submit(promote=True), Evaluating()
    with beside(backend.until_it_evaluates, lambda: place.jobs.cancel("default", job.id)):
        place.train(backend)
    assert (place.get(job).state, place.get(job).error) == ("cancelled", "")
    assert place.registry.version("default", "walker", 2).state == "candidate"
    place.jobs.resume("default", job.id)
    place.train()
    assert (place.get(job).version, place.registry.get("default", "walker").promoted) == (2, 2)


def test_a_trainer_leaves_while_a_version_is_evaluated(place: Place, tmp_path: Path) -> None:
    place.registry.add_version("default", "walker", files(tmp_path, 1))
    place.registry.promote("default", "walker", 1, by="")
    job, backend = place.submit(), Evaluating()
    trainer = make_trainer(place.settings, place.storage, folder=place.folder, backends={"count": backend})
    with beside(backend.until_it_evaluates, trainer.leave):
        trainer.run()
    assert place.get(job).state == "running"
    place.train()
    assert (place.get(job).state, place.get(job).version) == ("succeeded", 2)


def test_a_killed_trainer_loses_at_most_a_checkpoint_interval(place: Place) -> None:
    job, steps = place.submit(steps=60), 60
    journal = place.folder / job.id / JOURNAL

    def counted() -> list[tuple[int, int]]:
        lines = journal.read_text().splitlines() if journal.exists() else []
        return [(int(pid), int(step)) for pid, step in (line.split() for line in lines)]

    words = [sys.executable, "-m", "tests.fakes.counting_trainer", place.storage.url, str(place.folder), "0.05"]
    for number in range(1, 4):
        trainer = subprocess.Popen(words, cwd=ROOT)
        until(lambda number=number: len({pid for pid, _ in counted()}) == number and counted()[-1][1] >= 11 * number)
        os.kill(trainer.pid, signal.SIGKILL)
        trainer.wait()
        until(lambda: not alive(counted()[-1][0]))  # its back end dies with it
    place.train()
    assert place.get(job).state == "succeeded"
    assert [found.training["job"] for found in place.registry.versions("default", "walker")] == [job.id]
    sittings: dict[int, list[int]] = {}
    for pid, step in counted():
        sittings.setdefault(pid, []).append(step)
    before = 0
    for found in sittings.values():
        assert before - found[0] + 1 <= EVERY  # steps that were done and are done again
        assert found[0] <= before + 1
        before = found[-1]
    assert (len(sittings), before) == (4, steps)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_trainer_that_is_killed_between_version_and_end_stores_no_second(place: Place) -> None:
    job = place.submit()
    place.train()
    assert place.get(job).version == 1
    with place.storage.database.write() as connection:
        # The version is there, and the job is as it was when the trainer died.
        connection.execute(update(TrainingJobRow).values(state="running", version=None))
    place.train()
    assert (place.get(job).state, place.get(job).version) == ("succeeded", 1)
    assert len(place.registry.versions("default", "walker")) == 1


def test_only_runs_that_are_allowed_are_trained_on(place: Place) -> None:
    run = place.run()
    with pytest.raises(RefusedError, match="may not be trained on"):
        place.submit(runs=[run])
    with pytest.raises(UsageError, match="no run that may be trained on"):
        place.submit(labels={"family": "a"})
    place.jobs.permit("default", "", allowed=True, by="ci")
    assert place.submit(labels={"family": "a"}).runs == [run]
    place.jobs.permit("default", run, allowed=False, by="ci")
    with pytest.raises(RefusedError):
        place.submit(runs=[run])
    assert [(one.run_id, one.allowed) for one in place.jobs.permissions("default")] == [("", True), (run, False)]


def test_a_job_whose_permission_was_withdrawn_fails_and_makes_no_version(place: Place) -> None:
    run = place.run()
    place.jobs.permit("default", run, allowed=True, by="ci")
    job = place.submit(runs=[run])
    place.jobs.permit("default", run, allowed=False, by="ci")
    place.train()
    assert (place.get(job).state, "may not be trained on" in place.get(job).error) == ("failed", True)
    assert place.registry.versions("default", "walker") == []


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"backend": "absent"}, UsageError),
        ({"policy": "absent"}, NotFoundError),
        ({"base": "walker@7"}, NotFoundError),
        ({"base": "walker"}, UsageError),
        ({"runs": ["run_0199aaaa"]}, NotFoundError),
    ],
)
def test_a_job_that_cannot_be_is_refused(place: Place, words: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        place.submit(**words)


def test_a_job_that_takes_longer_than_its_budget_fails_with_its_checkpoint_kept(place: Place) -> None:
    job = place.submit(steps=10_000, max_seconds=2)
    backend = CountingBackend(seconds=0.02)
    place.train(backend)
    failed = place.get(job)
    assert (failed.state, "budget of 2 seconds" in failed.error) == ("failed", True)
    left = backend.checkpoint(place.folder / job.id).get("step", 0)
    assert left - failed.checkpoint.get("step", 0) <= EVERY
