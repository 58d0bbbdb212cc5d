"""Drawings of views on demand, as the API shows them."""

from typing import Literal

from pydantic import Field

from service.schemas.types import Reply

DrawingState = Literal["none", "undrawn", "waiting", "drawn", "failed"]


class Drawing(Reply):
    """How far the view of a candidate is drawn."""

    candidate_id: str = Field(description="Id of the candidate")
    state: DrawingState = Field(
        description="`none`: its evaluator draws nothing. `undrawn`: it can be requested. `waiting`: it was requested."
        " `drawn`: there is a view. `failed`: the view cannot be shown"
    )
    reason: str = Field(default="", description="Why it waits or cannot be shown, in one sentence. Empty: no reason")
    waited_seconds: float | None = Field(default=None, description="Seconds since its request. Null: it does not wait")
