"""Calls: each call to a server as the breaker, the limit and the metrics take it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import Counter, Histogram

from evolve.errors import PolicyDenied, PolicyError, PolicyRefused, PolicyUnavailable
from service.policy.breaker import Breaker
from service.policy.server_load import ServerLoad

_BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
REQUESTS = Counter("evolve_policy_requests", "Requests to policies, by model and outcome", ["model", "outcome"])
SECONDS = Histogram("evolve_policy_request_duration_seconds", "From a request to its last word", buckets=_BUCKETS)

MAX_MODELS = 64
OTHERS = "other"
_OUTCOMES = {PolicyUnavailable: "unavailable", PolicyRefused: "refused", PolicyDenied: "denied"}
_models: set[str] = set()


class Calls:
    """Admits calls, and records their results.

    Args:
        breaker: pauses calls to a failing server.
        server_load: counts the calls in flight.
        monotonic: seconds that never go back.
    """

    def __init__(self, breaker: Breaker, server_load: ServerLoad, monotonic: Callable[[], float]) -> None:
        self._breaker = breaker
        self._server_load = server_load
        self._monotonic = monotonic
        self._failure = "the policy server kept failing"

    def admit(self) -> None:
        """Ask to make a call. An admitted caller must make it within `heard` or `call`.

        Raises:
            PolicyUnavailable: calls to the server are paused. The text is that of its last failure.
        """
        wait = self._breaker.admit()
        if wait > 0.0:
            raise PolicyUnavailable(self._failure, wait)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Tell the breaker the end of a call. A server that refuses is healthy."""
        try:
            yield
        except PolicyUnavailable as error:
            self._failure = str(error)
            self._breaker.failed(error.retry_after_seconds)
            raise
        except PolicyError:
            self._breaker.succeeded()
            raise
        except BaseException:
            self._breaker.abandoned()
            raise
        else:
            self._breaker.succeeded()

    @contextmanager
    def call(self, model: str) -> Iterator[None]:
        """A request for a completion: heard, counted and timed."""
        started, outcome = self._monotonic(), "abandoned"
        try:
            with self._server_load.call(), self.heard():
                yield
            outcome = "answered"
        except PolicyError as error:
            outcome = next((word for kind, word in _OUTCOMES.items() if isinstance(error, kind)), "unavailable")
            raise
        finally:
            REQUESTS.labels(_shown(model), outcome).inc()
            SECONDS.observe(self._monotonic() - started)


def _shown(model: str) -> str:
    """The name of a model as a label. Users choose these names freely, so their number is limited."""
    if model not in _models and len(_models) >= MAX_MODELS:
        return OTHERS
    _models.add(model)
    return model
