"""A back end with a fault fails its job with one sentence, and the trainer takes the next job."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from service.ports import HeldOutValues, TrainingStep
from service.ports.training_backends import TrainingTask
from service.projections.training import event_reply, job_reply
from service.trainer import backend_process
from service.trainer.trainer import MAX_STARTS
from tests.fakes.training_backend import CHECKPOINT, JOURNAL, CountingBackend
from tests.integration.test_trainer import ROOT, Place, alive, files, place, until

__all__ = ["place"]  # a fixture

STEP = TrainingStep(stage="count", step=1, steps=2, figures={})


class Script(CountingBackend):
    """A back end whose process is a script."""

    def __init__(self, script: str) -> None:
        super().__init__()
        self._script = script

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        return [sys.executable, "-c", self._script]


class Faulty(CountingBackend):
    """A back end one of whose methods is another."""

    def __init__(self, name: str, method: Callable[..., Any]) -> None:
        super().__init__()
        setattr(self, name, method)


def raising(error: Exception) -> Callable[..., Any]:
    def method(*_: object) -> Any:
        raise error

    return method


def failed(place: Place, backend: CountingBackend) -> str:
    """Why a job failed that a back end with a fault trained; the next job is trained by the same trainer."""
    job = place.submit()
    place.train(backend)
    found = place.get(job)
    assert found.state == "failed"
    assert found.finished_at is not None
    assert place.kinds(job).count("training.started") <= 1
    assert place.jobs.events("default", job.id, limit=200)[-1].payload == {"error": found.error}
    assert found.error == " ".join(found.error.split())
    assert 0 < len(found.error) <= backend_process.MAX_ERROR_CHARACTERS
    assert "Traceback" not in found.error
    return found.error


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("import os; os.kill(os.getpid(), 9)", "the back end was killed (SIGKILL), as the kernel does when memory"),
        ("import sys; sys.exit(137)", "the back end was killed (SIGKILL), as the kernel does when memory"),
        ("import os; os.abort()", "the back end was ended by the signal SIGABRT"),
        ("import os, sys; sys.stderr.write('lost\\n'); sys.stderr.flush(); os.kill(os.getpid(), 11)",
         "the back end was ended by the signal SIGSEGV: lost"),
        ("raise MemoryError", "the back end ran out of memory: MemoryError"),
        ("raise RuntimeError('DefaultCPUAllocator: can\\'t allocate memory: you tried 9 bytes')",
         "the back end ran out of memory: RuntimeError: DefaultCPUAllocator"),
        ("raise ValueError('not\\x00 a\\x1b[1m\\nnumber \\udcff')", "the back end failed: number"),
        ("import sys; sys.exit(3)", "the back end failed: exit code 3"),
        ("import sys; sys.exit('{\"error\": {\"code\": \"usage\", \"message\": \"no torch\"}}')", "failed: no torch"),
        ("import sys; sys.exit('x' * 3_000_000)", "the back end failed: xxx"),
        ("print('{')", "the back end failed: JSONDecodeError"),
        ("print('{\"step\": NaN, \"steps\": 3}')", "the back end told a step without a number"),
        ("print('{\"step\": 100000000000000000000, \"steps\": 3}')", "the back end told a step without a number"),
    ],
)  # fmt: skip
def test_a_process_that_fails_fails_its_job_with_a_sentence(place: Place, script: str, sentence: str) -> None:
    assert sentence in failed(place, Script(script))


@pytest.mark.parametrize(
    ("name", "method", "sentence"),
    [
        ("command", raising(KeyError("steps")), "the back end failed: KeyError: 'steps'"),
        ("command", lambda *_: ["/absent/trainer"], "No such file or directory"),
        ("read", raising(RecursionError("deep")), "the back end failed: RecursionError: deep"),
        ("checkpoint", raising(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")), "UnicodeDecodeError"),
        ("checkpoint", lambda *_: {"step": 1}, "named a checkpoint without a stage and a step"),
        ("checkpoint", lambda *_: {"stage": "count", "step": -1}, "named a checkpoint without a stage and a step"),
        ("model", lambda *_: Path("/absent"), "the model's folder has no"),
        ("training", lambda *_: {"loss": float("nan")}, "what the back end tells of its training is not JSON"),
        ("training", raising(ZeroDivisionError("division by zero")), "ZeroDivisionError: division by zero"),
    ],
)
def test_a_method_that_fails_fails_its_job_with_a_sentence(
    place: Place, name: str, method: Callable[..., Any], sentence: str
) -> None:
    assert sentence in failed(place, Faulty(name, method))
    assert place.registry.versions("default", "walker") == []


def test_a_damaged_checkpoint_fails_the_job_until_it_is_removed(place: Place) -> None:
    job = place.submit()
    (place.folder / job.id).mkdir(parents=True)
    (place.folder / job.id / CHECKPOINT).write_text('{"step"')
    place.train()
    assert (place.get(job).state, "JSONDecodeError" in place.get(job).error) == ("failed", True)
    (place.folder / job.id / CHECKPOINT).unlink()
    place.jobs.resume("default", job.id)
    place.train()
    assert (place.get(job).state, place.get(job).error) == ("succeeded", "")


@pytest.mark.parametrize("values", [[float("nan")] * 8, [float("inf")] + [0.5] * 7])
def test_values_that_are_not_finite_fail_the_job_and_never_pass_the_gate(
    place: Place, tmp_path: Path, values: list[float]
) -> None:
    place.registry.add_version("default", "walker", files(tmp_path, 1))
    place.registry.promote("default", "walker", 1, by="")
    job = place.submit(promote=True)
    problems = [f"held out {number}" for number in range(8)]
    found = HeldOutValues(metric="best@1", problems=problems, values=values)
    place.train(Faulty("evaluate", lambda *_: found))
    assert (place.get(job).state, "not a finite number" in place.get(job).error) == ("failed", True)
    assert place.registry.get("default", "walker").promoted == 1


def test_figures_that_are_not_finite_are_left_out(place: Place) -> None:
    figures: Mapping[str, Any] = {
        "loss": float("nan"), "high": float("inf"), "low": float("-inf"), "huge": 10**400, "word": "x", "reward": 0.5,
    }  # fmt: skip
    step = TrainingStep(stage="count", step=12, steps=12, figures=figures)
    job = place.submit()
    place.train(Faulty("read", lambda _: step))
    found = place.get(job)
    assert (found.state, found.progress["figures"]) == ("succeeded", {"reward": 0.5})
    shown = [event_reply(event) for event in place.jobs.events("default", job.id, limit=200)]
    for reply in (job_reply(found), *shown):
        json.loads(reply.model_dump_json(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    told = [reply.payload["figures"] for reply in shown if reply.kind == "training.progress"]
    assert told
    assert all(one == {"reward": 0.5} for one in told)


ORPHAN = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, file=open(sys.argv[1], "w"))
sys.exit("the parent is gone")
"""


