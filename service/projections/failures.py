"""Why answers of a run came to nothing: its failures grouped by reason, whatever the reason says of the one program."""

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.credit.yields import kind
from evolve.evaluation import Outcome
from service.ports import OutcomeCount
from service.schemas.failures import FailureGroup, RunFailures

MAX_GROUPS = 50
MAX_REASONS = 10_000  # as many as a statement takes
DUPLICATE_REASON = "the same program as an earlier candidate"


@dataclass(slots=True)
class _Group:
    """Failures of one kind; `reason` is the most frequent one."""

    outcome: str
    reason: str
    count: int = 0
    seconds: float = 0.0


def group_failures(run_id: str, counts: Sequence[OutcomeCount]) -> RunFailures:
    """Failures by outcome and kind of reason, the most frequent first.

    Args:
        run_id: of the run.
        counts: how its answers ended, the most frequent end first.
    """
    seconds = sum(one.seconds for one in counts)
    failed = [one for one in counts if one.outcome != Outcome.OK]
    groups: dict[tuple[str, str], _Group] = {}
    for one in failed:
        reason = " ".join(one.reason.split()) or (DUPLICATE_REASON if one.outcome == "duplicate" else "")
        group = groups.setdefault((one.outcome, kind(reason)), _Group(one.outcome, reason))
        group.count += one.times
        group.seconds += one.seconds
    ranked = sorted(groups.values(), key=lambda group: -group.count)
    return RunFailures(
        run_id=run_id,
        count=sum(one.times for one in failed),
        seconds=sum(one.seconds for one in failed),
        seconds_share=sum(one.seconds for one in failed) / seconds if seconds > 0 else None,
        evaluation_seconds=seconds,
        items=[_shown(group, seconds) for group in ranked[:MAX_GROUPS]],
        omitted=max(0, len(ranked) - MAX_GROUPS),
    )


def reasons_like(reason: str, counts: Sequence[OutcomeCount]) -> tuple[str, ...]:
    """The reasons that share a group with one, as the ends of a run's answers tell them, the most frequent first."""
    wanted = kind(reason)
    found = (one.reason for one in counts if one.reason and kind(one.reason) == wanted)
    return tuple(dict.fromkeys(found))[:MAX_REASONS]


def _shown(group: _Group, seconds: float) -> FailureGroup:
    return FailureGroup(
        outcome=group.outcome,
        reason=group.reason,
        count=group.count,
        seconds=group.seconds,
        seconds_share=group.seconds / seconds if seconds > 0 else None,
    )
