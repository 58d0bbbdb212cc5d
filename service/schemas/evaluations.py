"""Evaluations for workers over HTTP, and their results."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from evolve.evaluation import ANSWER_CHARACTERS, MAX_ARTIFACTS, MAX_TRACE_CHARACTERS
from evolve.problem import MAX_MAGNITUDE
from evolve.views.candidate_view import MAX_REASON_CHARACTERS, MAX_VIEW_BYTES
from service.schemas.types import Count, Moment, Reply, Request, Seconds, Text, integral

MAX_WAIT_SECONDS = 20.0
MAX_HOLD_SECONDS = 5.0
MAX_SLOTS = 1024

WorkerId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]
Pool = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")]
Token = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,1000}$", description="Token of the lease")]
Slots = Annotated[int, Field(strict=True, ge=1, le=MAX_SLOTS), BeforeValidator(integral)]
Measured = Annotated[float, Field(ge=-MAX_MAGNITUDE, le=MAX_MAGNITUDE, allow_inf_nan=False)]
Traced = Annotated[dict[Text, Annotated[Text, Field(max_length=MAX_TRACE_CHARACTERS)]], Field(max_length=MAX_ARTIFACTS)]
DeviceText = Annotated[Text, Field(max_length=100)]
Numbers = Annotated[dict[Text, Measured], Field(max_length=10_000)]


class LeaseRequest(Request):
    """A worker that has a slot free."""

    worker_id: WorkerId = Field(description="A name that no other worker has", examples=["gpu-box-1"])
    pool: Pool = Field(default="cpu", description="Pool whose tasks it takes")
    wait_seconds: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False)] = Field(
        default=0.0, description="How long to wait for a task"
    )


class Task(Reply):
    """A program to score. Its problem is in the bundle."""

    evaluation_id: str = Field(description="Id of the evaluation")
    bundle_hash: str = Field(description="Hash for `/v1/bundles/{bundle_hash}`, the problem's folder as tar.gz")
    pool: str = Field(description="Pool that the task belongs to")
    files: dict[str, str] = Field(description="The program, by path")
    early_stop_threshold: float | None = Field(
        default=None,
        description="Fitness that it must beat. `evaluator.min_repeats` decides when repeats are spared",
    )
    holdout: bool = Field(default=False, description="Whether the evaluator's `holdout` scores it")
    draw: Count = Field(default=0, description="Choice of the seeds for program and scorer. 0: those of a search")
    traced: bool = Field(default=False, description="Whether the result has a trace")
    render: bool = Field(default=False, description="Whether `render` draws it, in place of a score")
    traceparent: str = Field(default="", description="Span to continue, as the header `traceparent`. Empty: none")


class LeasedTask(Reply):
    """A task leased to a worker."""

    lease_id: str = Field(description="Id of the lease")
    token: str = Field(description="To be shown with every word about this lease")
    delivery: int = Field(description="Number of deliveries of the task")
    waited_seconds: float = Field(description="Seconds since the task was submitted")
    task: Task = Field(description="The task")


class LeaseRenewal(Request):
    """A worker that is at work."""

    token: Token
    wait_seconds: Annotated[float, Field(ge=0, le=MAX_HOLD_SECONDS, allow_inf_nan=False)] = Field(
        default=0.0, description="Seconds to wait for a withdrawal of the task. The lease is renewed meanwhile"
    )


class LeaseRelease(Request):
    """A worker that cannot get a task's problem."""

    token: Token


class LeaseStanding(Reply):
    """The state of a lease. If another worker has it, the answer is 409."""

    standing: Literal["held", "cancelled"] = Field(
        description="`held`: continue. `cancelled`: stop, and complete the lease with the outcome `cancelled`",
    )


class TraceGiven(Request):
    """Details for people, beside the result of an evaluation."""

    printed: Traced = Field(default={}, description="End of the printed text: of `program`, `evaluator`, or `both`")
    artifacts: Traced = Field(default={}, description="Texts that the evaluator returned as artifacts, by name")
    feedback: Annotated[Text, Field(max_length=4_000_000)] = Field(
        default="", description="Feedback without the artifacts"
    )
    imports: Annotated[dict[Text, Seconds], Field(max_length=1000)] = Field(
        default={}, description="Seconds that importing took, by module, of those that took long"
    )


class ViewGiven(Request):
    """What the program looks like. The service checks it again."""

    media_type: Literal["", "image/svg+xml", "image/png", "text/html"] = Field(
        default="", description="Media type. Empty: there is nothing to show"
    )
    content: Annotated[Text, Field(max_length=2 * MAX_VIEW_BYTES)] = Field(
        default="", description="Text of an SVG or a page. Of a PNG its base64"
    )
    reason: Annotated[Text, Field(max_length=MAX_REASON_CHARACTERS)] = Field(
        default="", description="Why there is nothing to show, in one sentence"
    )


