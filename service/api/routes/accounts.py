"""Usage and quotas of tenants."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import TypeAdapter, ValidationError

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.problem_errors import ApiFault
from service.ports import Caller, Quotas, Scope
from service.schemas.keys import Quota, QuotaLimits, Retention, TenantHolding, Usage
from service.schemas.problem_details import Code
from service.schemas.types import Moment

router = APIRouter(prefix="/v1", tags=["accounts"], route_class=ApiRoute)

Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ))]
Operating = Annotated[Caller, Depends(requires(Scope.OPERATE, operator=True))]
Tenant = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="Name of a tenant.")]
Time = Annotated[
    str, Query(max_length=40, description="A time such as 2026-03-01T00:00:00Z. Empty: see the operation.")
]
Days = Annotated[int, Query(ge=0, le=36500, description="Days that runs are kept after their end. 0: as set.")]
MAX_PERIOD = timedelta(days=366)
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


@router.get("/usage", response_model=Usage, operation_id="get_usage")
def get_usage(caller: Reading, parts: PartsDep, since: Time = "", until: Time = "") -> Usage:
    """Read the tenant's usage and quotas, from `since` (a day before `until`) to `until` (now), by whole hours."""
    end = _moment("until", until) or parts.clock.now()
    begin = _moment("since", since) or max(end, EARLIEST) - timedelta(days=1)
    if not timedelta(0) <= end - begin <= MAX_PERIOD:
        raise ApiFault(422, Code.INVALID_REQUEST, "since must lie before until, and no more than a year")
    found = parts.accounts.usage(caller.tenant, begin, end)
    fields = {name: getattr(found, name) for name in Usage.model_fields if name != "quotas"}
    return Usage(**fields, quotas=_quota(caller.tenant, parts.accounts.quotas(caller.tenant)))


@router.get("/retention", response_model=Retention, operation_id="get_retention")
def get_retention(caller: Operating, parts: PartsDep, days: Days = 0) -> Retention:
    """Count each tenant's runs, answers and evaluations, and the runs that `evolve db prune` would remove.

    The count includes runs whose labels `--keep-labels` would keep. Programs, texts and versions of problems that no
    other run has go with the runs.
    """
    del caller
    set_days = parts.retention.days
    wanted = days or set_days
    before = None if wanted is None else parts.clock.now() - timedelta(days=wanted)
    holdings = [asdict(holding) for holding in parts.holdings.by_tenant(before)]
    return Retention(
        days=wanted,
        set_days=set_days,
        audit_days=parts.retention.audit_days,
        database_bytes=parts.holdings.size_bytes(),
        tenants=[TenantHolding(**holding) for holding in holdings],
    )


@router.get("/tenants/{tenant}/quotas", response_model=Quota, operation_id="get_quotas")
def get_quotas(tenant: Tenant, caller: Operating, parts: PartsDep) -> Quota:
    """Read the quotas of a tenant."""
    del caller
    return _quota(tenant, parts.accounts.quotas(tenant))


@router.put("/tenants/{tenant}/quotas", response_model=Quota, operation_id="set_quotas")
def set_quotas(tenant: Tenant, body: QuotaLimits, caller: Operating, parts: PartsDep) -> Quota:
    """Set the quotas of a tenant. A quota that you leave out has no limit."""
    del caller
    quotas = Quotas(**body.model_dump())
    parts.accounts.set_quotas(tenant, quotas)
    return _quota(tenant, quotas)


def _quota(tenant: str, quotas: Quotas) -> Quota:
    return Quota(tenant=tenant, **quotas.as_json())


def _moment(name: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        return _MOMENT.validate_python(text)
    except ValidationError:
        detail = f"{name} is not a time with a zone: write 2026-03-01T00:00:00Z"
        raise ApiFault(422, Code.INVALID_REQUEST, detail) from None
