"""Flywheels on the wire."""

from typing import Any, Literal

from pydantic import Field

from service.schemas.types import Count, Moment, Positive, Reply


class Flywheel(Reply):
    """A flywheel: rounds of search and training, which its batches and training jobs record."""

    name: str = Field(description="Name of the flywheel: the label `flywheel` of its runs")
    rounds: Count = Field(description="Number of its newest round")
    began: Moment = Field(description="When its first round began")


class FlywheelList(Reply):
    """Flywheels by name, of the newest 1,000 batches."""

    items: list[Flywheel] = Field(description="Flywheels by name")


class SolvedShare(Reply):
    """The problems of a round that were solved within a number of evaluations."""

    evaluations: Positive = Field(description="Evaluations of a run")
    solved: Count = Field(description="Number of problems whose known best was reached")
    share: float = Field(description="Share of the problems")
    low: float = Field(description="Lower end of the exact 95 % interval")
    high: float = Field(description="Upper end of the exact 95 % interval")


class FlywheelRound(Reply):
    """A round: a batch that searches, and a training job that learns from it."""

    number: Positive = Field(description="Number of the round, from 1")
    phase: Literal["search", "train", "done"] = Field(description="What the round waits for")
    batch: str = Field(description="Id of the batch that searches")
    policy: str = Field(description="Version that searches")
    problems: Count = Field(description="Number of its problems")
    ended: Count = Field(description="Number of its runs that have ended")
    evaluations: Count = Field(description="Evaluations of its runs")
    tokens: Count = Field(description="Tokens of its runs, read and written")
    shares: list[SolvedShare] = Field(
        description="At half of a run's budget, and at all of it. Empty: runs are missing, or a best is not known"
    )
    best: float | None = Field(description="Mean of the best fitness. Null: no run has one")
    job: str = Field(description="Id of the training job. Empty: none yet")
    version: Positive | None = Field(description="Version that the job made. Null: none yet")
    evaluation: dict[str, Any] | None = Field(
        description="Means, paired difference and interval on held-out problems. Null: none"
    )
    promoted: bool = Field(description="Whether the evaluation gate promoted the version")
    refusal: str = Field(description="Reason of the evaluation gate. Empty: it did not refuse")


class FlywheelRoundList(Reply):
    """The rounds of a flywheel, in order."""

    name: str = Field(description="Name of the flywheel")
    items: list[FlywheelRound] = Field(description="Rounds, in order")
