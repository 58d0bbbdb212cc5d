"""Answers that several routes declare, for the document and those who read it."""

from typing import Any

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "The caller has this version already."}}
DELETED: dict[int | str, dict[str, Any]] = {202: {"description": "It is not found from now on."}}
EMPTY: dict[int | str, dict[str, Any]] = {204: {"description": "Done."}}
REPLAY_HEADER = {
    "Idempotency-Replayed": {"schema": {"type": "string"}, "description": "`true` for an answer given before."}
}
LOCATION = {"Location": {"schema": {"type": "string"}, "description": "Where the resource is."}}
