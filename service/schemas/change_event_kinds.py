"""Events of what people ask of a live run, and of the texts that a run writes for its prompts."""

from typing import Literal

from pydantic import Field, JsonValue

from service.schemas.event_parts import EventBase, EventCharge
from service.schemas.types import Count


class HintGivenEvent(EventBase):
    """A person suggested what to try."""

    kind: Literal["hint.given"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    text: str = Field(description="The suggestion. Empty: the standing hint ends")
    proposals: Count = Field(description="Number of proposals whose prompts hold it")
    island: Count | None = Field(
        default=None, description="Island whose proposals hold it. Left out if it is for all islands"
    )
    by: str = Field(description="Name of the key that requested it")


class ProgramInsertedEvent(EventBase):
    """A person inserted a program. The proposal that follows holds it as its candidate."""

    kind: Literal["program.inserted"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    program_id: str = Field(description="Id of the program")
    parent: str = Field(description="Id of the candidate that it descends from")
    island: Count = Field(description="Number of the island that it belongs to, from 0")
    changed: str = Field(
        default="", description="What of its parent it changed: `constants`, `structure` or `both`. Left out if nothing"
    )
    by: str = Field(description="Name of the key that requested it")


class CandidateBannedEvent(EventBase):
    """A person banned a candidate. The search does not use it as a parent, inspiration or migrant."""

    kind: Literal["candidate.banned"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    candidate_id: str = Field(description="Id of the candidate")
    descendants: bool = Field(description="Whether its descendants are banned too, also those to come")
    by: str = Field(description="Name of the key that requested it")


class BanLiftedEvent(EventBase):
    """A person lifted the ban of a candidate."""

    kind: Literal["ban.lifted"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    candidate_id: str = Field(description="Id of the candidate")
    by: str = Field(description="Name of the key that requested it")


class PriorityGivenEvent(EventBase):
    """A person gave a candidate priority. It is the parent of the next proposals."""

    kind: Literal["priority.given"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    candidate_id: str = Field(description="Id of the candidate")
    proposals: Count = Field(description="Number of proposals that start from it")
    by: str = Field(description="Name of the key that requested it")


class PriorityLiftedEvent(EventBase):
    """A person lifted the priority of a candidate."""

    kind: Literal["priority.lifted"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    candidate_id: str = Field(description="Id of the candidate")
    by: str = Field(description="Name of the key that requested it")


class SettingsChangedEvent(EventBase):
    """A person changed settings of the run. They hold for the proposals to come."""

    kind: Literal["settings.changed"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    settings: dict[str, JsonValue] = Field(
        description="New values by dotted key. `policies.NAME` is the weight of a policy"
    )
    by: str = Field(description="Name of the key that requested it")


class ChangeRefusedEvent(EventBase):
    """The search could not make a change that a person requested."""

    kind: Literal["change.refused"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    requested: str = Field(description="Kind of the event that the change would have been")
    reason: str = Field(description="The reason, in one sentence")
    by: str = Field(description="Name of the key that requested it")


class InsightsWrittenEvent(EventBase):
    """A version of the run's insights, which is in prompts until the next."""

    kind: Literal["insights.written"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    by: str = Field(description="Name of the key of the person who wrote it. Empty: the run wrote it")
    source: str = Field(description="Author: `facts`, `analyst`, `person` or `earlier_run`")
    evaluations: Count = Field(description="Evaluations of the run when it became due")
    policy: str = Field(default="", description="The analyst that was asked. Left out if there was none")
    reason: str = Field(default="", description="Why the analyst wrote nothing. Left out if it did")
    charges: list[EventCharge] = Field(default=[], description="Payment of the analyst. Left out if there was none")


class PolicyUpdatedEvent(EventBase):
    """The policy was trained on the run's answers. Its version is asked beside those before it."""

    kind: Literal["policy.updated"] = Field(description="Kind of the event")
    change_id: str = Field(description="Id of the change")
    by: str = Field(description="Always empty: the run itself")
    number: Count = Field(description="Number of the update, from 1")
    policy: str = Field(default="", description="The version, `NAME@VERSION`. Left out if none came of it")
    start: str = Field(description="The policy of the run that the version descends from")
    base: str = Field(description="What was trained: a version, or the policy of the start")
    answered: Count = Field(description="Answered proposals of the run when the update became due")
    through: Count = Field(description="Number of the newest proposal that it could learn from")
    model: str = Field(default="", description="SHA-256 of the version's folder. Left out if none came of it")
    job: str = Field(default="", description="Id of the training job. Left out if there was none")
    figures: dict[str, float] = Field(default={}, description="Figures of the training by name. Left out if none")
    seconds: float = Field(description="Seconds from when it was due")
    reason: str = Field(default="", description="Why no version came of it. Left out if one did")


class PromptWrittenEvent(EventBase):
    """A model wrote a prompt for the pool."""

    kind: Literal["prompt.written"] = Field(description="Kind of the event")
    proposal_number: Count = Field(description="Number of the proposal, and of the prompt")
    parent: Count = Field(description="Number of the prompt that it was written from. 0: the configured texts")
    problem: str = Field(description="Text of the problem. Empty: the configured one")
    request: str = Field(description="Words of the request. Empty: the configured ones")


ChangeEvent = (
    HintGivenEvent
    | PromptWrittenEvent
    | InsightsWrittenEvent
    | PolicyUpdatedEvent
    | ProgramInsertedEvent
    | CandidateBannedEvent
    | BanLiftedEvent
    | PriorityGivenEvent
    | PriorityLiftedEvent
    | SettingsChangedEvent
    | ChangeRefusedEvent
)
