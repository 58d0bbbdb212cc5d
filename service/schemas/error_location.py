"""Where in what was sent something is wrong."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import ErrorDetails


def place_of(error: ErrorDetails, sent: Any, *, start: int = 0) -> list[str | int]:
    """Names and positions that lead through what was sent to what is complained of.

    Where several types would do, pydantic puts a name of the one that was tried among them; it is left out, as is
    everything that is not there, but for the name of a member that is missing.

    Args:
        error: what pydantic complains of.
        sent: what was validated.
        start: how many parts of the error's location do not belong to it.
    """
    place: list[str | int] = []
    for part in error["loc"][start:]:
        named = isinstance(sent, Mapping) and part in sent
        if named or (isinstance(sent, list) and isinstance(part, int) and part < len(sent)):
            sent = sent[part]
            place.append(part)
    return [*place, error["loc"][-1]] if error["type"] == "missing" else place
