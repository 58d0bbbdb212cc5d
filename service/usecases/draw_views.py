"""Draws a view on demand in this process, where no runner is asked for it."""

import asyncio
from dataclasses import replace

from evolve.ports import Evaluator
from evolve.views.candidate_view import CandidateView
from service.errors import ServiceError
from service.ports import ENDED, CandidateRecord, EvaluatorFactory, Storage
from service.runner.view_drawer import draw
from service.usecases.plan import evaluator_request, plan_stored

# A picture of the best is not worth a longer wait at the end of a run: it is drawn when somebody looks.
END_SECONDS = 10.0


async def draw_candidate(storage: Storage, evaluators: EvaluatorFactory, candidate: CandidateRecord) -> CandidateView:
    """Draw a candidate, and store its view.

    Raises:
        InvalidProblemError, RefusedError, UnreachableError: its problem cannot be evaluated here.
        ServiceError: the sandbox was lost.
    """
    plan = await asyncio.to_thread(lambda: plan_stored(storage.reader.run(candidate.run_id), storage.log))
    async with evaluators.open(replace(evaluator_request(plan), slots=1)) as opened:
        view = await draw(opened.evaluator, storage.reader, candidate.id)
    if view is None:
        raise ServiceError(f"the sandbox was lost while it drew {candidate.id}: try again")
    await asyncio.to_thread(storage.views.store, candidate.id, view)
    return view


async def draw_best(storage: Storage, evaluator: Evaluator, run_id: str) -> None:
    """Draw the best candidate of a run that has just ended, where its view is drawn on demand, and there is time."""
    run = await asyncio.to_thread(storage.reader.run, run_id)
    best = run.best_candidate_id if run.state in ENDED else None
    view = await asyncio.to_thread(storage.reader.view, best) if best else None
    if best is None or view is None or not view.on_demand:
        return
    try:
        async with asyncio.timeout(END_SECONDS):
            drawn = await draw(evaluator, storage.reader, best)
    except TimeoutError:
        return
    if drawn is not None:
        await asyncio.to_thread(storage.views.store, best, drawn)