def test_a_process_that_its_back_end_left_behind_holds_up_nothing(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child has the pipes of the back end open."""
    monkeypatch.setattr(backend_process, "DRAIN_SECONDS", 0.2)
    backend = Faulty("command", lambda *_: [sys.executable, "-c", ORPHAN, str(tmp_path / "pid")])
    began = time.monotonic()
    assert failed(place, backend) == "the back end failed: the parent is gone"
    assert time.monotonic() - began < 60
    until(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_a_job_that_kills_its_trainers_is_not_taken_for_ever(place: Place) -> None:
    job = place.submit()
    words = [sys.executable, "-m", "tests.fakes.counting_trainer", place.storage.url, str(place.folder), "600"]
    for number in range(1, MAX_STARTS + 1):
        trainer = subprocess.Popen(words, cwd=ROOT)
        until(lambda number=number: place.kinds(job).count("training.started") == number)
        os.kill(trainer.pid, signal.SIGKILL)
        trainer.wait()
    place.train()
    assert place.get(job).state == "failed"
    assert f"started this job {MAX_STARTS} times and died before its first step" in place.get(job).error
    assert not (place.folder / job.id / JOURNAL).exists()
    place.jobs.resume("default", job.id)
    place.train()
    assert place.get(job).state == "succeeded"
