"""The registry of policies: versions, their evaluations, and which of them a name stands for."""

import base64
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, missing, requires
from service.api.error_responses import raises
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import LOCATION, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.errors import ConflictError, RefusedError, UnreachableError
from service.ports import Caller, PolicyEvaluation, Scope
from service.projections.policy_registry import policy_reply, version_reply
from service.schemas.policy_registry import (
    EvaluationCreate,
    PolicyCreate,
    PolicyVersion,
    PolicyVersionPage,
    RegisteredPolicy,
    RegisteredPolicyPage,
    VersionCreate,
    VersionPromote,
)

router = APIRouter(prefix="/v1/policies", tags=["policies"], route_class=ApiRoute)

Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ))]
Downloading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, Scope.PROGRAMS_READ))]
Writing = Annotated[Caller, Depends(requires(Scope.RUNS_WRITE))]
# The chat template of a model is a program without a time limit: only the operator brings one.
Uploading = Annotated[Caller, Depends(requires(Scope.OPERATE, operator=True))]
Policy = Annotated[str, Path(pattern=r"^[^\x00/]{1,64}$", description="Name of a registered policy.")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1, description="Number of a version.")]
_MADE: dict[int | str, dict[str, Any]] = {201: {"model": RegisteredPolicy, "headers": LOCATION | REPLAY_HEADER}}
_STORED: dict[int | str, dict[str, Any]] = {201: {"model": PolicyVersion, "headers": LOCATION | REPLAY_HEADER}}
_CHANGED: dict[int | str, dict[str, Any]] = {200: {"model": PolicyVersion, "headers": REPLAY_HEADER}}


