"""The adapter of a connection: the form of requests to its server, for all calls, and its changes."""

from collections.abc import Mapping
from typing import Any

from evolve.ports import AdaptedPolicy
from service.policy.capabilities import (
    Adaptation,
    ParameterChange,
    RefusedRequest,
    RequestShape,
    adapted,
    without_choices,
)


class RequestAdapter:
    """Learns from refusals, and reports each change once.

    Args:
        policy: the policy's name in its reports.

    Attributes:
        shape: the present form of requests.
        accepted: whether a request of this form was answered.
    """

    def __init__(self, policy: str) -> None:
        self.shape = RequestShape()
        self.accepted = False
        self._policy = policy
        self._model = ""
        self._told: set[ParameterChange] = set()
        self._notices: list[AdaptedPolicy] = []

    def serve(self, model: str) -> None:
        """Start again for another model."""
        if self._model not in ("", model):
            self.shape, self.accepted = RequestShape(), False
            self._told.clear()
        self._model = model

    def learn(self, body: Mapping[str, Any], refusal: RefusedRequest, context_tokens: int) -> Adaptation | None:
        """Learn from a refusal. None if it teaches nothing.

        Args:
            body: the refused request as sent.
            refusal: of the server.
            context_tokens: context length assumed for the request.
        """
        found = adapted(self.shape, body, refusal, context_tokens)
        if found is not None:
            self._take(found)
        return found

    def miss_choices(self, asked: int, given: int) -> None:
        """Learn that fewer choices came than requested. From now on each has a request of its own."""
        reason = f"{given} of {asked} choices came: from now on each chain has a request of its own"
        changes = (ParameterChange(parameter="n", action="dropped"),)
        self._take(Adaptation(shape=without_choices(self.shape), changes=changes, reason=reason))

    def notices(self) -> tuple[AdaptedPolicy, ...]:
        """The changes since the last call."""
        notices, self._notices = tuple(self._notices), []
        return notices

    def _take(self, found: Adaptation) -> None:
        self.shape, self.accepted = found.shape, False
        for change in found.changes:
            if change not in self._told:
                self._told.add(change)
                self._notices.append(
                    AdaptedPolicy(
                        policy=self._policy, parameter=change.parameter, action=change.action, reason=found.reason
                    )
                )
