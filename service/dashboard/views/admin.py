"""What a tenant uses and may use, and what was done: usage, quotas, audit."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.forms import WHOLE, FormErrors, filled
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.session import Api, FormData, FormDep
from service.errors import UsageError
from service.schemas.keys import QuotaLimits

PERIODS = ((1, "Last day"), (7, "Last week"), (30, "Last 30 days"), (365, "Last year"))
LIMITS = (
    ("active_runs", "Runs at once", "that have not ended"),
    ("evaluations_per_day", "Evaluations a day", "of all runs together"),
    ("tokens_per_day", "Tokens a day", "read and written"),
    ("active_training_jobs", "Training jobs", "that have not ended"),
    ("running_training_jobs", "Running training jobs", "of trainers at once"),
    ("training_seconds_per_day", "Seconds of training a day", "of all trainers together"),
)
router = APIRouter(prefix="/admin", route_class=PageRoute, include_in_schema=False)
Days = Annotated[int, Query(ge=1, le=366)]
Typed = Annotated[str, Query(pattern=r"^\s*(\d{0,4}|[12]\d{4}|3[0-5]\d{3}|36[0-4]\d{2}|36500)\s*$")]
Tenant = Annotated[str, Query(max_length=63)]
Cursor = Annotated[str, Query(max_length=4000)]


@router.get("")
async def show_usage(request: Request, api: Api, days: Days = 1) -> Response:
    """Show what the tenant used, and what it may."""
    until = datetime.now(UTC)
    usage = await api.send(calls.get_usage(since=until - timedelta(days=days), until=until))
    return render(request, "admin_usage.html", usage=usage, days=days, periods=PERIODS, limits=LIMITS)


@router.get("/quotas")
async def show_quotas(request: Request, api: Api, tenant: Tenant = "default") -> Response:
    """Show what a tenant may use, to the operator."""
    return await _quotas(request, api, tenant, None, FormErrors())


@router.post("/quotas")
async def set_quotas(request: Request, api: Api, form: FormDep) -> Response:
    """Set what a tenant may use."""
    tenant, complaints = form.get("tenant", ""), FormErrors()
    named = {name: _limit(form, name, complaints) for name, _, _ in LIMITS}
    limits = filled(QuotaLimits, named, complaints)
    if limits is not None:
        try:
            await api.send(calls.set_quotas(tenant, limits))
        except UsageError as error:
            complaints[WHOLE] = str(error)
        else:
            return go_to(f"/admin/quotas?tenant={tenant}")
    return await _quotas(request, api, tenant, form, complaints)


@router.get("/retention")
async def show_retention(request: Request, api: Api, days: Typed = "") -> Response:
    """Show what is kept for how long, and what is past its time, to the operator."""
    found = await api.send(calls.get_retention(days=int(days.strip() or 0) or None))
    return render(request, "admin_retention.html", found=found)


@router.get("/audit")
async def show_audit(request: Request, api: Api, cursor: Cursor = "") -> Response:
    """Show who did what, or was refused it."""
    call = calls.list_audit(limit=100)
    page = await api.send(call.at(cursor) if cursor else call)
    return render(request, "admin_audit.html", lines=page.items, next_cursor=page.next_cursor)


async def _quotas(
    request: Request, api: AsyncClient, tenant: str, form: FormData | None, complaints: FormErrors
) -> Response:
    quota = await api.send(calls.get_quotas(tenant))
    values = form if form is not None else {name: _text(getattr(quota, name)) for name, _, _ in LIMITS}
    status = 422 if complaints else 200
    return render(
        request, "admin_quotas.html", status, quota=quota, values=values, complaints=complaints, limits=LIMITS
    )


def _text(limit: int | None) -> str:
    return "" if limit is None else str(limit)


def _limit(form: FormData, name: str, complaints: FormErrors) -> int | None:
    """A limit as it was typed; empty: there is none."""
    text = form.get(name, "").strip().replace(" ", "").replace("\u202f", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        complaints[name] = "this is not a whole number: write a number such as 500, or leave it empty for no limit"
        return None
    return int(text[:20])
