"""A process that stands still ends and shows where; one that is told to leave is gone in time."""

import signal
import subprocess
import sys
import time

import pytest

from tests.patience import PATIENCE_SECONDS

WATCHED = """
import asyncio, sys, threading, time
from service.process.liveness import watched

def stand_still():
    threading.Event().wait(60)

async def main():
    async with watched(1.0):
        print("up", flush=True)
        {body}
asyncio.run(main())
"""
LEAVING = """
import threading, time
from service.process.liveness import leave_within
leave_within(0.5, "left with a thread that waits")
threading.Thread(target=time.sleep, args=(60,)).start()
"""
FULL = """
import os
os.set_blocking(2, False)
try:
    while True:
        os.write(2, b"x" * 4096)
except BlockingIOError:
    os.set_blocking(2, True)
"""


def start(source: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", source], stdout=-1, stderr=-1, text=True)


def test_a_loop_that_stands_still_ends_its_process_and_shows_where_it_stood() -> None:
    process = start(WATCHED.format(body="stand_still()"))
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1
    assert "in stand_still" in err
    assert "did nothing for 1 s and ends" in err


def test_a_loop_that_waits_or_works_in_pieces_lives_on() -> None:
    work = "[(time.sleep(0.3), await asyncio.sleep(0)) for _ in range(8)]"
    process = start(WATCHED.format(body=f"{work}; await asyncio.sleep(1.5)"))
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (0, "")


def test_time_in_which_a_process_is_stopped_does_not_count() -> None:
    process = start(WATCHED.format(body="await asyncio.sleep(0.5)"))
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (0, "")


def test_who_leaves_is_gone_in_time_whatever_its_threads_wait_for() -> None:
    began = time.monotonic()
    process = start(LEAVING)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert "left with a thread that waits after 0.5 s" in err
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param(WATCHED.format(body="os.write(2, b'a word that nobody takes')"), 1, id="watched"),
        pytest.param(LEAVING, 130, id="leaving"),
    ],
)
def test_a_process_whose_standard_error_nobody_reads_ends_all_the_same(source: str, code: int) -> None:
    process = start(FULL + source)
    try:
        assert process.wait(timeout=PATIENCE_SECONDS) == code
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("command", ["runner", "serve", "worker"])
def test_every_process_that_serves_is_watched(command: str) -> None:
    from importlib import import_module
    from pathlib import Path

    source = Path(import_module(f"service.cli.{command}").__file__ or "").read_text(encoding="utf-8")
    assert "watched()" in source
