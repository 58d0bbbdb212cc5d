"""Processes that serve without end: one that stands still says so and ends, one that is to leave does so in time."""

import asyncio
import os
import select
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

STILL_SECONDS = 30
# Shorter than supervisors wait before they kill: 30 s in Compose, 45 s in the manifests for Kubernetes.
LEAVE_SECONDS = 25.0
EXIT_STILL, EXIT_LATE = 1, 130
# How long the last words wait for a reader of standard error.
_SAY_SECONDS = 1.0


@asynccontextmanager
async def watched(still_seconds: float = STILL_SECONDS) -> AsyncIterator[None]:
    """Watch the event loop from a thread for as long as the block lasts.

    A loop that does nothing for so long will do nothing any more: some call blocks it. Where each thread stands is
    written to standard error, and the process ends, so that whoever supervises it starts another. The blocking call may
    be a write to standard error itself, whose reader stopped: then the process ends without a word. Time in which the
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
            words = f"evolve: this process did nothing for {still_seconds:g} s and ends; above is where it stood"
            _end("\n".join([*_stacks(), "", words]), EXIT_STILL)
        time.sleep(step)


def _stacks() -> Iterator[str]:
    """Where each thread stands, read from memory alone: what blocks the process may be its disk."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - documented, for debuggers as this
        yield f'Thread "{names.get(ident, ident)}" (most recent call first):'
        for inner, line in traceback.walk_stack(frame):
            yield f'  File "{inner.f_code.co_filename}", line {line} in {inner.f_code.co_qualname}'


def _end(words: str, code: int) -> None:
    with suppress(OSError):
        _say(f"\n{words}\n".encode())
    os._exit(code)


def _say(words: bytes) -> None:
    """Write to standard error what is taken there. A pipe whose reader stopped would keep a plain write for ever."""
    ready = select.poll()
    ready.register(2, select.POLLOUT)
    while words and any(event & select.POLLOUT for _, event in ready.poll(1000 * _SAY_SECONDS)):
        words = words[os.write(2, words[: select.PIPE_BUF]) :]
