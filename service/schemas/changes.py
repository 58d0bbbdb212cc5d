"""Changes that people made of runs, on the wire."""

from typing import Literal

from pydantic import Field, JsonValue

from service.schemas.runs import Run
from service.schemas.types import Count, Moment, Reply
from service.schemas.untrusted_text import Foreign

ChangeKind = Literal[
    "hint.given",
    "insights.written",
    "program.inserted",
    "candidate.banned",
    "ban.lifted",
    "priority.given",
    "priority.lifted",
    "settings.changed",
]


class ChangedRun(Run):
    """A run that was asked to change."""

    change_id: str = Field(description="Id of the change. `get_change` tells how the search decides on it")


class ChangeDecision(Foreign):
    """How the search of a run decided on a change."""

    run_id: str = Field(description="Id of the run")
    id: str = Field(description="Id of the change")
    kind: ChangeKind = Field(description="Kind of the event that was asked for")
    state: Literal["pending", "accepted", "refused"] = Field(
        description="`pending` until the search decides. It decides within a second of an active run"
    )
    reason: str = Field(description="Why the search refused it. Empty: it was not refused")
    at: Moment | None = Field(description="When the search decided. Null: not yet")


class Change(Foreign):
    """A change of a run that a user asked for, with its effect."""

    id: str = Field(description="Id of the change")
    kind: Literal[
        "hint.given",
        "insights.written",
        "program.inserted",
        "candidate.banned",
        "ban.lifted",
        "priority.given",
        "priority.lifted",
        "settings.changed",
        "change.refused",
    ] = Field(description="Kind of its event")
    by: str = Field(description="Name of the key that requested it")
    at: Moment | None = Field(description="When the search made it. Null: not yet")
    text: str = Field(
        description="The text of a hint or of an edit of insights. Empty: it ended what stood, or it is neither"
    )
    island: Count | None = Field(description="Island that a hint is for. Null: all islands, or it is no hint")
    wanted: Count = Field(description="Number of proposals that a hint or a priority was given for. 0: it is neither")
    candidate_id: str | None = Field(
        description="The candidate of an inserted program, or whose ban or priority it is about. Null: there is none"
    )
    descendants: bool = Field(description="Whether a ban covers the descendants of its candidate too")
    settings: dict[str, JsonValue] = Field(description="New values by dotted key, where settings were changed")
    requested: str = Field(description="Kind of a change that was refused. Empty: it was not refused")
    reason: str = Field(description="Why the search refused it. Empty: it was not refused")
    outcome: str = Field(description="Outcome of its evaluation, or `duplicate`. Empty: none yet, or it is a hint")
    parent: str | None = Field(description="The parent of an inserted program. Null: it is a hint")
    proposals: Count = Field(
        description=(
            "Number of proposals with the hint or the insights in their prompts, from the candidate with priority, or"
            " of the program and its descendants."
            " For another change, those of the next 100 evaluations"
        )
    )
    evaluations: Count = Field(description="Evaluated candidates of these proposals")
    valid: Count = Field(description="Number of these with the outcome `ok`")
    improvements: Count = Field(description="Number of these that became the best of the run")
    best_fitness: float | None = Field(description="Highest fitness of these. Null: none is valid")
    evaluations_before: Count = Field(
        description=(
            "Evaluated candidates right before them: as many, or as many as the run had."
            " For a hint of an island, those of this island"
        )
    )
    valid_before: Count = Field(description="Number of the candidates before with the outcome `ok`")
    improvements_before: Count = Field(description="Number of the candidates before that became the best of the run")


class ChangeList(Reply):
    """The changes of a run by its users."""

    run_id: str = Field(description="Id of the run")
    items: list[Change] = Field(description="The newest first, at most 100")
