"""Workers on the wire."""

from typing import Literal

from pydantic import Field

from service.schemas.types import Count, Moment, Reply


class WorkerDevice(Reply):
    """A device of a worker, of which one evaluation at a time has the use."""

    name: str = Field(description="Name of its file, such as nvidia0")
    model: str = Field(description="Model. Empty: unknown")
    driver: str = Field(description="Version of its driver. Empty: unknown")
    clock_mhz: Count = Field(description="Latest reading of its clock, in MHz. 0: unknown")
    max_clock_mhz: Count = Field(description="Maximum of its clock, in MHz. 0: unknown")
    clocks: Literal["locked", "unlocked", "unknown"] = Field(
        description="`locked`: equal readings at rest and after evaluations. `unlocked`: the readings differ"
    )


class Worker(Reply):
    """A worker that lives."""

    worker_id: str = Field(description="Id of the worker")
    pool: str = Field(description="Pool that the worker takes tasks from")
    slots: Count = Field(description="Number of evaluations that it runs at once")
    busy: Count = Field(description="Number of its current evaluations")
    isolation: str = Field(description="Isolation level, by its self-test")
    containers: str = Field(
        default="", description="Container runtime for problems with an image. Empty: it takes none of these"
    )
    devices: list[WorkerDevice] = Field(
        default=[], description="Its devices. Empty: its evaluations have no accelerator"
    )
    state: str = Field(description="active or draining")
    version: str = Field(description="Version of the worker")
    started_at: Moment = Field(description="When it started")
    evaluations: Count = Field(description="Number of its evaluations since its start")
    seen_at: Moment | None = Field(description="When it last reported")


class WorkerEvaluation(Reply):
    """A current or recent evaluation of a worker."""

    worker_id: str = Field(description="Id of the worker")
    run_id: str | None = Field(description="Null: it is another tenant's, or its run has ended meanwhile")
    candidate_id: str | None = Field(description="Null as `run_id` is")
    outcome: str | None = Field(description="Null: in progress")
    began_at: Moment = Field(description="When it began")
    ended_at: Moment | None = Field(description="When it was stored. Null: in progress")


class WorkerTimeline(Reply):
    """Current and recent evaluations of workers, latest first."""

    since: Moment = Field(description="Begin of the period")
    until: Moment = Field(description="End of the period")
    items: list[WorkerEvaluation] = Field(description="Evaluations, latest first")
    truncated: bool = Field(description="Whether there are more, older evaluations")


class WorkerList(Reply):
    """Workers that live, by pool and id, and how many tasks wait in each pool."""

    items: list[Worker] = Field(description="Workers, by pool and id")
    waiting: dict[str, Count] = Field(description="Number of waiting tasks by pool")
    oldest_seconds: dict[str, float] = Field(
        default={}, description="Wait of the oldest task of a pool that no worker has taken yet"
    )
