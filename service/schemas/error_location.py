"""The location of a fault in a request."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import ErrorDetails


def place_of(error: ErrorDetails, sent: Any, *, start: int = 0) -> list[str | int]:
    """Names and positions that lead through the sent value to the fault.

    If a value may have several types, pydantic adds the name of the type that it tried. This name is left out, and so
    is everything that was not sent, except the name of a missing member.

    Args:
        error: pydantic's error.
        sent: the validated value.
        start: number of parts of the error's location that do not belong to it.
    """
    place: list[str | int] = []
    for part in error["loc"][start:]:
        named = isinstance(sent, Mapping) and part in sent
        if named or (isinstance(sent, list) and isinstance(part, int) and part < len(sent)):
            sent = sent[part]
            place.append(part)
    return [*place, error["loc"][-1]] if error["type"] == "missing" else place
