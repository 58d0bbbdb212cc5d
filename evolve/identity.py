"""Identifiers: content addresses of programs and derived ids inside a run."""

import hashlib


def digest(text: str, length: int = 32) -> str:
    """First `length` hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def proposal_id(run_id: str, number: int) -> str:
    """Id of the proposal `number` of a run: equal for a repetition of the same run."""
    return "prp_" + digest(f"{run_id}/{number}")


def candidate_id(run_id: str, number: int, position: int) -> str:
    """Id of the answer at `position` of the proposal `number` of a run."""
    return "cnd_" + digest(f"{run_id}/{number}/{position}")


def evaluation_id(candidate: str, attempt: int) -> str:
    """Id of one attempt at evaluating a candidate; a repeated delivery carries the same id."""
    return "evl_" + digest(f"{candidate}/{attempt}")
