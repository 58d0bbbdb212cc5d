"""Draws views on demand: has the workers of a run's programs draw what people request, a few at a time."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Protocol

import structlog

from evolve.errors import EvolveError
from evolve.evaluation import Outcome, ScoringRequest
from evolve.ports import Evaluator
from evolve.program import Program
from evolve.views.candidate_view import CandidateView, undrawn_view
from service.errors import InvalidProblemError, NotFoundError, RefusedError, StorageError, UnreachableError
from service.ports import RunReader, RunRecord, ViewRequest, ViewRequests
from service.runner.storage_retry import undisturbed

# So many at once, whatever people open: runs need their workers for the search.
AT_ONCE = 2
POLL_SECONDS = 0.5
TAKEN_SECONDS = 60.0
WATCH_SECONDS = 5.0
# A view that no worker takes lets the next one try, and is tried again after a while.
UNANSWERED_SECONDS = 15.0
AGAIN_SECONDS = 20.0
MAX_TRIES = 3
OLD_WORKER = "the worker is of an earlier version, which draws nothing on demand"
_RENDER = ScoringRequest(render=True)

log = structlog.get_logger(__name__)


class DrawingJobs(Protocol):
    """Opens what views are drawn with."""

    def open_evaluator(self, record: RunRecord) -> AbstractAsyncContextManager[Evaluator]:
        """Evaluates the programs of a run."""


async def draw(evaluator: Evaluator, reader: RunReader, candidate_id: str) -> CandidateView | None:
    """What the evaluator's `render` draws of a candidate; None: the sandbox or the worker was lost.

    Raises:
        NotFoundError: the candidate has no program.
    """
    return await ask_for_view(evaluator, await asyncio.to_thread(reader.program, candidate_id), candidate_id)


async def ask_for_view(evaluator: Evaluator, program: Program, candidate_id: str) -> CandidateView | None:
    """What the evaluator's `render` draws of a program; None: the sandbox or the worker was lost."""
    evaluation = await evaluator.evaluate(program, f"view-{candidate_id}", _RENDER)
    if evaluation.outcome in (Outcome.LOST, Outcome.CANCELLED):
        return None
    if evaluation.view is None or evaluation.view.on_demand:
        return undrawn_view(OLD_WORKER)
    return evaluation.view


class ViewDrawer:
    """Takes up the views that people request, and stores what is drawn. What befalls one of them befalls no other."""

    def __init__(self, requests: ViewRequests, reader: RunReader, jobs: DrawingJobs) -> None:
        self._requests, self._reader, self._jobs = requests, reader, jobs

    async def run(self) -> None:
        """Draw without end."""
        drawing: set[asyncio.Task[None]] = set()
        try:
            while True:
                room = AT_ONCE - len(drawing)
                for request in await self._taken(room) if room else ():
                    task = asyncio.create_task(self._attend(request))
                    drawing.add(task)
                    task.add_done_callback(drawing.discard)
                await asyncio.sleep(POLL_SECONDS)
        finally:
            for task in drawing:
                task.cancel()
            await asyncio.gather(*drawing, return_exceptions=True)

    async def _taken(self, room: int) -> Sequence[ViewRequest]:
        try:
            return await asyncio.to_thread(self._requests.take, room, TAKEN_SECONDS)
        except StorageError as error:
            log.warning("views.storage_away", reason=str(error))
            return ()

    async def _attend(self, request: ViewRequest) -> None:
        """One request, to its end or its next try; what cannot be written is taken up again when its time is over."""
        with suppress(StorageError):
            try:
                await self._draw(request)
            except NotFoundError:
                await asyncio.to_thread(self._requests.drop, request.candidate_id)
            except UnreachableError as error:
                await self._put_off(request, str(error), tries=request.tries - 1)
            except (RefusedError, InvalidProblemError, EvolveError) as error:
                await self._store(request, undrawn_view(str(error)))
            except asyncio.CancelledError:  # another runner need not wait for this one's time
                await undisturbed(partial(self._requests.put_off, request, 0.0, "", tries=0))
                raise
            except StorageError:
                raise
            except Exception as error:  # whatever it is, it must not end the others
                log.exception("views.fault", candidate_id=request.candidate_id)
                await self._lost(request, f"the service met a fault of its own ({type(error).__name__})")

    async def _draw(self, request: ViewRequest) -> None:
        record = await asyncio.to_thread(self._reader.run, request.run_id)
        async with self._jobs.open_evaluator(record) as evaluator:
            drawing = asyncio.create_task(draw(evaluator, self._reader, request.candidate_id))
            try:
                reason = await self._watch(request, evaluator, drawing)
            finally:
                drawing.cancel()
                await asyncio.wait([drawing])
        if reason:
            await self._put_off(request, reason, tries=0)
        elif (view := drawing.result()) is None:
            await self._lost(request, "the worker that drew it was lost")
        else:
            await self._store(request, view)

    async def _watch(
        self, request: ViewRequest, evaluator: Evaluator, drawing: "asyncio.Task[CandidateView | None]"
    ) -> str:
        """Wait for a drawing, and keep others off it; the reason why nobody draws it, or nothing when it is drawn."""
        unanswered = 0.0
        while not (await asyncio.wait([drawing], timeout=WATCH_SECONDS))[0]:
            reason = evaluator.waiting
            unanswered = unanswered + WATCH_SECONDS if reason else 0.0
            if unanswered >= UNANSWERED_SECONDS:
                return reason
            await self._put_off(request, reason, TAKEN_SECONDS, tries=request.tries)
        return ""

    async def _lost(self, request: ViewRequest, reason: str) -> None:
        if request.tries >= MAX_TRIES:
            await self._store(request, undrawn_view(reason))
        else:
            await self._put_off(request, f"The last try failed: {reason}.", tries=request.tries)

    async def _put_off(self, request: ViewRequest, reason: str, seconds: float = AGAIN_SECONDS, *, tries: int) -> None:
        sentence = reason[:1].upper() + reason[1:]
        sentence += "" if not sentence or sentence.endswith(".") else "."
        await undisturbed(partial(self._requests.put_off, request, seconds, sentence, tries=tries))

    async def _store(self, request: ViewRequest, view: CandidateView) -> None:
        await asyncio.to_thread(self._requests.store, request.candidate_id, view)
        log.info("view.drawn", candidate_id=request.candidate_id, shown=bool(view.media_type))
