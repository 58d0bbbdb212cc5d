"""Workers on the wire."""

from pydantic import Field

from service.schemas.types import Count, Moment, Reply


class Worker(Reply):
    """A worker that lives."""

    worker_id: str = Field(description="Id of the worker")
    pool: str = Field(description="Pool that the worker takes tasks from")
    slots: Count = Field(description="Number of evaluations that it runs at once")
    busy: Count = Field(description="Evaluations going on")
    isolation: str = Field(description="Level that its sandbox reached in its own test")
    state: str = Field(description="active or draining")
    version: str = Field(description="Version of the worker")
    started_at: Moment = Field(description="When it started")
    evaluations: Count = Field(description="How many it has done since its start")
    seen_at: Moment | None = Field(description="When it was heard")


class WorkerEvaluation(Reply):
    """An evaluation in the hands of a worker, or one that it ended."""

    worker_id: str = Field(description="Id of the worker")
    run_id: str | None = Field(description="Null: it is another tenant's, or its run has ended meanwhile")
    candidate_id: str | None = Field(description="Null as `run_id` is")
    outcome: str | None = Field(description="Null: it is under way")
    began_at: Moment = Field(description="When it began")
    ended_at: Moment | None = Field(description="When it was stored; null: it is under way")


class WorkerTimeline(Reply):
    """What workers evaluate now, and what they evaluated of late, the latest first."""

    since: Moment = Field(description="Begin of the period")
    until: Moment = Field(description="End of the period")
    items: list[WorkerEvaluation] = Field(description="Evaluations, the latest first")
    truncated: bool = Field(description="Whether there are more, earlier ones")


class WorkerList(Reply):
    """Workers that live, by pool and id, and how many tasks wait in each pool."""

    items: list[Worker] = Field(description="Workers, by pool and id")
    waiting: dict[str, Count] = Field(description="Number of waiting tasks by pool")
    oldest_seconds: dict[str, float] = Field(
        default={}, description="For how long the oldest task of a pool has waited that no worker ever had"
    )
