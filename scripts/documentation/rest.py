"""The reference of the REST API, from `docs/openapi.json`: a page for each tag, and one for all schemas."""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from service.dashboard.views.reference import kind_of

Schema = Mapping[str, Any]

_LINK = re.compile(r'<a href="#(.+?)">(.+?)</a>')
_CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)


def rest_reference(document: Schema) -> dict[str, str]:
    """The pages by their names."""
    pages = {tag["name"]: "\n".join(_tag(document, tag)) + "\n" for tag in document["tags"]}
    return pages | {"schemas": "\n".join(_schemas(document)) + "\n"}


def _tag(document: Schema, tag: Schema) -> Iterator[str]:
    yield from (f"# {tag['name'].replace('-', ' ').capitalize()}", "", tag["description"], "")
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if tag["name"] in operation["tags"]:
                yield from _operation(document, f"{method.upper()} {path}", operation)


def _operation(document: Schema, call: str, operation: Schema) -> Iterator[str]:
    yield from (f"## {operation['operationId']}", "", "```http", call, "```", "", operation["description"], "")
    scopes = operation.get("x-required-scopes", ())
    if scopes:
        yield from ("Scopes: " + ", ".join(f"`{scope}`" for scope in scopes), "")
    parameters = operation.get("parameters", ())
    if parameters:
        yield from ("| parameter | in | type | |", "|---|---|---|---|")
        for one in parameters:
            place = one["in"] + (", required" if one.get("required") else "")
            text = one.get("description") or one["schema"].get("description", "")
            yield f"| `{one['name']}` | {place} | {_kind(one['schema'])} | {_cell(text)} |"
        yield ""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    if body:
        yield from (f"Body: {_kind(body['schema'])}", "")
    yield from ("| status | answer | |", "|---|---|---|")
    for status, response in operation["responses"].items():
        yield _response(document, status, response)
    yield ""


def _response(document: Schema, status: str, response: Schema) -> str:
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    content = response.get("content", {})
    kinds = [_kind(one["schema"]) if one.get("schema") else f"`{name}`" for name, one in content.items()]
    return f"| {status} | {', '.join(kinds)} | {_cell(response['description'])} |"


def _schemas(document: Schema) -> Iterator[str]:
    yield from ("# Schemas", "", "The values that requests and answers consist of.", "")
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield from (f'## {name} {{ #schema-{name} data-toc-label="{name}" }}', "", schema.get("description", ""), "")
        properties = schema.get("properties", {})
        if not properties:
            yield from (f"Type: {_kind(schema, 'schemas')}", "")
            continue
        required = schema.get("required", ())
        yield from ("| property | type | |", "|---|---|---|")
        for key, one in properties.items():
            needed = "Required. " if key in required else ""
            yield f"| `{key}` | {_kind(one, 'schemas')} | {needed}{_cell(one.get('description', ''))} |"
        yield ""


def _kind(schema: Schema, page: str = "") -> str:
    """A type as Markdown within a cell; its links lead to the page of schemas."""
    here = "" if page == "schemas" else "schemas.md"
    linked = _LINK.sub(rf"[\2]({here}#\1)", str(kind_of(schema)))
    return _CODE.sub(lambda found: f"`{html.unescape(found[1])}`", linked).replace("\0", r"\x00")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