@router.post(
    "",
    status_code=201,
    response_model=RegisteredPolicy,
    responses=_MADE | raises(ConflictError, RefusedError),
    operation_id="create_policy",
)
def create_policy(body: PolicyCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Register a policy. It has no versions yet."""

    def effect() -> Response:
        policy = parts.registry.register(caller.tenant, body.name, body.description, shared=body.shared, by=caller.name)
        return made(policy_reply(policy, caller.tenant), 201, {"Location": f"/v1/policies/{policy.name}"})

    return once(effect)


@router.get("/registered", response_model=RegisteredPolicyPage, operation_id="list_registered_policies")
def list_registered_policies(
    caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> RegisteredPolicyPage:
    """List the policies of the registry: the tenant's own, and those that the operator shares."""
    paging = Paging(parts.signer, cursor, limit, {"list": "registered", "tenant": caller.tenant})
    found = parts.registry.policies(caller.tenant, paging.after or "", paging.limit + 1)
    rows, following = paging.cut(found, lambda row: row.name)
    return RegisteredPolicyPage(items=[policy_reply(row, caller.tenant) for row in rows], next_cursor=following)


@router.get("/{policy}", response_model=RegisteredPolicy, operation_id="get_policy")
def get_policy(policy: Policy, caller: Reading, parts: PartsDep) -> RegisteredPolicy:
    """Read a policy of the registry."""
    return policy_reply(parts.registry.get(caller.tenant, policy), caller.tenant)


@router.get("/{policy}/versions", response_model=PolicyVersionPage, operation_id="list_policy_versions")
def list_policy_versions(
    policy: Policy, caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> PolicyVersionPage:
    """List the versions of a policy, newest first."""
    paging = Paging(parts.signer, cursor, limit, {"list": "versions", "tenant": caller.tenant, "policy": policy})
    rows, following = paging.cut(
        parts.registry.versions(caller.tenant, policy, paging.after, paging.limit + 1), lambda row: row.version
    )
    return PolicyVersionPage(items=[version_reply(row) for row in rows], next_cursor=following)


@router.post(
    "/{policy}/versions",
    status_code=201,
    response_model=PolicyVersion,
    responses=_STORED | raises(RefusedError),
    operation_id="create_policy_version",
)
def create_policy_version(
    policy: Policy, body: VersionCreate, caller: Uploading, parts: PartsDep, once: OnceDep
) -> Response:
    """Upload a model's folder as the next version of a policy. Only the operator may."""
    files = {path: base64.b64decode(text) for path, text in body.binary_files.items()}

    def effect() -> Response:
        found = parts.registry.add_version(
            caller.tenant,
            policy,
            files,
            base=body.base,
            training=body.training,
            card=body.card,
            by=caller.name,
            served=body.served,
        )
        place = f"/v1/policies/{found.policy}/versions/{found.version}"
        return made(version_reply(found), 201, {"Location": place})

    return once(effect)


@router.get("/{policy}/versions/{version}", response_model=PolicyVersion, operation_id="get_policy_version")
def get_policy_version(policy: Policy, version: Version, caller: Reading, parts: PartsDep) -> PolicyVersion:
    """Read a version of a policy."""
    return version_reply(parts.registry.version(caller.tenant, policy, version))


@router.get(
    "/{policy}/versions/{version}/files",
    response_class=Response,
    responses={200: {"content": {"application/gzip": {}}, "description": "The folder as tar.gz."}},
    operation_id="download_policy_version",
)
def download_policy_version(policy: Policy, version: Version, caller: Downloading, parts: PartsDep) -> Response:
    """Download the folder of a version."""
    found = parts.registry.version(caller.tenant, policy, version)
    headers = {
        "Content-Disposition": f'attachment; filename="{found.policy}-{found.version}.tar.gz"',
        "Cache-Control": "private, max-age=31536000, immutable",
        "ETag": f'"{found.bundle_hash}"',
    }
    return Response(parts.problems.bundle(found.bundle_hash).content, 200, headers, "application/gzip")


@router.post(
    "/{policy}/versions/{version}/evaluations",
    status_code=201,
    response_model=PolicyVersion,
    responses=_STORED | raises(RefusedError),
    operation_id="evaluate_policy_version",
)
def evaluate_policy_version(
    policy: Policy, version: Version, body: EvaluationCreate, caller: Writing, parts: PartsDep, once: OnceDep
) -> Response:
    """Record an evaluation of a version, paired with another version by held-out problem."""
    evaluation = PolicyEvaluation(
        against=body.against,
        metric=body.metric,
        problems=body.problems,
        values=body.values,
        baseline=body.baseline,
    )

    def effect() -> Response:
        found = parts.registry.evaluate(caller.tenant, policy, version, evaluation)
        place = f"/v1/policies/{found.policy}/versions/{found.version}"
        return made(version_reply(found), 201, {"Location": place})

    return once(effect)


@router.post(
    "/{policy}/versions/{version}/promote",
    response_model=PolicyVersion,
    responses=_CHANGED | raises(ConflictError, RefusedError, UnreachableError),
    operation_id="promote_policy_version",
)
def promote_policy_version(
    policy: Policy, version: Version, body: VersionPromote, caller: Writing, parts: PartsDep, once: OnceDep
) -> Response:
    """Let a policy's name stand for a version, if the gate allows it. The vLLM of an adapter loads it before."""
    if body.force and Scope.OPERATE not in caller.scopes:
        raise missing(Scope.OPERATE)
    force = body.force.strip()

    def effect(_: None) -> Response:
        found = parts.registry.promote(caller.tenant, policy, version, by=caller.name, force=force)
        return made(version_reply(found), 200)

    return once.after(lambda: parts.registry.serve(caller.tenant, policy, version, force=force), effect)


@router.post(
    "/{policy}/versions/{version}/archive",
    response_model=PolicyVersion,
    responses=_CHANGED | raises(ConflictError, RefusedError),
    operation_id="archive_policy_version",
)
def archive_policy_version(
    policy: Policy, version: Version, caller: Writing, parts: PartsDep, once: OnceDep
) -> Response:
    """Take a version from new runs. Runs that have it keep it."""
    return once(lambda: made(version_reply(parts.registry.archive(caller.tenant, policy, version)), 200))
