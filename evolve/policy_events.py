"""Kinds of events on policies: whether they can be asked, how, and which prompts they write."""

from dataclasses import dataclass
from typing import ClassVar

from evolve.event_types import EventData, EventKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyBecameUnavailable(EventData):
    """One of several policies cannot be asked."""

    kind: ClassVar[EventKind] = EventKind.POLICY_UNAVAILABLE
    policy: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRecovered(EventData):
    """A policy can be asked again."""

    kind: ClassVar[EventKind] = EventKind.POLICY_RECOVERED
    policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAdapted(EventData):
    """Requests are written differently, since the server refused a parameter."""

    kind: ClassVar[EventKind] = EventKind.POLICY_ADAPTED
    policy: str
    parameter: str
    action: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWritten(EventData):
    """A model wrote a prompt for the pool; the number of its proposal is the prompt's. Empty: the configured text."""

    kind: ClassVar[EventKind] = EventKind.PROMPT_WRITTEN
    proposal_number: int
    parent: int
    problem: str
    request: str
