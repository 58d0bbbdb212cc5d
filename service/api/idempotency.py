"""Requests that have their effect once, however often they are sent."""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request
from fastapi.responses import Response
from pydantic import BaseModel

from service.api.auth import PartsDep
from service.api.dependencies import ApiDependencies
from service.ports import Caller, StoredResponse

MAX_KEY = 255
REPLAYED = "Idempotency-Replayed"
_Prepared = TypeVar("_Prepared")

IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=MAX_KEY,
        pattern="^[ -~]*$",
        description="Any printable ASCII. For 24 hours, a repeated request with the same key has no second effect.",
    ),
]


class _UnansweredError(Exception):
    """A key has no answer yet; it takes back that it was claimed."""


class IdempotentRequests:
    """Runs an effect in one transaction, and once for an idempotency key."""

    def __init__(self, parts: ApiDependencies, request: Request, key: str, request_hash: str) -> None:
        self._parts, self._request, self._key, self._hash = parts, request, key, request_hash

    def __call__(self, effect: Callable[[], Response], unstored: str = "") -> Response:
        """Run the effect, or give the answer that it was given before.

        Args:
            effect: what shall happen once.
            unstored: the member of the answer that is shown this once, and stored nowhere.

        Raises:
            KeyReusedError: the key came with another request.
            InProgressError: the first request with it is still at work.
        """
        caller: Caller = self._request.state.caller
        with self._parts.unit():
            if not self._key:
                return effect()
            if before := self._begin():
                return before
            response = effect()
            kept = {name: value for name, value in response.headers.items() if name != "content-length"}
            body = _without(unstored, bytes(response.body))
            self._parts.requests.finish(
                caller.actor, self._key, StoredResponse(status=response.status_code, headers=kept, body=body)
            )
            return response

    def after(self, prepare: Callable[[], _Prepared], effect: Callable[[_Prepared], Response]) -> Response:
        """Run an effect of something that takes its time to prepare; no transaction is held meanwhile.

        Raises:
            KeyReusedError, InProgressError: as when called.
        """
        if self._key:
            with suppress(_UnansweredError), self._parts.unit():
                if before := self._begin():
                    return before
                raise _UnansweredError
        prepared = prepare()
        return self(lambda: effect(prepared))

    def _begin(self) -> Response | None:
        caller: Caller = self._request.state.caller
        before = self._parts.requests.begin(caller.actor, self._key, self._hash, self._parts.clock.now())
        if before is None:
            return None
        return Response(before.body, before.status, {**before.headers, REPLAYED: "true"})


async def once(request: Request, parts: PartsDep, idempotency_key: IdempotencyKey = "") -> IdempotentRequests:
    """The dependency of routes that make something."""
    place = request.scope["path"].encode("utf-8", "surrogateescape") + b"?" + request.scope["query_string"]
    said = b"%s %s\n%s" % (request.method.encode(), place, await request.body())
    return IdempotentRequests(parts, request, idempotency_key, hashlib.sha256(said).hexdigest())


def _without(member: str, body: bytes) -> bytes:
    return json.dumps({**json.loads(body), member: None}).encode() if member else body


OnceDep = Annotated[IdempotentRequests, Depends(once)]


def made(body: BaseModel, status: int = 201, headers: Mapping[str, str] | None = None) -> Response:
    """A model as the response that the effect of a request is answered with."""
    return Response(body.model_dump_json(), status, headers, "application/json")
