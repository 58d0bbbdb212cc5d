"""The calls held against the API's own document: each operation has one, with its method, path and parameters."""

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_type_hints

import httpx
import pytest
from pydantic import BaseModel

from service.api.app import document
from service.client import Call, calls

# Workers lease by a client of their own, and browsers have sessions.
ELSEWHERE = {
    "lease_evaluation", "renew_evaluation", "complete_evaluation", "release_evaluation", "get_bundle",
    "heartbeat_worker", "leave_worker",
    "log_in_once", "create_session", "delete_session",
}  # fmt: skip


def operations() -> Iterator[tuple[str, str, str, set[str]]]:
    """Name, method, path and query parameters of every operation."""
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] in ELSEWHERE or method == "head":
                continue
            query = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
            yield operation["operationId"], method.upper(), path, query


def example(hint: Any) -> Any:
    """A value of a type, and none that would be left out."""
    text = str(hint)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint.model_construct()
    if "Mapping" in text:
        return {"a": "b"}
    if "Sequence" in text:
        return [1.0, 2.5] if "float" in text else ["one", "two"]
    if "datetime" in text:
        return None
    if "bool" in text:
        return True
    return 7 if "int" in text else "name"


OPERATIONS = list(operations())


@pytest.mark.parametrize(("name", "method", "path", "query"), OPERATIONS, ids=[name for name, *_ in OPERATIONS])
def test_every_operation_has_a_call_that_fits(name: str, method: str, path: str, query: set[str]) -> None:
    make = getattr(calls, name)
    hints = {key: hint for key, hint in get_type_hints(make).items() if key != "return"}
    given = {key: example(hint) for key, hint in hints.items()}
    call = make(**given)
    assert isinstance(call, Call)
    assert call.method == method
    assert re.fullmatch(re.sub(r"\{\w+(:path)?\}", r"[^/]+", path), call.path)
    assert set(call.params) <= query
    assert (call.body is not None) == any(isinstance(value, BaseModel) for value in given.values())
    assert set(inspect.signature(make).parameters) == set(given)


def test_there_is_no_call_beyond_the_operations() -> None:
    assert set(calls.__all__) == {name for name, *_ in OPERATIONS}


def test_a_name_in_a_path_stays_one_segment() -> None:
    assert calls.get_run("../keys?x=1#a b").path == "/v1/runs/..%2Fkeys%3Fx%3D1%23a%20b"
    with httpx.Client(base_url="https://evolve.example") as http:
        for name in (".", ".."):
            assert http.build_request("GET", calls.get_run(name).path).url.path == f"/v1/runs/{name}"
