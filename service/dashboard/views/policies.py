"""Registered policies, "which version is used, and where does it come from?": their versions as a lineage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from service.client import calls
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.session import Api, FormDep
from service.schemas.policy_registry import PolicyVersion, VersionEvaluation, VersionPromote

SHOWN, VERSIONS_SHOWN = 50, 200
router = APIRouter(prefix="/policies", route_class=PageRoute, include_in_schema=False)
Name = Annotated[str, Path(max_length=100)]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageRow:
    """A version in the lineage of its policy. `depth`: number of its bases that are listed above it."""

    version: PolicyVersion
    depth: int

    @property
    def newest(self) -> VersionEvaluation | None:
        """Its newest evaluation."""
        return self.version.evaluations[-1] if self.version.evaluations else None


def lineage_of(versions: Sequence[PolicyVersion]) -> list[LineageRow]:
    """Versions as a tree in reading order: each below its base, the oldest first."""
    names = {found.name for found in versions}
    below: dict[str, list[PolicyVersion]] = {}
    for found in sorted(versions, key=lambda one: one.version):
        below.setdefault(found.base if found.base in names else "", []).append(found)
    rows: list[LineageRow] = []
    waiting = [(found, 0) for found in reversed(below.get("", []))]
    while waiting:
        found, depth = waiting.pop()
        rows.append(LineageRow(version=found, depth=depth))
        waiting += [(child, depth + 1) for child in reversed(below.get(found.name, []))]
    return rows


@router.get("")
async def show_policies(request: Request, api: Api, cursor: Annotated[str, Query(max_length=2000)] = "") -> Response:
    """Show the policies of the registry."""
    call = calls.list_registered_policies(limit=SHOWN)
    page = await api.send(call.at(cursor) if cursor else call)
    return render(request, "policies.html", policies=page.items, following=page.next_cursor)


@router.get("/{name}")
async def show_policy(request: Request, name: Name, api: Api) -> Response:
    """Show a policy with the lineage of its versions."""
    policy = await api.send(calls.get_policy(name))
    page = await api.send(calls.list_policy_versions(name, limit=VERSIONS_SHOWN))
    more = page.next_cursor is not None
    return render(request, "registered_policy.html", policy=policy, rows=lineage_of(page.items), more=more)


@router.get("/{name}/{version}")
async def show_version(request: Request, name: Name, version: Version, api: Api) -> Response:
    """Show a version: how it was trained and measured."""
    policy = await api.send(calls.get_policy(name))
    found = await api.send(calls.get_policy_version(name, version))
    return render(request, "policy_version.html", policy=policy, found=found)


@router.post("/{name}/{version}/promote")
async def promote(name: Name, version: Version, api: Api, form: FormDep) -> Response:
    """Let the policy's name stand for a version."""
    await api.send(
        calls.promote_policy_version(name, version, VersionPromote(force=form.get("force", "").strip()[:1000]))
    )
    return go_to(f"/policies/{name}")


@router.post("/{name}/{version}/archive")
async def archive(name: Name, version: Version, api: Api) -> Response:
    """Take a version from new runs."""
    await api.send(calls.archive_policy_version(name, version))
    return go_to(f"/policies/{name}")
