"""Has a service draw a view on demand, and waits for it."""

import time
from typing import TYPE_CHECKING

from evolve.views.candidate_view import CandidateView
from service.client import calls
from service.client.reader import RemoteRunReader
from service.errors import ServiceError
from service.ports import CandidateRecord

if TYPE_CHECKING:
    from service.client import Client

MAX_WAIT_SECONDS = 120.0
# A reason that stands for so long does not pass by itself.
MAX_BLOCKED_SECONDS = 20.0
POLL_SECONDS = 0.5


def remote_view(client: "Client", candidate: CandidateRecord) -> CandidateView | None:
    """The view of a candidate of a service, drawn first where it is drawn on demand.

    Raises:
        ServiceError: it is not drawn in time; the text says why.
    """
    reader = RemoteRunReader(client)
    view = reader.view(candidate.id)
    if view is None or not view.on_demand:
        return view
    drawing, began = client.send(calls.request_drawing(candidate.id)), time.monotonic()
    while drawing.state == "waiting":
        waited = time.monotonic() - began
        if waited > (MAX_BLOCKED_SECONDS if drawing.reason else MAX_WAIT_SECONDS):
            reason = drawing.reason or f"It still waits after {waited:.0f} s."
            raise ServiceError(f"the view of {candidate.id} is not drawn yet. {reason}")
        time.sleep(POLL_SECONDS)
        drawing = client.send(calls.get_drawing(candidate.id))
    return reader.view(candidate.id)
