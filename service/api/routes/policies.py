"""Policies that runs may ask."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.dependencies import ApiDependencies
from service.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, Cursor, Limit, Paging
from service.api.routes.runs import reader_of
from service.ports import Caller, Scope
from service.schemas.artifacts import PolicyHealth, PolicyHealthList, PolicyPage

router = APIRouter(prefix="/v1/policies", tags=["policies"], route_class=ApiRoute)
Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ))]


@router.get("", response_model=PolicyPage, operation_id="list_policies")
def list_policies(caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = "") -> PolicyPage:
    """List the policies that a run may name: the operator's, without their keys, and promoted ones of the registry."""
    paging = Paging(parts.signer, cursor, limit, {"list": "policies", "tenant": caller.tenant})
    places = list(enumerate([*parts.submissions.policies(), *_registered(parts, caller.tenant)]))
    begin = 0 if paging.after is None else int(paging.after) + 1
    rows, following = paging.cut(places[begin : begin + paging.limit + 1], lambda row: row[0])
    return PolicyPage(items=[dict(policy) for _, policy in rows], next_cursor=following)


def _registered(parts: ApiDependencies, tenant: str) -> Iterator[Mapping[str, Any]]:
    after = ""
    while page := parts.registry.policies(tenant, after, MAX_LIMIT):
        for policy in page:
            if policy.promoted is not None:
                yield {**parts.registry.version(tenant, policy.name, policy.promoted).settings, "name": policy.name}
        after = page[-1].name


@router.get("/health", response_model=PolicyHealthList, operation_id="list_policy_health")
def list_policy_health(caller: Reading, parts: PartsDep) -> PolicyHealthList:
    """List the health of the policy servers of running runs, as their runners last reported it."""
    found = reader_of(parts, caller).policy_health()
    return PolicyHealthList(items=[PolicyHealth(**asdict(one)) for one in found])
