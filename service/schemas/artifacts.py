"""Artifacts and policies on the wire."""

from service.schemas.foreign import Foreign
from service.schemas.types import Count, Object, Page


class Artifact(Foreign):
    """A file of a run."""

    name: str
    media_type: str
    bytes: Count
    etag: str
    url: str


class ArtifactPage(Page):
    """Files of a run."""

    items: list[Artifact]


class PolicyPage(Page):
    """Policies that runs may ask, without their keys."""

    items: list[Object]
