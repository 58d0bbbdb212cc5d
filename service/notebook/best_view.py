"""Draws the best candidate of a run of `evolve.run`, where its view is drawn on demand."""

import asyncio
from dataclasses import replace

from evolve.events import Event
from evolve.ports import Evaluator
from evolve.proposal import Individual
from evolve.search.result import Result
from evolve.views.candidate_view import CandidateView
from service.runner.view_drawer import ask_for_view
from service.usecases.draw_views import END_SECONDS


async def best_view(result: Result, evaluator: Evaluator) -> CandidateView | None:
    """What the best candidate of a result looks like; None: it is drawn already, or there is nothing to draw."""
    best = result.best
    if best is None or best.evaluation.view is None or not best.evaluation.view.on_demand:
        return None
    try:
        async with asyncio.timeout(END_SECONDS):
            return await ask_for_view(evaluator, best.program, best.candidate_id)
    except TimeoutError:
        return None


def with_view(result: Result, view: CandidateView) -> Result:
    """A result whose best candidate has a view."""
    best = result.best
    assert best is not None, "a view is that of a candidate"
    drawn = replace(best, evaluation=replace(best.evaluation, view=view))
    events = tuple(Event(one.data, drawn) if _is(one.subject, best) else one for one in result.events)
    return replace(result, best=drawn, events=events)


def _is(subject: object, individual: Individual) -> bool:
    return isinstance(subject, Individual) and subject.candidate_id == individual.candidate_id
