"""The reference of the API, drawn from its document on the server: it needs no script, no key and no other site."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup, escape

from service.dashboard.pages import PageRoute, environment, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Schema = Mapping[str, Any]
_BOUNDS = {
    "minimum": "from {}", "maximum": "to {}", "exclusiveMinimum": "above {}", "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters", "maxLength": "at most {} characters", "minItems": "at least {} items",
    "maxItems": "at most {} items", "maxProperties": "at most {} entries", "pattern": "pattern `{}`",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRow:
    """A parameter, a property or a response.

    Attributes:
        kind: its type, with links to schemas.
        note: where it stands, or whether it is needed.
    """

    name: str
    kind: Markup
    note: str
    text: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEntry:
    """An operation as it is drawn."""

    id: str
    method: str
    path: str
    text: Sequence[Markup]
    scopes: Sequence[str]
    parameters: Sequence[ParameterRow]
    body: Markup
    responses: Sequence[ParameterRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaEntry:
    """A schema as it is drawn."""

    name: str
    text: Markup
    kind: Markup
    properties: Sequence[ParameterRow]


@router.get("/docs")
def show_reference(request: Request) -> Response:
    """Show every operation and schema of the API."""
    state = request.app.state
    if not hasattr(state, "reference"):  # drawn once: it depends on nothing but the code
        state.reference = draw(request.app.openapi())
    return render(request, "reference.html", reference=state.reference)


def draw(document: Schema) -> Markup:
    """The reference of a document, as HTML."""
    tags = [
        (tag["name"], inline(tag["description"]), [*_operations(document, tag["name"])]) for tag in document["tags"]
    ]
    schemas = [_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    page = environment().get_template("reference_parts.html")
    return Markup(page.render(info=document["info"], tags=tags, schemas=schemas))  # noqa: S704 - the template escapes


def inline(text: str) -> Markup:
    """A text in which backticks set code apart."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _operations(document: Schema, tag: str) -> Iterator[OperationEntry]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if tag in operation["tags"]:
                body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                yield OperationEntry(
                    id=operation["operationId"],
                    method=method.upper(),
                    path=path,
                    text=[inline(part) for part in operation["description"].split("\n\n")],
                    scopes=operation.get("x-required-scopes", ()),
                    parameters=[_parameter(one) for one in operation.get("parameters", ())],
                    body=kind_of(body["schema"]) if body else Markup(""),
                    responses=[_response(document, *one) for one in operation["responses"].items()],
                )


def _parameter(parameter: Schema) -> ParameterRow:
    schema = parameter["schema"]
    note = parameter["in"] + (", required" if parameter.get("required") else "")
    text = parameter.get("description") or schema.get("description", "")
    return ParameterRow(name=parameter["name"], kind=kind_of(schema), note=note, text=inline(text))


def _response(document: Schema, status: str, response: Schema) -> ParameterRow:
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    content = response.get("content", {})
    kinds = [kind_of(one["schema"]) if one.get("schema") else escape(name) for name, one in content.items()]
    return ParameterRow(
        name=status, kind=Markup(", ").join(kinds), note=", ".join(content), text=inline(response["description"])
    )


def _schema(name: str, schema: Schema) -> SchemaEntry:
    required = schema.get("required", ())
    properties = [
        ParameterRow(
            name=key,
            kind=kind_of(one),
            note="required" if key in required else "",
            text=inline(one.get("description", "")),
        )
        for key, one in schema.get("properties", {}).items()
    ]
    kind = Markup("") if properties else kind_of(schema)
    return SchemaEntry(name=name, text=inline(schema.get("description", "")), kind=kind, properties=properties)


def kind_of(schema: Schema) -> Markup:
    """The type of a schema in a few words, with links to the schemas that it names."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Markup('<a href="#schema-{0}">{0}</a>').format(name)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        kind = Markup(" or ").join(kind_of(option) for option in options)
    elif "enum" in schema or "const" in schema:
        kind = inline(", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")])))
    elif schema.get("type") == "array":
        kind = Markup("list of ") + kind_of(schema.get("items", {}))
    elif schema.get("type") == "object" and "properties" not in schema:
        kind = Markup("object") + _values(schema)
    else:
        kind = escape(schema.get("type", "any"))
    bounds = [form.format(schema[key]) for key, form in _BOUNDS.items() if key in schema]
    return kind + inline(f" ({', '.join(bounds)})") if bounds else kind


def _values(schema: Schema) -> Markup:
    """What an object holds by names of its own."""
    values = schema.get("additionalProperties") or next(iter(schema.get("patternProperties", {}).values()), None)
    return Markup(" of ") + kind_of(values) if isinstance(values, dict) and values else Markup("")
