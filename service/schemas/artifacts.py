"""Artifacts and policies on the wire."""

from pydantic import Field

from service.schemas.problem_documents import ShownPolicy
from service.schemas.types import Count, Moment, Page, Reply
from service.schemas.untrusted_text import Foreign


class Artifact(Foreign):
    """A file of a run."""

    name: str = Field(description="File name")
    media_type: str = Field(description="Media type of the content")
    bytes: Count = Field(description="Size in bytes")
    etag: str = Field(description="Entity tag of the content")
    url: str = Field(description="Path of the content")


class ArtifactPage(Page):
    """Files of a run."""

    items: list[Artifact] = Field(description="Files of the run")


class PolicyHealth(Foreign):
    """How the server of a run's policy fares, as the run's runner saw it last."""

    run_id: str = Field(description="Id of the run")
    policy: str = Field(description="Name of the policy")
    at: Moment = Field(description="When the runner measured it")
    breaker: str = Field(description="`closed`: sends calls. `open`: sends none for a while. `half_open`: tries a call")
    retry_seconds: float = Field(description="How long none goes out, from `at`")
    reachable: bool | None = Field(description="Whether it answered about its queue. Null: it was not asked")
    running: float | None = Field(description="Requests in progress there, of all clients. Null: unknown")
    waiting: float | None = Field(description="Requests waiting there, of all clients. Null: unknown")
    calls: Count = Field(description="Calls at once that suit it")
    in_flight: Count = Field(description="Calls that the run has there")


class PolicyHealthList(Reply):
    """How the servers of policies of running runs fare."""

    items: list[PolicyHealth] = Field(description="An entry for each policy of each running run")


class PolicyPage(Page):
    """Policies that runs may ask, without their keys."""

    items: list[ShownPolicy] = Field(
        description="The operator's policies without their keys, then promoted ones of the registry"
    )
