"""Calls of a user's own functions, out of a run that goes on in a thread beside the one that wants its result."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Attempt = tuple[object, BaseException | None]
Value = TypeVar("Value")


class CallingThread(Executor):
    """Makes calls in the thread that serves them, one after another.

    So a function may do what only its own thread may (signals, drawing, what a library keeps by thread), and Ctrl-C,
    which reaches that thread, reaches the function.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a call made, and its result kept."""
        future: Future[Any] = Future()
        self._calls.put(partial(_keep, future, partial(fn, *args, **kwargs)))
        return future

    def tell(self, call: Callable[[], object]) -> None:
        """Have a call made; what it raises, `serve` raises."""
        self._calls.put(call)

    def close(self) -> None:
        """Let `serve` return after the calls that there are."""
        self._calls.put(None)

    def serve(self) -> None:
        """Make the calls, until the end.

        Raises:
            KeyboardInterrupt: it came while a call was made or waited for.
            BaseException: what a call of `tell` raised.
        """
        while (call := self._calls.get()) is not None:
            call()


def _keep(future: "Future[Any]", call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
        future.set_exception(error)
    else:
        future.set_result(result)


def attempts(function: Callable[[Any], Any], executor: Executor) -> Callable[[Any], Awaitable[Attempt]]:
    """Calls of a function that raise nothing: a plain one in the executor, an asynchronous one in the running loop."""

    def call(argument: object) -> Attempt:
        try:
            return function(argument), None
        except BaseException as error:  # a function that runs programs may raise anything
            if isinstance(error, KeyboardInterrupt) and isinstance(executor, CallingThread):
                raise  # somebody wants the run to end
            return None, error

    async def attempt(argument: object) -> Attempt:
        if is_asynchronous(function):
            value, error = call(argument)
        else:
            value, error = await asyncio.get_running_loop().run_in_executor(executor, call, argument)
        return await _awaited(value) if error is None and inspect.isawaitable(value) else (value, error)

    return attempt


def is_asynchronous(function: Callable[..., Any]) -> bool:
    """Whether a call of it gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def _awaited(value: Awaitable[object]) -> Attempt:
    try:
        return await value, None
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        return None, error


class MainThreadExecutor(Generic[Value]):
    """A coroutine in a thread with an event loop of its own, while this thread serves its calls.

    Works inside a running event loop as well as without one.

    Args:
        work: what to run.
        calls: what it has called here.
        stop: called in its loop when it is to come to an end at once; False: it cannot yet, and is cancelled.
    """

    def __init__(
        self, work: Callable[[], Coroutine[Any, Any, Value]], calls: CallingThread, stop: Callable[[], bool]
    ) -> None:
        self._work, self._calls, self._stop = work, calls, stop
        self._begun = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[Value] | None = None
        self._ended: list[tuple[Value | None, BaseException | None]] = []

    def run(self) -> Value:
        """Run it to its end; an interrupt stops it, and what it came to by then counts.

        Raises:
            KeyboardInterrupt: it came before there was anything to count.
            BaseException: what the coroutine, or a call of `CallingThread.tell`, raised.
        """
        thread = threading.Thread(target=self._run, name="evolve.run", daemon=True)
        thread.start()
        fault: BaseException | None = None
        try:
            self._calls.serve()
        except BaseException as error:  # noqa: BLE001 - raised below, when the run has come to its end
            fault = error
            self._begun.wait()
            with suppress(RuntimeError):  # it has come to its end by itself
                self._loop.call_soon_threadsafe(self._end_early)
        thread.join()
        value, failure = self._ended[0]
        if fault is not None and (failure is not None or not isinstance(fault, KeyboardInterrupt)):
            raise fault
        if failure is not None:
            raise failure
        return value  # type: ignore[return-value] # without an error there is a value

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                self._ended.append((runner.run(self._main()), None))
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            self._ended.append((None, error))
        finally:
            self._begun.set()
            self._calls.close()

    async def _main(self) -> Value:
        self._task = asyncio.current_task()
        self._begun.set()
        return await self._work()

    def _end_early(self) -> None:
        if not self._stop() and self._task is not None:
            self._task.cancel()
