"""Workers on the wire."""

from pydantic import Field

from service.schemas.types import Count, Moment, Reply


class Worker(Reply):
    """A worker that lives."""

    worker_id: str
    pool: str
    slots: Count
    busy: Count = Field(description="Evaluations going on")
    isolation: str = Field(description="Level that its sandbox reached in its own test")
    state: str = Field(description="active or draining")
    version: str
    started_at: Moment
    evaluations: Count = Field(description="How many it has done since its start")
    seen_at: Moment | None = Field(description="When it was heard")


class WorkerList(Reply):
    """Workers that live, by pool and id, and how many tasks wait in each pool."""

    items: list[Worker]
    waiting: dict[str, Count]
    oldest_seconds: dict[str, float] = Field(
        default={}, description="For how long the oldest task of a pool has waited that no worker ever had"
    )
