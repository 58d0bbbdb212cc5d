"""Calls of the tag exports. `scripts.openapi` writes them."""

from service.client.call import Call, chosen, place
from service.schemas.artifacts import ArtifactPage


def list_artifacts(run_id: str, *, limit: int | None = None) -> Call[ArtifactPage]:
    """List the files of a run: the problem's folder, and the files of the best program so far."""
    return Call(
        method="GET", path=place("/v1/runs/{}/artifacts", run_id), params=chosen(limit=limit), answer=ArtifactPage
    )
