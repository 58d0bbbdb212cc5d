"""Training jobs on the wire."""

from typing import Annotated, Any, Literal

from pydantic import Field

from service.schemas.types import Count, Identifier, Labels, Moment, Page, Positive, Reply, Request, Seconds, Text

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,60}$")]


class TrainingJobCreate(Request):
    """A training job."""

    policy: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,47}$")] = Field(
        description="Registered policy that gets the version"
    )
    backend: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,200}$")] = Field(
        default="maze",
        description="Trainer's back end. `maze`: small policies that walk mazes. `trl`: LoRA adapters",
    )
    base: Annotated[Text, Field(max_length=100)] = Field(
        default="", description="Version to start from: `name@version`, or `name` for the promoted one. Empty: none"
    )
    model: Annotated[Text, Field(max_length=500)] = Field(
        default="",
        description="Chat model that an adapter is trained for: its name on the hub, or a folder of the trainer."
        " Empty: that of the base",
    )
    served: Annotated[Text, Field(max_length=500)] = Field(
        default="", description="Address of the vLLM that serves the adapter. Empty: that of the base"
    )
    method: _Word = Field(
        default="vpo_marginal",
        description="Training method, such as `vpo` or `vector_max_at_k`. `sft`: supervised fine-tuning, with `trl`",
    )
    hyperparameters: dict[_Word, Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default={}, max_length=50, description="Hyperparameters of the back end by name, such as `rank`"
    )
    runs: list[Identifier] = Field(default=[], max_length=1000, description="Ids of runs to learn from")
    problem: Annotated[Text, Field(max_length=220)] = Field(
        default="", description="Learn from runs of the problem with this name too"
    )
    labels: Labels = Field(default={}, description="Learn from runs that have all these labels too")
    seed: Count = Field(default=0, description="Seed of the training")
    k: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = Field(
        default=None, description="Size of the sets whose best counts. Null: that of the method"
    )
    steps: Annotated[int, Field(strict=True, ge=2, le=1_000_000)] | None = Field(
        default=None, description="Updates of reinforcement learning. Null: those of the method"
    )
    warm_steps: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = Field(
        default=None, description="Updates of the warm start, without a base. Null: those of the method"
    )
    kinds: list[_Word] = Field(default=[], max_length=10, description="Kinds of mazes. Empty: small and hard")
    max_seconds: Seconds = Field(default=0, description="Budget of time for each attempt. 0: none")
    test_problems: Annotated[int, Field(strict=True, ge=0, le=1000)] = Field(
        default=64, description="Held-out problems on which it is compared with the promoted version. 0: it is not"
    )
    test_kinds: list[_Word] = Field(
        default=[],
        max_length=10,
        description="Kinds of the held-out mazes. Empty: those of the runs' mazes, or without runs those of `kinds`",
    )
    test_runs: list[Identifier] = Field(
        default=[],
        max_length=1000,
        description="Ids of runs of other problems, whose prompts compare the version with the promoted one. Nothing is"
        " trained on them",
    )
    promote: bool = Field(default=False, description="Whether to promote the version, if the evaluation gate allows it")
    new_policy: bool = Field(
        default=False,
        description="Whether to register the policy if the registry has none of its name. A refused job registers none",
    )


class TrainingProgress(Reply):
    """The newest step of a job."""

    stage: str = Field(description="Stage of the training, such as `reinforce`")
    step: Count = Field(description="Number of the step in its stage")
    steps: Count = Field(description="Steps of the stage")
    figures: dict[str, float] = Field(description="Figures of the step")


class TrainingCheckpoint(Reply):
    """From where a job would continue."""

    stage: str = Field(description="Stage of the training")
    step: Count = Field(description="Steps of the stage that are done")


class TrainingJob(Reply):
    """A training job."""

    id: str = Field(description="Id of the training job")
    policy: str = Field(description="Policy that gets the version")
    state: JobState = Field(description="State of the job")
    desired_state: Literal["running", "cancelled"] = Field(description="State that was asked for")
    request: dict[str, Any] = Field(description="What was asked for")
    runs: list[str] = Field(description="Ids of the runs that it learns from")
    progress: TrainingProgress | None = Field(description="Newest step. Null: none yet")
    checkpoint: TrainingCheckpoint | None = Field(description="From where it would continue. Null: the beginning")
    error: str = Field(description="Why it failed, in one sentence. Empty: it did not")
    waiting_for: str = Field(description="What a queued job waits for. Empty: it is not queued")
    version: Positive | None = Field(description="Version that it made. Null: none yet")
    sequence: Count = Field(description="Sequence number of its newest event")
    created_by: str = Field(description="Name of the key with which it was created")
    created_at: Moment = Field(description="When it was created")
    started_at: Moment | None = Field(description="When it first started. Null: not yet")
    finished_at: Moment | None = Field(description="When it ended. Null: not yet")


class TrainingJobPage(Page):
    """Training jobs, newest first."""

    items: list[TrainingJob] = Field(description="Training jobs, newest first")


class TrainingEvent(Reply):
    """An event of a training job."""

    sequence: Positive = Field(description="Sequence number in the job, from 1")
    kind: str = Field(description="Kind, such as `training.progress`")
    at: Moment = Field(description="When it happened")
    payload: dict[str, Any] = Field(description="Its data")


class TrainingEventPage(Page):
    """Events of a training job, in order."""

    items: list[TrainingEvent] = Field(description="Events, in order")


class TrainingPermissionSet(Request):
    """An answer to whether runs may be trained on."""

    run_id: Identifier | None = Field(
        default=None, description="The run. Null: all runs of the tenant without an answer of their own"
    )
    allowed: bool = Field(description="Whether they may be trained on")


class TrainingPermission(Reply):
    """An answer that counts."""

    run_id: str | None = Field(description="The run. Null: all runs without an answer of their own")
    allowed: bool = Field(description="Whether they may be trained on")
    by: str = Field(description="Name of the key with which it was given")
    at: Moment = Field(description="When it was given")


class TrainingPermissionList(Reply):
    """What may be trained on. Without an answer, nothing may."""

    items: list[TrainingPermission] = Field(description="The answers that count")
