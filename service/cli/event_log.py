"""Events of a run as log entries: ids, counts and names, and of the words of people and models their length alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evolve.events import EventKind

if TYPE_CHECKING:
    from service.ports import LoggedEvent
    from service.runner.status import RunStatus

_LEFT_OUT = frozenset({"schema", "kind", "at"})
# Keys of events that hold what people, models or programs wrote. A log has how long they are.
TEXTS: Mapping[str, frozenset[str]] = {
    EventKind.HINT_GIVEN: frozenset({"text"}),
    EventKind.INSIGHTS_WRITTEN: frozenset({"text", "reason"}),
    EventKind.PROMPT_WRITTEN: frozenset({"problem", "request"}),
    EventKind.SETTINGS_CHANGED: frozenset({"settings"}),
    EventKind.CHANGE_REFUSED: frozenset({"reason"}),
    EventKind.CANDIDATE_REJECTED: frozenset({"reason"}),
    EventKind.HOLDOUT_SCORED: frozenset({"reason"}),
    EventKind.AUDIT_SCORED: frozenset({"reason"}),
    EventKind.PROPOSAL_CREATED: frozenset({"rejections"}),
    EventKind.PROPOSAL_FAILED: frozenset({"reason"}),
    EventKind.POLICY_UNAVAILABLE: frozenset({"reason"}),
    EventKind.POLICY_ADAPTED: frozenset({"reason"}),
}
_OF_ANY_KIND = frozenset({"run_id", "sequence"})


def log_fields(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a log has of an event; of one that a later version tells of, only where it is."""
    kind = told.get("kind")
    if kind not in set(EventKind):
        return {key: value for key, value in told.items() if key in _OF_ANY_KIND}
    texts = TEXTS.get(str(kind), frozenset())
    found = {key: value for key, value in told.items() if key not in _LEFT_OUT | texts}
    return found | dict(_measured(key, told[key]) for key in sorted(texts) if key in told)


class EventLog:
    """Every committed event as a log entry, for those who asked for them."""

    def __init__(self) -> None:
        import structlog

        self._log = structlog.get_logger("run")

    def committed(self, events: Sequence["LoggedEvent"], status: "RunStatus") -> None:  # noqa: ARG002 - the observer's signature
        """Log what is durable now."""
        self.tell(entry.as_json() for entry in events)

    def tell(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Log events as the API tells them."""
        for event in events:
            self._log.info(str(event.get("kind")), **log_fields(event))


def _measured(key: str, value: object) -> tuple[str, Any]:
    if isinstance(value, str):
        return f"{key}_characters", len(value)
    if isinstance(value, Mapping):
        return f"{key}_keys", sorted(value)
    return f"{key}_count", len(value) if isinstance(value, Sequence) else 0
