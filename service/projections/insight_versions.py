"""The versions of a run's insights, as its events tell them."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from evolve.change_events import InsightsWritten, RequestedChange
from evolve.events import EventKind
from service.ports import RunReader

if TYPE_CHECKING:
    from service.schemas.insights import InsightsList

_KINDS = (str(EventKind.INSIGHTS_WRITTEN),)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenVersion:
    """A version with its number; 0 and no time: it waits for the run."""

    number: int
    at: datetime | None
    data: InsightsWritten


def insight_versions(
    reader: RunReader, run_id: str, maximum: int, waiting: Sequence[RequestedChange] = ()
) -> list[WrittenVersion]:
    """The newest versions, the newest first; those of people that wait for the run come before all."""
    found: deque[WrittenVersion] = deque(maxlen=maximum)
    for number, entry in enumerate(reader.events(run_id, kinds=_KINDS), start=1):
        data = entry.event.data
        assert isinstance(data, InsightsWritten), "the class of this kind"
        found.append(WrittenVersion(number=number, at=entry.at, data=data))
    known = {one.data.change_id for one in found}
    for change in waiting:
        data = change.data
        if isinstance(data, InsightsWritten) and data.change_id not in known:
            found.append(WrittenVersion(number=0, at=None, data=data))
    return list(reversed(found))


def insights_list(reader: RunReader, run_id: str, waiting: Sequence[RequestedChange] = ()) -> "InsightsList":
    """The versions as they are told."""
    from service.schemas.insights import MAX_VERSIONS, InsightsList, InsightsVersion

    items = [
        InsightsVersion.model_validate(
            {
                "id": one.data.change_id,
                "version": one.number,
                "source": one.data.source,
                "by": one.data.by,
                "policy": one.data.policy,
                "reason": one.data.reason,
                "evaluations": one.data.evaluations,
                "at": one.at,
                "text": one.data.text,
            }
        )
        for one in insight_versions(reader, run_id, MAX_VERSIONS, waiting)
    ]
    return InsightsList(run_id=run_id, items=items)
