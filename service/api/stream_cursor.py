"""Positions in the events of all runs of a caller, as texts that a client hands back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from service.api.problem_errors import ApiFault
from service.schemas.problem_details import Code

MAX_LENGTH = 20_000  # characters: what servers and proxies take in an address
FORM = r"[0-9]{1,16}(~[A-Za-z0-9_-]{1,64}\.[0-9]{1,15})*"
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_RUN = "run_"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCursor:
    """How far the events of several runs were told.

    Attributes:
        since: runs that were created later and are not in `seen` are new.
        seen: sequence of the last event told, by run; runs that ended long ago are left out.
    """

    since: datetime
    seen: Mapping[str, int]

    def text(self) -> str:
        """Microseconds since 1970, then `~RUN.SEQUENCE` for every run, without its `run_`.

        Of very many runs the last ones are left out: who comes back with it is told of those from their beginning.
        """
        text = str((self.since - _BEGINNING) // timedelta(microseconds=1))
        for run, seen in self.seen.items():
            part = f"~{run.removeprefix(_RUN)}.{seen}"
            if len(text) + len(part) > MAX_LENGTH:
                break
            text += part
        return text


def is_position(text: str) -> bool:
    """Whether a text has the form of a position."""
    return len(text) <= MAX_LENGTH and re.fullmatch(FORM, text) is not None


def position_of(text: str) -> StreamCursor:
    """Read a position back; it is not signed, for it opens nothing that the caller may not read.

    Raises:
        ApiFault: it is none.
    """
    if not is_position(text):
        raise ApiFault(400, Code.INVALID_CURSOR, "this is not a position of these events: begin again without one")
    moment, *parts = text.split("~")
    seen = {f"{_RUN}{run}": int(sequence) for run, _, sequence in (part.partition(".") for part in parts)}
    return StreamCursor(since=_BEGINNING + timedelta(microseconds=int(moment)), seen=seen)
