"""What every route declares of its errors, for the document and those who read it."""

from typing import Any

from service.api.faults import MEDIA_TYPE
from service.schemas.problem_details import ProblemDetails

_SCHEMA = {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}

# Declared as ranges: a route answers with those that apply, and a client treats them alike.
ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be served as it is.", "content": {MEDIA_TYPE: {"schema": _SCHEMA}}},
    "5XX": {"description": "The service cannot serve at present.", "content": {MEDIA_TYPE: {"schema": _SCHEMA}}},
}
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "The caller has this version already."}}
EMPTY: dict[int | str, dict[str, Any]] = {204: {"description": "Done."}}
REPLAY_HEADER = {
    "Idempotency-Replayed": {"schema": {"type": "string"}, "description": "`true` for an answer given before."}
}
LOCATION = {"Location": {"schema": {"type": "string"}, "description": "Where the resource is."}}
