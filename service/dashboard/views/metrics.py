"""Metrics of a run, "what did it come to?": best@k, coverage, diversity, migrants, cost of improvements, answers."""

from typing import Annotated, get_args

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from evolve.statistics.voting import MIN_SHARE
from service.client import calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.dashboard.views.candidate import if_any
from service.schemas.statistics import AtBudget, RunStatistics
from service.schemas.votes import Rule

router = APIRouter(prefix="/runs/{run_id}/metrics", route_class=RunPageRoute, include_in_schema=False)


def draws_of(found: RunStatistics) -> list[tuple[int, AtBudget | None, AtBudget | None]]:
    """Budgets with what is to be expected of so many answers, and of so many chains."""
    answers, chains = ({one.k: one for one in draws.at} for draws in (found.answers, found.chains))
    return [(k, answers.get(k), chains.get(k)) for k in sorted(answers.keys() | chains.keys())]


@router.get("")
async def show_metrics(
    request: Request,
    run_id: RunId,
    api: Api,
    rule: Rule = "majority",
    min_share: Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)] = MIN_SHARE,
) -> Response:
    """Show what a run came to, in numbers; what its candidates answer only where they do."""
    run = await api.send(calls.get_run(run_id))
    found = await api.send(calls.get_run_statistics(run.id))
    votes = await if_any(api, calls.get_run_votes(run.id, rule=rule, min_share=min_share))
    yields = [("By policy", found.policies), ("By operator", found.operators)]
    values = {"found": found, "draws": draws_of(found), "yields": yields, "votes": votes, "rules": get_args(Rule)}
    return await render_run(request, api, run, "metrics.html", "metrics", **values)
