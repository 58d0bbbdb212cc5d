"""Ids of things that are made: a prefix that says what they are, and a UUID that sorts by age; their short forms."""

import re
import secrets
import uuid
from datetime import datetime
from typing import NamedTuple

from evolve.identity import candidate_name

# Ids of runs, batches and training jobs begin with their millisecond; twelve characters of the others hold eight digits
# of a hash.
_SHORT = {"run": 17, "bat": 17, "trn": 17}
_SHORT_OTHERS = 12
CHANGE = "chg"  # the prefix of ids of changes that people ask of runs
_PLACE = re.compile(r"(?:([A-Za-z0-9_-]{1,100})\.)?([0-9]{1,9})\.([0-9]{1,9})", re.ASCII)


class CandidatePlace(NamedTuple):
    """A candidate as people name it: `RUN.28.0`, or `28.0` where the run is known."""

    run: str
    proposal_number: int
    position: int


def new_id(prefix: str, now: datetime) -> str:
    """`prefix_` and a UUID of version 7 (RFC 9562): milliseconds since the epoch, then chance; they sort by age."""
    milliseconds = int(now.timestamp() * 1000)
    value = (milliseconds << 80) | (0x7 << 76) | (secrets.randbits(12) << 64) | (0b10 << 62) | secrets.randbits(62)
    return f"{prefix}_{uuid.UUID(int=value)}"


def short_id(identity: str) -> str:
    """An id as people see it: a candidate's name in its run, such as `28.0`, else the beginning of the id."""
    return candidate_name(identity) or identity[: _SHORT.get(identity.partition("_")[0], _SHORT_OTHERS)]


def candidate_place(word: str) -> CandidatePlace | None:
    """The run, proposal and position that a word names. The run is empty if the word names none."""
    found = _PLACE.fullmatch(word)
    return CandidatePlace(found[1] or "", int(found[2]), int(found[3])) if found else None


def candidate_address(run_id: str, candidate_id: str) -> str:
    """A candidate in one word that every command takes: the run's short id and the candidate's name."""
    name = candidate_name(candidate_id)
    return f"{short_id(run_id)}.{name}" if name else short_id(candidate_id)
