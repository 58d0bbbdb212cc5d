"""Calls of the tag candidates. `scripts.openapi` writes them."""

from typing import Literal

from service.client.call import Call, chosen, place
from service.schemas.candidates import (
    Candidate,
    CandidateDiff,
    CandidatePage,
    EvaluationPage,
    Lineage,
    ReevaluationReply,
    Source,
)
from service.schemas.drawings import Drawing


def get_candidate(candidate_id: str) -> Call[Candidate]:
    """Read a candidate with its origin and its scores."""
    return Call(method="GET", path=place("/v1/candidates/{}", candidate_id), answer=Candidate)


def get_candidate_source(candidate_id: str) -> Call[Source]:
    """Read the source text of a candidate. It never changes, and its ETag is the id of its content."""
    return Call(method="GET", path=place("/v1/candidates/{}/source", candidate_id), answer=Source)


def get_candidate_view(candidate_id: str) -> Call[bytes]:
    """Read what a candidate looks like: an SVG, a PNG or a page that runs and loads nothing."""
    return Call(method="GET", path=place("/v1/candidates/{}/view", candidate_id), answer=bytes)


def get_lineage(
    candidate_id: str,
    *,
    direction: Literal["ancestors", "descendants", "path"] | None = None,
    to: str | None = None,
    limit: int | None = None,
) -> Call[Lineage]:
    """Read the ancestors or the descendants of a candidate, or its path to another candidate."""
    return Call(
        method="GET",
        path=place("/v1/candidates/{}/lineage", candidate_id),
        params=chosen(direction=direction, to=to, limit=limit),
        answer=Lineage,
    )


def list_children(candidate_id: str, *, limit: int | None = None) -> Call[CandidatePage]:
    """List the children of a candidate by age, those by crossover included."""
    return Call(
        method="GET",
        path=place("/v1/candidates/{}/children", candidate_id),
        params=chosen(limit=limit),
        answer=CandidatePage,
    )


def get_diff(candidate_id: str, *, against: str | None = None) -> Call[CandidateDiff]:
    """Compare a candidate with another, or with its first parent."""
    return Call(
        method="GET",
        path=place("/v1/candidates/{}/diff", candidate_id),
        params=chosen(against=against),
        answer=CandidateDiff,
    )


def list_evaluations(candidate_id: str, *, limit: int | None = None) -> Call[EvaluationPage]:
    """List all evaluations of a candidate, oldest first."""
    return Call(
        method="GET",
        path=place("/v1/candidates/{}/evaluations", candidate_id),
        params=chosen(limit=limit),
        answer=EvaluationPage,
    )


def reevaluate_candidate(candidate_id: str) -> Call[ReevaluationReply]:
    """Evaluate a candidate of a paused or ended run once more. Repeating has no effect until it is done."""
    return Call(method="POST", path=place("/v1/candidates/{}/evaluations", candidate_id), answer=ReevaluationReply)


def get_drawing(candidate_id: str) -> Call[Drawing]:
    """Read how far the view of a candidate is drawn."""
    return Call(method="GET", path=place("/v1/candidates/{}/drawing", candidate_id), answer=Drawing)


def request_drawing(candidate_id: str) -> Call[Drawing]:
    """Have the view of a candidate drawn. Repeating has no effect while it waits, or when it is drawn."""
    return Call(method="POST", path=place("/v1/candidates/{}/drawing", candidate_id), answer=Drawing)
