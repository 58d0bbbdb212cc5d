"""Contents of a problem's files in the document of the API, derived from the values of `evolve.problem`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from evolve.problem import Limits, Measure, Objective
from service.schemas.configuration import RunConfiguration
from service.schemas.derived_models import DescribedAs, model_of, without_defaults
from service.schemas.key_descriptions import PROBLEM_KEYS as SAID
from service.schemas.policies import PolicyDescription
from service.schemas.types import Object

ObjectiveKeys = model_of(Objective, "ObjectiveKeys", SAID, prefix="objectives.")
MeasureKeys = model_of(
    Measure, "MeasureKeys", SAID, prefix="measures.", keywords={"measures.bins": {"minimum": 1, "maximum": 1000}}
)
LimitKeys = model_of(
    Limits,
    "LimitKeys",
    SAID,
    prefix="limits.",
    keywords={
        f"limits.{name}": {"exclusiveMinimum": 0}
        for name in ("wall_seconds", "cpu_seconds", "memory_mb", "processes", "disk_mb", "output_kb")
    },
)

ShownObjective = Annotated[Object, DescribedAs(ObjectiveKeys)]
ShownMeasure = Annotated[Object, DescribedAs(MeasureKeys)]
ShownPolicy = Annotated[Object, DescribedAs(PolicyDescription)]


class ProblemDocument(BaseModel):
    """Content of a problem's files. Empty: they cannot be read."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    description: str = Field(default="", description=SAID["description"])
    language: str = Field(default="", description=SAID["language"])
    seeds: list[str] = Field(default=[], description=SAID["seeds"])
    objectives: list[ShownObjective] = Field(
        default=[], description="Objectives. Empty: the evaluator returns a single number"
    )
    measures: list[ShownMeasure] = Field(default=[], description="Axes of the grid")
    limits: Annotated[Object, DescribedAs(LimitKeys)] = Field(default={}, description="Limits of an evaluation")
    integrity: Literal["separate", "shared"] = Field(
        default="separate", description="`separate`: the scorer never shares a process with the program"
    )
    known_best: float | None = Field(default=None, description=SAID["known_best"])
    known_best_source: str = Field(default="", description=SAID["known_best_source"])
    search: Annotated[Object, DescribedAs(RunConfiguration)] = Field(
        default={}, description="Keys of the run configuration that the problem sets"
    )
    policies: list[ShownPolicy] = Field(default=[], description="Policies that the problem names, without keys")


ShownDocument = Annotated[Object, DescribedAs(ProblemDocument)]
