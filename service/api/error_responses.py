"""The errors that an operation can answer with, for the document: by what it takes, and by what it says it raises."""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.routing import APIRoute

from service.api.auth import requires
from service.api.problem_errors import MEDIA_TYPE, STATUSES
from service.schemas.problem_details import MEANINGS, Code, ProblemDetails

CODES = "x-codes"
_RETRIED = {Code.IN_PROGRESS, Code.QUOTA_EXCEEDED, Code.RATE_LIMITED, Code.UNAVAILABLE}
_RETRY_AFTER = {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds until another try is worth it."}}
# Of parameters: what each can be refused for beside its form.
_OF_PARAMETERS: Mapping[str, Sequence[tuple[int, Code]]] = {
    "cursor": ((400, Code.INVALID_CURSOR),),
    "If-Match": ((412, Code.STALE),),
    "Range": ((416, Code.RANGE_INVALID),),
    "Idempotency-Key": ((409, Code.IN_PROGRESS), (422, Code.KEY_REUSED)),
}

Errors = dict[int, list[Code]]


def raises(*kinds: type[Exception] | tuple[int, Code]) -> dict[int | str, dict[str, Any]]:
    """What a route declares of errors that its parameters and its door do not tell, as `responses`.

    Args:
        kinds: errors of the one table, of which the first row that one belongs to decides; or a status with its code.
    """
    found: dict[int | str, dict[str, Any]] = {}
    for kind in kinds:
        rows = ((status, code) for base, status, code in STATUSES if isinstance(kind, type) and issubclass(kind, base))
        status, code = kind if isinstance(kind, tuple) else next(rows)
        found.setdefault(status, {CODES: []})[CODES].append(code)
    return found


def errors_of(route: APIRoute) -> Errors:
    """Every status of an error that a route can answer with, and its codes."""
    found: dict[tuple[int, Code], None] = dict.fromkeys(_taken(route))
    for status, response in route.responses.items():
        found |= dict.fromkeys((int(status), Code(code)) for code in response.get(CODES, ()))
    errors: Errors = {}
    for status, code in sorted(found):
        errors.setdefault(status, []).append(code)
    return errors


def _taken(route: APIRoute) -> Iterator[tuple[int, Code]]:
    """What follows from what a route takes, and from its door."""
    door = next((one.call for one in route.dependant.dependencies if isinstance(one.call, requires)), None)
    names = {str(field.alias) for below in (route.dependant, *route.dependant.dependencies)
             for field in (*below.query_params, *below.header_params, *below.path_params)}  # fmt: skip
    yield from ((413, Code.TOO_LARGE), (500, Code.INTERNAL), (503, Code.UNAVAILABLE))
    if door is not None:
        yield from ((401, Code.UNAUTHENTICATED), (403, Code.FORBIDDEN), (429, Code.RATE_LIMITED))
    if door is not None or names or route.body_field is not None:
        yield (422, Code.INVALID_REQUEST)
    if route.dependant.path_params:
        yield (404, Code.NOT_FOUND)
    if route.body_field is not None:
        yield from ((400, Code.INVALID_REQUEST), (415, Code.UNSUPPORTED_MEDIA_TYPE))
    for name in sorted(names & _OF_PARAMETERS.keys()):
        yield from _OF_PARAMETERS[name]


def declare(operation: dict[str, Any], errors: Errors, components: dict[str, Any]) -> None:
    """Put errors into an operation of the document, by reference to responses among its components.

    Args:
        operation: of the document.
        errors: of its route.
        components: of the document.
    """
    responses = operation["responses"]
    for status, codes in errors.items():
        if "content" in responses.get(str(status), {}):  # the route documents an answer of its own there
            continue
        name = "Or".join("".join(word.title() for word in code.split("_")) for code in codes) + str(status)
        components.setdefault("responses", {}).setdefault(name, _response(status, codes, components))
        responses[str(status)] = {"$ref": f"#/components/responses/{name}"}
    operation["responses"] = dict(sorted(responses.items()))


def _response(status: int, codes: Sequence[Code], components: dict[str, Any]) -> dict[str, Any]:
    examples = {str(code): {"$ref": f"#/components/examples/{_example(status, code, components)}"} for code in codes}
    schema = {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}
    return {
        "description": " ".join(f"`{code}`: {MEANINGS[code]}" for code in codes),
        **({"headers": _RETRY_AFTER} if _RETRIED & set(codes) else {}),
        "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}},
        CODES: [str(code) for code in codes],
    }


def _example(status: int, code: Code, components: dict[str, Any]) -> str:
    """The name of an example of an error, which is put among the components."""
    name = f"{code}_{status}"
    value = ProblemDetails(
        type=f"/problems/{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=MEANINGS[code],
        instance="/v1/runs",
        code=code,
        trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    )
    entry = {"summary": MEANINGS[code], "value": value.model_dump(mode="json")}
    components.setdefault("examples", {}).setdefault(name, entry)
    return name
