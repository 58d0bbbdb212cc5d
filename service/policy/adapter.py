"""The adapter of a connection: how requests to its server are written, kept for all calls, and what changed in that."""

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
    """Learns from refusals, and hands over each thing that it learnt once.

    Args:
        policy: the policy's name in what it hands over.

    Attributes:
        shape: how requests are written at present.
        accepted: whether a request of this shape was answered.
    """

    def __init__(self, policy: str) -> None:
        self.shape = RequestShape()
        self.accepted = False
        self._policy = policy
        self._model = ""
        self._told: set[ParameterChange] = set()
        self._notices: list[AdaptedPolicy] = []

    def serve(self, model: str) -> None:
        """Start anew for another model than the one that was learnt about."""
        if self._model not in ("", model):
            self.shape, self.accepted = RequestShape(), False
            self._told.clear()
        self._model = model

    def learn(self, body: Mapping[str, Any], refusal: RefusedRequest, context_tokens: int) -> Adaptation | None:
        """Take in a refusal; None where it teaches nothing.

        Args:
            body: the refused request as it was sent.
            refusal: of the server.
            context_tokens: the context that the request was written for.
        """
        found = adapted(self.shape, body, refusal, context_tokens)
        if found is not None:
            self._take(found)
        return found

    def miss_choices(self, asked: int, given: int) -> None:
        """Take in that fewer choices came than were asked for: from now on each takes a request of its own."""
        reason = f"{given} of {asked} choices came: from now on each chain has a request of its own"
        changes = (ParameterChange(parameter="n", action="dropped"),)
        self._take(Adaptation(shape=without_choices(self.shape), changes=changes, reason=reason))

    def notices(self) -> tuple[AdaptedPolicy, ...]:
        """What was learnt since this was asked last."""
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
