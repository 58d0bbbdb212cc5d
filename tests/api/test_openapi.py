"""The document of the API: current, and without what a linter of documents would complain about."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator, meta

from scripts import client_calls
from scripts.openapi import PAGE, PLACE, page, text
from service.api.app import TAGS, document, door_of, routes_of
from service.api.problem_errors import STATUSES
from service.client import calls
from service.schemas.problem_details import Code

METHODS = {"get", "put", "post", "delete", "patch", "head"}
OPEN = {
    "get_health",
    "get_readiness",
    "get_identity",
    "get_error_code",
    "log_in_once",
    "create_session",
    "delete_session",
}
Operation = dict[str, Any]
Schema = dict[str, Any]
FREE_FORMS = {
    "Change.settings": "each key of the settings has a type of its own",
    "Choice": "a choice goes by numbers of its own, each documented in docs/reference/events.md",
    "FlywheelRound.evaluation": "as the evaluation of a version, whose figures it repeats",
    "PolicyDescription.extra_body": "sent to the policy's server as it is",
    "PolicyDescription.params": "sent to the policy's server as they are",
    "PolicyVersion.training": "each back end tells how it trained",
    "Rationale": "a selection goes by numbers of its own, each documented in docs/explanation/search.md",
    "RunSettings.settings": "each key of the settings has a type of its own",
    "SavedFilter.settings": "pages store what they need to be drawn again",
    "SavedFilterCreate.settings": "pages store what they need to be drawn again",
    "SettingsChange.settings": "each key of the settings has a type of its own",
    "SettingsChangedEvent.settings": "each key of the settings has a type of its own",
    "TrainingEvent.payload": "each back end reports figures of its own",
    "TrainingJob.request": "each back end takes options of its own",
    "VersionCreate.training": "whoever trained it tells how",
}


@cache
def operations() -> dict[str, Operation]:
    return {
        operation["operationId"]: operation | {"path": path, "method": method}
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def everything(value: Any) -> Iterator[Any]:
    yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from everything(below)


def test_the_committed_document_is_that_of_the_code() -> None:
    assert PLACE.read_text(encoding="utf-8") == text(), "run: python -m scripts.openapi"


def test_the_tables_of_the_reference_are_those_of_the_code() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), "run: python -m scripts.openapi"
    for name, operation in operations().items():
        (row,) = [line for line in written.splitlines() if f"| `{name}` |" in line]
        assert row.startswith(f"| `{operation['method'].upper()} {operation['path']}` |")
        for scope in operation.get("x-required-scopes", ()):
            assert f"`{scope}`" in row
    assert all(f"\n| `{code}` | " in written for code in Code)


def test_it_says_who_made_it_and_under_which_license() -> None:
    info = document()["info"]
    assert info["contact"]["name"]
    assert info["license"] == {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    assert info["description"]


def test_the_client_has_a_current_call_for_each_operation() -> None:
    made = {path.name: path.read_text(encoding="utf-8") for path in client_calls.CALLS.glob("*.py")}
    assert made == client_calls.modules(), "write them with: python -m scripts.openapi"
    assert {str(route.operation_id) for route in routes_of()} == {*calls.__all__, *client_calls.UNCALLED}


def test_every_route_is_described_once() -> None:
    routes = [(str(route.operation_id), route) for route in routes_of()]
    assert sorted(name for name, _ in routes) == sorted(operations())
    for name, operation in operations().items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+|redeliver", name), name
        assert operation["description"].endswith((".", ":")), name
        assert operation["summary"], name


def test_every_tag_is_described_and_used() -> None:
    used = {tag for operation in operations().values() for tag in operation["tags"]}
    assert used == set(TAGS) == {tag["name"] for tag in document()["tags"]}
    assert all(tag["description"] for tag in document()["tags"])
    assert all(len(operation["tags"]) == 1 for operation in operations().values())


def test_every_operation_names_its_key_and_scopes_but_the_open_ones() -> None:
    closed = {name for name, operation in operations().items() if operation.get("security")}
    assert set(operations()) - closed == OPEN
    for route in routes_of():
        operation, door = operations()[str(route.operation_id)], door_of(route)
        assert operation.get("x-required-scopes") == (None if door is None else [str(one) for one in door.scopes])
    assert set(document()["components"]["securitySchemes"]) == {"key"}


def responses(operation: Operation) -> dict[str, Schema]:
    """Responses of an operation by status, those among the components too."""
    shared = document()["components"]["responses"]
    return {
        status: shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one
        for status, one in operation["responses"].items()
    }


def test_every_operation_has_a_success_and_its_errors_are_problems_by_status_and_code() -> None:
    for name, operation in operations().items():
        found = responses(operation)
        assert any(status.startswith(("2", "3")) for status in found), name
        assert all(answer["description"] for answer in found.values()), name
        assert {"413", "500", "503"} <= found.keys(), name
        for status in {one for one in found if one >= "400"} - ({"503"} if name == "get_readiness" else set()):
            assert list(found[status]["content"]) == ["application/problem+json"], name
            assert found[status]["x-codes"], name
        if operation.get("security"):
            assert {"401", "403", "422"} <= found.keys(), name
        if "{" in operation["path"]:
            assert "404" in found, name
        if "requestBody" in operation:
            assert {"400", "415", "422"} <= found.keys(), name


def test_every_code_of_the_error_table_is_declared_somewhere() -> None:
    declared = {
        (int(status), code)
        for operation in operations().values()
        for status, answer in responses(operation).items()
        for code in answer.get("x-codes", ())
    }
    assert {(status, str(code)) for _, status, code in STATUSES} <= declared
    assert set(Code) - {code for _, code in declared} == {Code.METHOD_NOT_ALLOWED}  # which no operation is asked with


def test_every_list_that_pages_takes_a_limit_and_a_cursor() -> None:
    schemas, pages = document()["components"]["schemas"], 0
    for name, operation in operations().items():
        content = operation["responses"].get("200", {}).get("content", {}).get("application/json", {})
        model = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        if "next_cursor" in schemas.get(model, {}).get("properties", {}):
            pages += 1
            assert {"limit", "cursor"} <= {parameter["name"] for parameter in operation["parameters"]}, name
    assert pages > 10


def test_every_post_that_makes_something_takes_an_idempotency_key() -> None:
    making = {
        name for name, one in operations().items() if one["method"] == "post" and {"201", "202"} & set(one["responses"])
    }
    without = {
        name
        for name in making
        if "Idempotency-Key" not in {parameter["name"] for parameter in operations()[name]["parameters"]}
    }
    assert without == {"drain_worker"}  # which changes nothing when it is repeated


def test_what_is_made_is_found_where_location_says() -> None:
    for name, operation in operations().items():
        if "201" in operation["responses"]:
            assert "Location" in operation["responses"]["201"]["headers"], name


def properties() -> Iterator[tuple[str, Schema]]:
    """Every property of every component, by its path; those of conditions say nothing of their own."""

    def below(path: str, value: Any) -> Iterator[tuple[str, Schema]]:
        for name, inner in value.get("properties", {}).items():
            yield f"{path}.{name}", inner
        for key, inner in value.items():
            if key not in {"if", "then", "else", "examples", "default"} and isinstance(inner, dict):
                yield from below(path if key == "properties" else f"{path}/{key}", inner)
            elif key in {"anyOf", "oneOf", "allOf", "prefixItems"}:
                for each in inner:
                    yield from below(path, each)

    for name, schema in document()["components"]["schemas"].items():
        yield from below(name, schema)


def referred(schema: Schema) -> Schema:
    return document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def test_every_property_is_described() -> None:
    found = list(properties())
    assert len(found) > 1000
    assert [path for path, one in found if not (one.get("description") or referred(one).get("description"))] == []


def test_every_property_has_a_type_and_free_forms_have_their_reason() -> None:
    typed = {"type", "$ref", "anyOf", "oneOf", "const", "enum"}
    assert [path for path, one in properties() if not typed & one.keys()] == []
    schemas = [*properties(), *document()["components"]["schemas"].items()]
    assert {path for path, one in schemas if free(one)} == set(FREE_FORMS)


def free(schema: Schema) -> bool:
    """Whether an object may hold anything."""
    below = [schema.get("items"), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    values = schema.get("additionalProperties")
    named = {"properties", "patternProperties", "additionalProperties"} & schema.keys()
    loose = (schema.get("type") == "object" and not named) or values is True or values == {}
    return loose or (isinstance(values, dict) and free_value(values)) or any(free(one) for one in below if one)


def free_value(schema: Schema) -> bool:
    return referred(schema) == {}


def test_a_client_that_fills_in_defaults_overrides_no_configuration() -> None:
    schemas = document()["components"]["schemas"]
    for name in [one for one in schemas if one.endswith("Keys")] + ["RunConfiguration", "PolicyDescription"]:
        assert [key for key, one in schemas[name]["properties"].items() if "default" in one] == [], name


def test_it_is_of_the_version_that_generators_read() -> None:
    assert document()["openapi"] == "3.1.0"
    assert not [one for one in everything(document()) if isinstance(one, dict) and "itemSchema" in one]


def test_every_parameter_is_described() -> None:
    for name, operation in operations().items():
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description") or parameter["schema"].get("description"), (name, parameter["name"])


def test_references_lead_somewhere_and_no_component_is_unused() -> None:
    found = {one["$ref"] for one in everything(document()) if isinstance(one, dict) and "$ref" in one}
    kinds = ("schemas", "responses", "examples")
    assert found == {f"#/components/{kind}/{name}" for kind in kinds for name in document()["components"][kind]}


def validator_of(schema: Mapping[str, Any]) -> Draft202012Validator:
    """Holds values to a schema of the document."""
    return _validator(json.dumps(schema, sort_keys=True))


@cache
def _validator(schema: str) -> Draft202012Validator:
    """One for each schema: to take in all components takes 10 ms, and thousands of places have few schemas."""
    return Draft202012Validator(json.loads(schema) | {"components": document()["components"]})


def test_schemas_are_schemas_and_their_examples_and_defaults_fit() -> None:
    components = document()["components"]
    for name, schema in components["schemas"].items():
        meta.validate(schema | {"$schema": "https://json-schema.org/draft/2020-12/schema"})
        validator_of(schema)  # with all that its properties refer to
        for property_name, inner in schema.get("properties", {}).items():
            examples = [*inner.get("examples", ()), *([inner["default"]] if "default" in inner else ())]
            for example in examples:
                assert validator_of(inner).is_valid(example), (name, property_name)
    for name, operation in operations().items():
        for parameter in operation.get("parameters", ()):
            schema = parameter["schema"]
            assert "default" not in schema or Draft202012Validator(schema).is_valid(schema["default"]), name
            assert "null" not in repr(schema), name


def test_examples_of_bodies_fit_their_schemas() -> None:
    components, checked = document()["components"], 0
    for media in [one for one in everything(document()) if isinstance(one, dict) and "schema" in one]:
        found = list(media.get("examples", {}).values()) if isinstance(media.get("examples"), dict) else []
        values = [components["examples"][one["$ref"].rpartition("/")[2]]["value"] for one in found]
        values += [media["example"]] if "example" in media else []
        validator = validator_of(media["schema"])
        assert [value for value in values if not validator.is_valid(value)] == []
        checked += len(values)
    for name, schema in components["schemas"].items():
        validator = validator_of(schema)
        assert [one for one in schema.get("examples", ()) if not validator.is_valid(one)] == [], name
        checked += len(schema.get("examples", ()))
    assert checked > 30


def test_the_codes_of_errors_are_a_closed_list() -> None:
    assert document()["components"]["schemas"]["Code"]["enum"] == list(Code)
