"""Views of candidates that are drawn on demand: who wants one, and what becomes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from evolve.views.candidate_view import CandidateView

# Views of one tenant that may wait at once.
MAX_VIEW_REQUESTS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """A view that waits to be drawn.

    Attributes:
        tries: how often it was taken up.
        reason: why it still waits; empty: not known, or it is being drawn.
    """

    run_id: str
    candidate_id: str
    created_at: datetime
    tries: int = 0
    reason: str = ""


class ViewRequests(Protocol):
    """Views that wait to be drawn, of all tenants. Candidates are named by whole id."""

    def request(self, tenant: str, candidate_id: str, by: str) -> bool:
        """Want the view of a candidate drawn; False: it waits already.

        Raises:
            NotFoundError: the tenant has no such candidate, or nothing draws it on demand.
            QuotaError: too many views of the tenant wait.
        """

    def waiting(self, candidate_id: str) -> ViewRequest | None:
        """How a view waits; None: it does not."""

    def take(self, limit: int, seconds: float) -> Sequence[ViewRequest]:
        """The views that have waited longest; nobody else takes them for a while."""

    def put_off(self, request: ViewRequest, seconds: float, reason: str, *, tries: int | None = None) -> None:
        """Let a view wait for so long, and say why. `tries`: as often it was tried in truth; None: as it was taken."""

    def store(self, candidate_id: str, view: CandidateView) -> None:
        """Store what was drawn of a candidate, which waits no longer. Nothing where it has a view."""

    def drop(self, candidate_id: str) -> None:
        """Let a view wait no longer, undrawn."""
