"""Every aspect of a process that its children inherit is seen to change, and an unchanged process costs little."""

import contextlib
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import perf_counter

import pytest

from service.sandbox.inside import process_state
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox keeps programs apart on Linux alone")


@contextmanager
def lower_limit() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (2 << 20, hard))
    yield
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))


@contextmanager
def other_umask() -> Iterator[None]:
    before = os.umask(0o031)
    yield
    os.umask(before)


@contextmanager
def blocked_signal() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def handled_signal(handler: Callable[..., None] | signal.Handlers) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR2, handler)
    yield
    signal.signal(signal.SIGUSR2, before)


@contextmanager
def open_descriptor() -> Iterator[None]:
    descriptor = os.open("/", os.O_RDONLY)
    yield
    os.close(descriptor)


@contextmanager
def other_file_at_a_descriptor() -> Iterator[None]:
    kept = os.dup(0)
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    os.close(writing)
    yield
    os.dup2(kept, 0)
    os.close(kept)


@contextmanager
def variable() -> Iterator[None]:
    os.environ["EVOLVE_TEST_STATE"] = "1"
    yield
    del os.environ["EVOLVE_TEST_STATE"]


@contextmanager
def thread() -> Iterator[None]:
    done = threading.Event()
    started = threading.Thread(target=done.wait)
    started.start()
    yield
    done.set()
    started.join()


@contextmanager
def fewer_processors() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lower_limit, "resource limits"),
        (lambda: contextlib.chdir("/usr"), "working directory"),
        (other_umask, "umask"),
        (blocked_signal, "signal mask"),
        (lambda: handled_signal(signal.SIG_IGN), "ignored signals"),
        (lambda: handled_signal(lambda *_: None), "signal handlers"),
        (open_descriptor, "descriptors"),
        (other_file_at_a_descriptor, "descriptors"),
        (variable, "environment"),
        (thread, "number of threads"),
    ],
)
def test_a_change_is_named(change: Callable[[], AbstractContextManager[None]], name: str) -> None:
    birth = process_state.capture()
    with change():
        assert name in process_state.changes(birth)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while name in process_state.changes(birth) and time.monotonic() < deadline:
        time.sleep(0.01)  # a thread that was joined may take a moment to go
    assert name not in process_state.changes(birth)


def test_fewer_processors_are_named() -> None:
    birth = process_state.capture()
    expected = ["processor affinity"] if len(os.sched_getaffinity(0)) > 1 else []
    with fewer_processors():
        assert process_state.changes(birth) == expected


def test_a_process_that_can_no_longer_look_has_changed(tmp_path: Path) -> None:
    birth = process_state.capture()
    (tmp_path / "folder").mkdir()
    with contextlib.chdir(tmp_path / "folder"):
        (tmp_path / "folder").rmdir()
        (told,) = process_state.changes(birth)
    assert told.startswith("state, which it cannot read (")


def test_comparing_takes_well_under_a_millisecond() -> None:
    birth, seconds = process_state.capture(), []
    for _ in range(50):
        began = perf_counter()
        assert process_state.changes(birth) == []
        seconds.append(perf_counter() - began)
    assert min(seconds) < 0.0005
