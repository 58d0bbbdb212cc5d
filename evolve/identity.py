"""Identifiers: content addresses of programs and derived ids inside a run."""

import hashlib
import re

_CANDIDATE = re.compile(r"cnd_[0-9a-f]{20}_([0-9]+)_([0-9]+)", re.ASCII)


def digest(text: str, length: int = 32) -> str:
    """First `length` hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def proposal_id(run_id: str, number: int) -> str:
    """Id of the proposal `number` of a run: equal for a repetition of the same run."""
    return "prp_" + digest(f"{run_id}/{number}")


def insights_id(run_id: str, version: int) -> str:
    """Id of a version of a run's insights that the run itself wrote."""
    return "chg_" + digest(f"{run_id}/insights/{version}")


def update_id(run_id: str, number: int) -> str:
    """Id of an update of a run's policy within the run."""
    return "chg_" + digest(f"{run_id}/update/{number}")


def candidate_id(run_id: str, number: int, position: int) -> str:
    """Id of the answer at `position` of the proposal `number` of a run. It ends in both, so that it tells its name."""
    return f"cnd_{digest(f'{run_id}/{number}/{position}', 20)}_{number}_{position}"


def candidate_name(candidate: str) -> str:
    """Name of a candidate in its run by its id: `PROPOSAL.POSITION`, such as `28.0`. Empty: no id of a candidate."""
    found = _CANDIDATE.fullmatch(candidate)
    return f"{found[1]}.{found[2]}" if found else ""


def evaluation_id(candidate: str, attempt: int) -> str:
    """Id of one attempt at evaluating a candidate; a repeated delivery carries the same id."""
    return "evl_" + digest(f"{candidate}/{attempt}")
