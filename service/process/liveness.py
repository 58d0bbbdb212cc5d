"""Processes that serve without end: one that stands still says so and ends, one that is to leave does so in time."""

import asyncio
import faulthandler
import os
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

STILL_SECONDS = 30
# Shorter than supervisors wait before they kill: 30 s in Compose, 45 s in the manifests for Kubernetes.
LEAVE_SECONDS = 25.0
EXIT_STILL, EXIT_LATE = 1, 130


@asynccontextmanager
async def watched(still_seconds: float = STILL_SECONDS) -> AsyncIterator[None]:
    """Watch the event loop from a thread for as long as the block lasts.

    A loop that does nothing for so long will do nothing any more: some call blocks it. Where each thread stands is
    written to standard error, and the process ends, so that whoever supervises it starts another. Time in which the
    whole process is stopped does not count, for then the thread does not count either.
    """
    heartbeats, ended = _LoopTicks(), threading.Event()
    thread = threading.Thread(target=_watch, args=(heartbeats, ended, still_seconds), name="loop watch", daemon=True)
    ticking = asyncio.create_task(_tick(heartbeats, still_seconds / 10))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking


def leave_within(seconds: float = LEAVE_SECONDS, words: str = "") -> None:
    """End the process some seconds from now, whatever it is doing then.

    Args:
        seconds: how long it has to end by itself.
        words: what is said when it has not.
    """
    timer = threading.Timer(seconds, _end, args=(f"evolve: {words or 'left'} after {seconds:g} s", EXIT_LATE))
    timer.daemon = True
    timer.start()


class _LoopTicks:
    """Counts the turns of an event loop."""

    def __init__(self) -> None:
        self.count = 0


async def _tick(heartbeats: _LoopTicks, seconds: float) -> None:
    while True:
        heartbeats.count += 1
        await asyncio.sleep(seconds)


def _watch(heartbeats: _LoopTicks, ended: threading.Event, still_seconds: float) -> None:
    step = still_seconds / 10
    seen, still = -1, 0.0
    while not ended.is_set():
        still = still + step if heartbeats.count == seen else 0.0
        seen = heartbeats.count
        if still >= still_seconds:
            faulthandler.dump_traceback(file=sys.__stderr__ or sys.stderr)
            _end(
                f"evolve: this process did nothing for {still_seconds:g} s and ends; above is where it stood",
                EXIT_STILL,
            )
        time.sleep(step)


def _end(words: str, code: int) -> None:
    with suppress(OSError):
        os.write(2, f"\n{words}\n".encode())
    os._exit(code)
