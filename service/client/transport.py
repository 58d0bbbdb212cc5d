"""Exchange: how a call comes to its answer, whichever client does the sending and the waiting."""

import secrets
from collections.abc import Generator
from datetime import UTC, datetime
from types import NoneType
from typing import Any, TypeAlias, TypeVar, cast

import httpx
from pydantic import BaseModel, ValidationError

from evolve.errors import EvolveError
from service.client.call import Call
from service.client.errors import away, fault_of, passes
from service.errors import ServiceError, UnreachableError
from service.net.retry import Backoff, read_retry_after

IDEMPOTENCY_KEY = "Idempotency-Key"
Answer = TypeVar("Answer")

Send: TypeAlias = httpx.Request
Wait: TypeAlias = float
Outcome: TypeAlias = httpx.Response | httpx.RequestError | None
Exchange: TypeAlias = Generator[Send | Wait, Outcome, Answer]


class Transport:
    """What requests are made with.

    Attributes:
        server: address of the service, as it may be shown.
        backoff: how often and how soon a request is repeated.
    """

    def __init__(self, client: httpx.Client | httpx.AsyncClient, server: str, backoff: Backoff) -> None:
        self.server, self.backoff = server, backoff
        self._client = client

    def exchange(self, call: Call[Answer]) -> Exchange[Answer]:
        """Yield requests to be sent and seconds to be waited; what came of a request is sent in.

        Raises:
            ServiceError, EvolveError: what the service answers, or that it does not.
        """
        once = {IDEMPOTENCY_KEY: secrets.token_urlsafe(24), **call.headers} if call.method == "POST" else {}
        for attempt in range(1, self.backoff.attempts + 1):
            outcome = yield self.request(call, once)
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return _read(call, outcome)
            error, hint = self.judge(outcome)
            seconds = self.wait(attempt, hint) if hint is not None and call.repeatable else None
            if seconds is None:
                raise error
            yield seconds
        raise AssertionError  # the last attempt is not waited for

    def request(self, call: Call[Any], headers: dict[str, str]) -> httpx.Request:
        """A call as a request."""
        sent = {"Accept": "application/json", **call.headers, **headers}
        content = None
        if call.body is not None:
            content = call.body.model_dump_json(exclude_unset=True).encode()
            sent["Content-Type"] = "application/json"
        timeout = self._client.timeout.as_dict()
        timeout["read"] = (timeout.get("read") or 0.0) + call.wait_seconds
        return self._client.build_request(
            call.method, call.path, params=call.params, content=content, headers=sent, timeout=httpx.Timeout(**timeout)
        )

    def judge(self, outcome: Outcome) -> tuple[ServiceError | EvolveError, float | None]:
        """What a failure is, and the seconds after which the service wants to be asked again; None: it is no use."""
        if isinstance(outcome, httpx.Response):
            asked = read_retry_after(outcome.headers.get("Retry-After"), lambda: datetime.now(UTC))
            return fault_of(outcome, self.server), asked if passes(outcome) else None
        assert outcome is not None
        return away(outcome, self.server), None if isinstance(outcome, httpx.UnsupportedProtocol) else 0.0

    def wait(self, attempt: int, asked_seconds: float) -> float | None:
        """Seconds until the next attempt; None: there is none."""
        import numpy as np  # only who must wait pays for it

        return self.backoff.wait(attempt, asked_seconds, np.random.default_rng())

    def pause(self, attempt: int, asked_seconds: float) -> float:
        """Seconds until the next attempt of a caller who decides by himself which one is the last."""
        import numpy as np  # only who must wait pays for it

        return max(asked_seconds, self.backoff.seconds(attempt, float(np.random.default_rng().random())))


def _read(call: Call[Answer], answer: httpx.Response) -> Answer:
    if call.answer is NoneType:
        return cast(Answer, None)
    if call.answer is bytes:
        return cast(Answer, answer.content)
    assert issubclass(call.answer, BaseModel)
    try:
        return cast(Answer, call.answer.model_validate_json(answer.content))
    except ValidationError as error:
        raise UnreachableError("the service answers what cannot be read here: is it of this version?") from error
