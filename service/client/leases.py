"""Evaluations for a worker that reaches the service over HTTP and nothing else."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from evolve.errors import EvolveError
from evolve.evaluation import Evaluation, ScoringRequest
from evolve.program import Program
from service.client.address import options
from service.errors import MissingBundleError, RefusedError, UnreachableError, UsageError
from service.ports import Bundle, EvaluationTask, Lease, LeaseName, LeaseState, WorkerHeartbeat
from service.schemas.evaluations import MAX_WAIT_SECONDS, LeasedTask, LeaseStanding, WorkerHeartbeatReply

# Beyond what the service takes to answer a call on purpose.
_SPARE_SECONDS = 15.0
Said = TypeVar("Said", bound=BaseModel)


@asynccontextmanager
async def connect_service(
    server: str, key: str, transport: httpx.AsyncBaseTransport | None = None, *, allow_http: bool = False
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service at an address; nothing is asked of it yet.

    Raises:
        UsageError: the address or the key cannot be used, or the key would go over the network in the clear.
    """
    chosen = options(server, key, allow_http=allow_http) | {"timeout": _SPARE_SECONDS}
    async with httpx.AsyncClient(transport=transport, **chosen) as client:
        yield client


class RemoteEvaluationLeases:
    """Evaluations of one pool as one worker sees them, over HTTP."""

    def __init__(self, client: httpx.AsyncClient, pool: str, worker_id: str, hold_seconds: float = 2.0) -> None:
        """Make it.

        Args:
            client: of the service, with a key that may lease.
            pool: whose tasks are taken.
            worker_id: a name that no other worker has.
            hold_seconds: how long the service may keep a renewal waiting that has no news.
        """
        self._client, self._pool, self._worker_id, self._hold_seconds = client, pool, worker_id, hold_seconds
        self._tokens: dict[tuple[str, int], str] = {}

    async def lease(self, timeout_seconds: float) -> Lease | None:
        """The next task; None when none comes in time."""
        wait_seconds = min(timeout_seconds, MAX_WAIT_SECONDS)
        body = {"worker_id": self._worker_id, "pool": self._pool, "wait_seconds": wait_seconds}
        answer = await self._post("/v1/evaluations/lease", body, wait_seconds)
        if answer.status_code == 204:
            return None
        try:
            found = _read(LeasedTask, answer)
            program = Program.of(found.task.files)
        except EvolveError as error:
            raise UnreachableError(
                "the service hands out a task that cannot be read: is it of this version?"
            ) from error
        self._tokens[found.lease_id, found.delivery] = found.token
        task = EvaluationTask(
            evaluation_id=found.task.evaluation_id,
            bundle_hash=found.task.bundle_hash,
            program=program,
            pool=found.task.pool,
            scoring=ScoringRequest(
                early_stop_threshold=found.task.early_stop_threshold,
                holdout=found.task.holdout,
                draw=found.task.draw,
                traced=found.task.traced,
                render=found.task.render,
            ),
            traceparent=found.task.traceparent,
        )
        return Lease(id=found.lease_id, task=task, delivery=found.delivery, waited_seconds=found.waited_seconds)

    async def renew(self, lease: LeaseName) -> LeaseState:
        """Say that the task is being worked at; answers when there is news, or after a while."""
        if (token := self._tokens.get((lease.id, lease.delivery))) is None:
            return LeaseState.LOST
        body = {"token": token, "wait_seconds": self._hold_seconds}
        answer = await self._post(f"/v1/evaluations/{lease.id}/renew", body, self._hold_seconds)
        if answer.status_code == 409:
            del self._tokens[lease.id, lease.delivery]
            return LeaseState.LOST
        return LeaseState(_read(LeaseStanding, answer).standing)

    async def complete(self, lease: LeaseName, evaluation: Evaluation) -> bool:
        """Give the result; False and nothing done where the lease is not this worker's, or no longer."""
        if (token := self._tokens.get((lease.id, lease.delivery))) is None:
            return False
        # What is not there is left out: a service of an earlier version may not know of it.
        given = {name: value for name, value in asdict(evaluation).items() if name != "worker" and value is not None}
        answer = await self._post(f"/v1/evaluations/{lease.id}/complete", {"token": token, "evaluation": given})
        del self._tokens[lease.id, lease.delivery]
        return answer.status_code != 409

    async def release(self, lease: LeaseName) -> bool:
        """Return a task undone; a service of an earlier version does not know the call, and the lease lapses there."""
        if (token := self._tokens.pop((lease.id, lease.delivery), None)) is None:
            return False
        return (await self._post(f"/v1/evaluations/{lease.id}/release", {"token": token})).is_success

    async def bundle(self, bundle_hash: str) -> Bundle:
        """A problem's folder."""
        answer = await self._call("GET", f"/v1/bundles/{bundle_hash}", headers={"Accept-Encoding": "identity"})
        if answer.status_code == 404:
            raise MissingBundleError(bundle_hash)
        return Bundle(hash=bundle_hash, content=answer.content)

    async def heartbeat(self, heartbeat: WorkerHeartbeat) -> bool:
        """Publish that this worker lives; whether it was told to drain."""
        said = asdict(heartbeat) | {"started_at": heartbeat.started_at.isoformat()}
        # An earlier service does not know the latter two.
        left_out = {"worker_id", "seen_at", *(name for name in ("containers", "devices") if not said[name])}
        body = {name: value for name, value in said.items() if name not in left_out}
        return _read(WorkerHeartbeatReply, await self._post(f"/v1/workers/{self._worker_id}/heartbeat", body)).drain

    async def leave(self) -> None:
        """Publish that this worker has ended."""
        await self._post(f"/v1/workers/{self._worker_id}/leave", {"pool": self._pool})

    async def _post(self, path: str, body: Mapping[str, Any], wait_seconds: float = 0.0) -> httpx.Response:
        return await self._call("POST", path, json=body, timeout=_SPARE_SECONDS + wait_seconds)

    async def _call(self, method: str, path: str, **words: Any) -> httpx.Response:
        """Ask the service; what is left to judge is an answer that fits the question, 404 or 409."""
        try:
            answer = await self._client.request(method, path, **words)
        except httpx.HTTPError as error:
            raise UnreachableError(f"the service does not answer: {str(error) or type(error).__name__}") from error
        if answer.is_success or answer.status_code in {404, 409}:
            return answer
        reason = f"{answer.status_code}: {_detail(answer)}"
        if answer.status_code in {401, 403}:
            raise RefusedError(f"the service refuses this worker's key ({reason})")
        if answer.status_code == 422:
            raise UsageError(f"the service cannot use what this worker says ({reason})")
        raise UnreachableError(f"the service does not answer: {reason}")


def _read(model: type[Said], answer: httpx.Response) -> Said:
    try:
        return model.model_validate_json(answer.content)
    except ValidationError as error:
        raise UnreachableError("the service answers what cannot be read: is it of this version?") from error


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])[:300]
    except (ValueError, KeyError, TypeError):
        return answer.reason_phrase
