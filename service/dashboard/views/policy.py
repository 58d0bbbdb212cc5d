"""Policy and cost, "who writes what is worth something, and what does it cost?": operators, policies, positions."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evolve.configuration.learning import MAX_UPDATES
from evolve.events import EventKind
from service.client import AsyncClient, calls
from service.dashboard.forecast import cost_forecast
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import ENDED, RunId, render_run
from service.dashboard.session import Api
from service.projections.end_reasons import length_advice
from service.projections.money import money_share
from service.schemas.series import Cost, Metrics, Success

POINTS = 200
UPDATED = str(EventKind.POLICY_UPDATED)
_LEFT_OUT = {"policy": "", "reason": "", "figures": {}}  # of events of updates, where they are empty
SHOWN = 12
OVERS = {"money": "cost", "tokens": "tokens", "time": "time of evaluators", "evaluations": "evaluations"}
SHOWS = {"gain": "gain", "candidates": "candidates", "money": "cost", "tokens": "tokens", "rate": "gain for its cost"}
Over = Literal["money", "tokens", "time", "evaluations"]
Shown = Literal["gain", "candidates", "money", "tokens", "rate"]
router = APIRouter(prefix="/runs/{run_id}", route_class=RunPageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class YieldRow:
    """How the candidates of one kind did. `improving`: share of the evaluations that became the best of the run."""

    success: Success
    valid: float | None
    improving: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """What the proposals of one kind cost.

    Attributes:
        cached: share of the tokens that were read.
        per_improvement: tokens read and written for each candidate that became the best.
        money_per_improvement: the same of money, rounded; None: it is not known, or nothing became the best.
        dropped, duplicates, rejected: shares of what was written that came to nothing.
        yielded: valid candidates for each 1,000 tokens read and written; None: no tokens, or nobody counted them.
    """

    cost: Cost
    cached: float | None
    per_improvement: float | None
    money_per_improvement: str | None
    dropped: float | None
    duplicates: float | None
    rejected: float | None
    yielded: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTotal:
    """What a policy brought for its cost.

    Attributes:
        gain: by how much its candidates raised the best fitness of the run.
        seconds: that their evaluations took.
        per_million: gain for each million tokens.
        per_money: gain for each unit of money; None: it cost nothing, or nobody knows what.
        currency: of the money; empty: none.
    """

    name: str
    evaluations: int
    improvements: int
    gain: float
    seconds: float
    tokens: int
    cost: str | None
    per_million: float | None
    per_money: float | None
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What asking came to in all."""

    tokens_input: int
    tokens_cached: int
    tokens_output: int
    per_improvement: float | None
    per_evaluation: float | None
    yielded: float | None
    money_per_improvement: str | None
    money_per_evaluation: str | None


def share_of(part: int, whole: int) -> float | None:
    """A part of a whole; None: there is nothing."""
    return part / whole if whole else None


def yields(successes: Sequence[Success]) -> list[YieldRow]:
    """Kinds of candidates with their shares, in the order in which they are told."""
    return [
        YieldRow(
            success=one,
            valid=share_of(one.valid, one.evaluations),
            improving=share_of(one.improvements, one.evaluations),
        )
        for one in successes
    ]


def prices(costs: Sequence[Cost], successes: Sequence[Success]) -> list[PriceRow]:
    """Kinds of proposals with what they cost for what they brought."""
    improvements = {one.name: one.improvements for one in successes}
    valid = {one.name: one.valid for one in successes}
    return [
        PriceRow(
            cost=one,
            cached=share_of(one.tokens_cached, one.tokens_input),
            per_improvement=share_of(one.tokens_input + one.tokens_output, improvements.get(one.name, 0)),
            money_per_improvement=money_share(one.cost, improvements.get(one.name, 0)),
            dropped=share_of(one.dropped, one.answers + one.dropped),
            duplicates=share_of(one.duplicates, one.answers),
            rejected=share_of(one.rejected, one.answers),
            yielded=share_of(1000 * valid.get(one.name, 0), one.tokens_input + one.tokens_output),
        )
        for one in costs
    ]


def policy_totals(metrics: Metrics) -> list[PolicyTotal]:
    """Each policy that was asked or has candidates, by name."""
    brought = {one.name: one for one in metrics.policies}
    asked = {one.name: one for one in metrics.policy_costs}
    found = []
    for name in sorted(brought.keys() | asked.keys()):
        success, cost = brought.get(name), asked.get(name)
        gain = success.gain if success else 0.0
        tokens = cost.tokens_input + cost.tokens_output if cost else 0
        amount, _, currency = (cost.cost or "" if cost else "0").partition(" ")
        found.append(
            PolicyTotal(
                name=name,
                evaluations=success.evaluations if success else 0,
                improvements=success.improvements if success else 0,
                gain=gain,
                seconds=success.seconds if success else 0.0,
                tokens=tokens,
                cost=cost.cost if cost else "0",
                per_million=gain * 1_000_000 / tokens if tokens else None,
                per_money=gain / float(amount) if amount and float(amount) else None,
                currency=currency,
            )
        )
    return found