class EvaluationGiven(Request):
    """The result of scoring a program: `Evaluation` of the library, without the worker's name."""

    outcome: Literal["ok", "invalid", "error", "timeout", "memory", "crash", "output", "stage", "cancelled", "lost"] = (
        Field(
            description="Outcome of the evaluation",
        )
    )
    reason: Annotated[Text, Field(max_length=10_000)] = Field(
        default="",
        description="Why it failed, in one sentence. Empty: `ok`",
    )
    scores: Numbers = Field(default={}, description="Score by objective or metric")
    measures: Numbers = Field(default={}, description="Value by measure")
    cases: Numbers = Field(default={}, description="Score by test case")
    spread: Numbers = Field(default={}, description="Standard deviation by score over the repeats")
    repeats: Count = Field(default=0, description="Number of repeats. 0: unknown")
    feedback: Annotated[Text, Field(max_length=4_000_000)] = Field(
        default="",
        description="Text of the evaluator for the policy",
    )
    seconds: Seconds = Field(default=0.0, description="Duration in seconds")
    isolation: Annotated[Text, Field(max_length=100)] = Field(
        default="",
        description="Isolation level that the program ran under",
    )
    answer: Annotated[Text, Field(min_length=1, max_length=ANSWER_CHARACTERS)] | None = Field(
        default=None, description="The program's answer. Equal answers are equal texts"
    )
    view: ViewGiven | None = Field(default=None, description="Null: the evaluator drew nothing")
    trace: TraceGiven | None = Field(default=None, description="Null: not requested, or the evaluation failed")


class LeaseCompletion(Request):
    """A result."""

    token: Token
    evaluation: EvaluationGiven = Field(description="The result")


class RunningTask(Request):
    """An evaluation of a worker."""

    evaluation_id: Annotated[Text, Field(max_length=100)] = Field(description="Id of the evaluation")
    seconds: Seconds = Field(default=0.0, description="Duration so far in seconds")


class DeviceReport(Request):
    """A device of a worker, and how it was found to be."""

    name: DeviceText = Field(description="Name of its file, such as nvidia0")
    model: DeviceText = Field(default="", description="Model. Empty: unknown")
    driver: DeviceText = Field(default="", description="Version of its driver. Empty: unknown")
    clock_mhz: Count = Field(default=0, description="Latest reading of its clock, in MHz. 0: unknown")
    min_reading_mhz: Count = Field(default=0, description="Lowest reading, in MHz")
    max_reading_mhz: Count = Field(default=0, description="Highest reading, in MHz")
    max_clock_mhz: Count = Field(default=0, description="Maximum of its clock, in MHz. 0: unknown")
    readings: Count = Field(default=0, description="Number of readings, at rest and after evaluations")


class WorkerHeartbeatBody(Request):
    """The report of a worker, every few seconds."""

    pool: Pool = Field(default="cpu", description="Pool that the worker takes tasks from")
    slots: Slots = Field(default=1, description="Number of evaluations that it runs at once")
    busy: Count = Field(default=0, description="Number of evaluations that it runs now")
    isolation: Annotated[Text, Field(max_length=100)] = Field(
        default="", description="Isolation level, by its self-test"
    )
    version: Annotated[Text, Field(max_length=100)] = Field(default="", description="Version of the worker")
    containers: Annotated[Text, Field(max_length=100)] = Field(
        default="", description="Container runtime for problems with an image. Empty: it takes none of these"
    )
    devices: Annotated[list[DeviceReport], Field(max_length=64)] = Field(
        default=[], description="Its devices, of which each evaluation has one to itself"
    )
    started_at: Moment = Field(description="When the worker started")
    state: Literal["active", "draining"] = Field(
        default="active",
        description="`active`: it takes tasks. `draining`: it finishes its tasks and ends",
    )
    evaluations: Count = Field(default=0, description="Number of its evaluations since its start")
    tasks: Annotated[list[RunningTask], Field(max_length=MAX_SLOTS)] = Field(
        default=[], description="Its current evaluations"
    )


class WorkerHeartbeatReply(Reply):
    """The answer to a worker's report."""

    drain: bool = Field(description="Whether to finish the current evaluations, take no more, and end")


class WorkerLeave(Request):
    """A worker that has ended."""

    pool: Pool = Field(default="cpu", description="Pool that the worker took tasks from")
