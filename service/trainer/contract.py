"""The contract suite of training back ends: the rules that those which come with Evolve are held to.

A rule takes a case: a back end with a small job that it can train in about a minute. Two rules run its command.
"""

import json
import math
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from service.ports.training_backends import NEEDS, TrainingBackend, TrainingStep

WAIT_SECONDS = 600.0
_NO_STEPS = ("", " ", "{", "[1, 2]", "null", "loss 0.5", '{"kind": "another"}', "\x00\ufffd", "x" * 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendTask:
    """A job of a test.

    Attributes:
        request: as a job has it, with `seed` and `steps`.
    """

    request: Mapping[str, Any]
    id: str = "trn_tested"
    policy: str = "tested"
    runs: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendCase:
    """A back end with a job that it can train.

    Attributes:
        make: makes the back end, the same each time. It should write a checkpoint after few steps.
        task: the job, with at least twice as many steps as a checkpoint interval has.
        base: folder of the version to start from. None: from scratch.
        prepare: writes the data of the job's runs into a folder, as `service.ports.training_backends.RunData` has them.
    """

    make: Callable[[], TrainingBackend]
    task: BackendTask
    base: Path | None = None
    prepare: Callable[[Path], None] = field(default=lambda _: None)


BackendRule = Callable[[BackendCase], None]


def says_what_it_lacks(case: BackendCase) -> None:
    """`missing` is a sentence without its full stop, or empty. `needs` names what a trainer can write."""
    backend = case.make()
    said = backend.missing()
    _require("\n" not in said, f"missing returned {said!r}, which is not one line of text")
    unknown = set(backend.needs) - set(NEEDS)
    _require(not unknown, f"needs names {sorted(unknown)}, and a trainer writes {', '.join(NEEDS)}")


def takes_its_own_request(case: BackendCase) -> None:
    """`check` takes a request that can be trained. It is asked again for each attempt."""
    backend = case.make()
    for _ in range(2):
        backend.check({**case.task.request, "runs": list(case.task.runs)})


def reads_no_step_from_other_lines(case: BackendCase) -> None:
    """A line that tells no step is None, whatever it holds: libraries print what they like."""
    backend = case.make()
    for line in _NO_STEPS:
        found = backend.read(line)
        _require(found is None, f"read made {found!r} of the line {line[:40]!r}")


def begins_without_a_checkpoint(case: BackendCase) -> None:
    """In an empty folder, there is no checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        found = case.make().checkpoint(Path(folder))
    _require(not found, f"checkpoint returned {found!r} for an empty folder")


def trains_a_model(case: BackendCase) -> None:
    """The command ends well, tells rising steps with finite figures, and leaves a model. Its training is JSON.

    The model is evaluated twice alike, and not on problems that a compared version has seen.
    """
    with _folder(case) as folder:
        backend = case.make()
        steps = _run(backend, case, folder)
        numbers = [step.step for step in steps]
        _require(numbers == sorted(numbers) and bool(numbers), f"the command told the steps {numbers}")
        _require(numbers[-1] <= steps[-1].steps, f"the last step is {numbers[-1]} of {steps[-1].steps}")
        figures = [value for step in steps for value in step.figures.values()]
        _require(any(math.isfinite(value) for value in figures), "no step has a finite figure")
        model = backend.model(case.task, folder)
        _require(model.is_dir() and any(model.iterdir()), f"there is no model in {model}")
        training = backend.training(case.task, folder)
        text = json.dumps(training, allow_nan=False)
        _require(isinstance(training.get("problems"), list), f"training names no problems: {text[:200]}")
        _evaluates(backend, case, model)


def continues_after_a_kill(case: BackendCase) -> None:
    """After `kill -9` behind a checkpoint, the same command continues from it, and names it as its checkpoint."""
    with _folder(case) as folder:
        backend = case.make()
        process = _start(backend, case, folder)
        try:
            _wait(lambda: bool(backend.checkpoint(folder)) or process.poll() is not None)
            saved = dict(backend.checkpoint(folder))
            _require(bool(saved), "the command ended without a checkpoint: give the case more steps")
        finally:
            _kill(process)
        _require(saved.keys() == {"stage", "step"}, f"checkpoint returned {saved!r}, not a stage and a step")
        steps = _run(case.make(), case, folder)
        of_stage = [step.step for step in steps]
        _require(
            bool(of_stage) and min(of_stage) > 0 and (len(of_stage) < steps[-1].steps),
            f"after the checkpoint {saved} the command did all {steps[-1].steps if steps else 0} steps again",
        )


TRAINING_BACKEND_RULES: tuple[BackendRule, ...] = (
    says_what_it_lacks,
    takes_its_own_request,
    reads_no_step_from_other_lines,
    begins_without_a_checkpoint,
    trains_a_model,
    continues_after_a_kill,
)


def _evaluates(backend: TrainingBackend, case: BackendCase, model: Path) -> None:
    if not case.task.request.get("test_problems"):
        return
    once, again = (backend.evaluate(case.task, model, frozenset(), Event()) for _ in range(2))
    _require(once == again, "two evaluations of a model differ")
    _require(len(once.problems) == len(set(once.problems)) == len(once.values), f"{once!r} does not pair values")
    seen = frozenset(once.problems[:1])
    fewer = backend.evaluate(case.task, model, seen, Event())
    _require(not seen & set(fewer.problems), "a problem was evaluated that a compared version has seen")


@contextmanager
def _folder(case: BackendCase) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        case.prepare(Path(name))
        yield Path(name)


def _start(backend: TrainingBackend, case: BackendCase, folder: Path) -> "subprocess.Popen[str]":
    words = list(backend.command(case.task, case.base, folder))
    output = (folder / "output.txt").open("w")
    errors = (folder / "errors.txt").open("w")
    with output, errors:
        return subprocess.Popen(words, stdout=output, stderr=errors, text=True, start_new_session=True)


def _run(backend: TrainingBackend, case: BackendCase, folder: Path) -> list[TrainingStep]:
    process = _start(backend, case, folder)
    try:
        _wait(lambda: process.poll() is not None)
    finally:
        _kill(process)
    errors = (folder / "errors.txt").read_text(errors="replace")
    _require(process.returncode == 0, f"the command ended with {process.returncode}: {errors[-500:]}")
    lines = (folder / "output.txt").read_text(errors="replace").splitlines()
    return [step for line in lines if (step := backend.read(line)) is not None]


def _wait(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not holds():
        _require(time.monotonic() < end, f"the command took longer than {WAIT_SECONDS:g} seconds: give it less to do")
        time.sleep(0.05)


def _kill(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