def endings(costs: Sequence[Cost]) -> list[str]:
    """Why completions ended, over all kinds of proposals, the most frequent reason first."""
    tally: Counter[str] = Counter()
    for one in costs:
        tally.update(one.finish_reasons)
    return [reason for reason, _ in tally.most_common()]


def totals(metrics: Metrics, cost: str | None) -> Totals:
    """Sums over all policies; the seeds were written by none of them, and improve nothing here."""
    read, cached, written = (
        sum(getattr(one, name) for one in metrics.policy_costs)
        for name in ("tokens_input", "tokens_cached", "tokens_output")
    )
    evaluations = sum(one.evaluations for one in metrics.policies)
    improvements = sum(one.improvements for one in metrics.policies)
    return Totals(
        tokens_input=read,
        tokens_cached=cached,
        tokens_output=written,
        per_improvement=share_of(read + written, improvements),
        per_evaluation=share_of(read + written, evaluations),
        yielded=share_of(1000 * sum(one.valid for one in metrics.policies), read + written),
        money_per_improvement=money_share(cost, improvements),
        money_per_evaluation=money_share(cost, evaluations),
    )


def usable(metrics: Metrics, cost: str | None) -> tuple[dict[str, str], dict[str, str]]:
    """What curves of this run can be drawn over, and what of its policies they can show, each with its words."""
    last = metrics.points[-1] if metrics.points else None
    tokens = last is not None and last.tokens_input + last.tokens_output > 0
    there = {
        "tokens": tokens,
        "money": cost not in (None, "0"),
        "time": last is not None and last.evaluation_seconds > 0,
    }
    overs = {name: words for name, words in OVERS.items() if there.get(name, True)}
    needed = {"tokens": tokens, "money": there["money"], "rate": there["money"]}
    return overs, {name: words for name, words in SHOWS.items() if needed.get(name, True)}


@router.get("/policy")
async def show_policy(
    request: Request, run_id: RunId, api: Api, over: Over = "money", show: Shown = "gain"
) -> Response:
    """Show what policies and operators brought and cost."""
    return await _show(request, api, run_id, "policy.html", over=over, show=show)


@router.get("/policy/figures")
async def show_figures(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the tables alone, as they are now."""
    return await _show(request, api, run_id, "policy_figures.html")


async def _show(request: Request, api: AsyncClient, run_id: str, template: str, **choices: str) -> Response:
    run = await api.send(calls.get_run(run_id))
    metrics = await api.send(calls.get_run_metrics(run.id, points=POINTS))
    points = metrics.points
    ahead = None if run.state in ENDED else cost_forecast(run, points)
    overs, shows = usable(metrics, run.usage.cost)
    learns = bool((run.config.get("learning") or {}).get("every"))
    updates = (await api.send(calls.list_events(run.id, kinds=[UPDATED], limit=MAX_UPDATES))).items if learns else []
    values: dict[str, Any] = {
        "overs": overs,
        "shows": shows,
        "over": choices.get("over") if choices.get("over") in overs else next(iter(overs)),
        "show": choices.get("show") if choices.get("show") in shows else next(iter(shows)),
        "policy_totals": policy_totals(metrics),
        "forecast": ahead,
        "learns": learns,
        "updates": [{**_LEFT_OUT, **update} for update in updates],
        "drawn": json.dumps({"end": ahead.end, **{name: astuple(one) for name, one in ahead.drawn.items()}})
        if ahead and ahead.drawn
        else "",
        "totals": totals(metrics, run.usage.cost),
        "points": points[:: max(1, len(points) // SHOWN)][:-1] + points[-1:],
        "yields": [
            ("operator", "By operator", yields(metrics.operators)),
            ("policy", "By policy", yields(metrics.policies)),
            ("", "By position in the chain", yields(metrics.positions)),
        ],
        "endings": endings(metrics.policy_costs),
        "length_advice": length_advice(dict.fromkeys(endings(metrics.policy_costs), 1)),
        "prices": [
            ("policy", "By policy", prices(metrics.policy_costs, metrics.policies)),
            ("operator", "By operator", prices(metrics.operator_costs, metrics.operators)),
        ],
    }
    return await render_run(request, api, run, template, "policy", **values)
