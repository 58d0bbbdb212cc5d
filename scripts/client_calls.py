"""Write `service/client/calls`: a function for each operation of the API, from its route.

`python -m scripts.openapi` runs it, and a test compares the files with the routes. Operations whose arguments have
another form than on the wire are in `service/client/shaped_calls.py`.
"""

import inspect
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from service.api.app import TAGS, routes_of
from service.client import shaped_calls

CALLS = Path(__file__).parents[1] / "service" / "client" / "calls"
# A worker and a browser call these in ways of their own.
UNCALLED = frozenset({
    "complete_evaluation", "create_session", "delete_session", "get_bundle", "heartbeat_worker", "lease_evaluation",
    "leave_worker", "log_in_once", "release_evaluation", "renew_evaluation",
})  # fmt: skip
# The service reads a long run before the first byte of the answer, as for all of the tag metrics.
FOLDED = frozenset({"get_best", "get_grid", "list_front"})
_SCALARS: Mapping[type, str] = {str: "str", int: "int", float: "float", bool: "bool"}


def modules() -> dict[str, str]:
    """The text of each file of the package, by its name."""
    routes: dict[str, list[APIRoute]] = defaultdict(list)
    for route in routes_of():
        if str(route.operation_id) not in {*UNCALLED, *shaped_calls.__all__}:
            routes[str(route.tags[0])].append(route)
    found = {f"{tag}.py": _formatted(_module(tag, routes[tag])) for tag in TAGS if tag in routes}
    names = {tag: sorted(str(one.operation_id) for one in routes[tag]) for tag in sorted(routes)}
    return found | {"__init__.py": _formatted(_package(names))}


def write() -> None:
    """Write the files, and remove those of tags that are gone."""
    written = modules()
    for path in CALLS.glob("*.py"):
        if path.name not in written:
            path.unlink()
    for name, text in written.items():
        (CALLS / name).write_text(text, encoding="utf-8")


def _package(names: Mapping[str, list[str]]) -> str:
    lines = [
        '"""Every call of the API, by the name of its operation in the API\'s document. `scripts.openapi` writes it.',
        "",
        "Ids of runs and candidates may be given by any unambiguous beginning of at least six characters.",
        '"""',
        "",
    ]
    lines += [f"from service.client.calls.{tag} import {', '.join(own)}" for tag, own in names.items()]
    lines += [f"from service.client.shaped_calls import {', '.join(sorted(shaped_calls.__all__))}", ""]
    everything = sorted([*shaped_calls.__all__, *(name for own in names.values() for name in own)])
    return "\n".join([*lines, f"__all__ = {everything!r}", ""])


def _module(tag: str, routes: list[APIRoute]) -> str:
    imports: dict[str, set[str]] = defaultdict(set)
    body = "\n\n".join(_function(route, imports) for route in routes)
    imports["service.client.call"] |= {"Call", *(name for name in ("FOLD_SECONDS", "chosen", "place") if name in body)}
    head = "\n".join(f"from {name} import {', '.join(sorted(own))}" for name, own in sorted(imports.items()))
    return f'"""Calls of the tag {tag}. `scripts.openapi` writes them."""\n\n{head}\n\n\n{body}'


def _function(route: APIRoute, imports: dict[str, set[str]]) -> str:
    arguments, options, params, headers = [], [], [], ""
    wait = "FOLD_SECONDS" if route.tags == ["metrics"] or route.operation_id in FOLDED else ""
    body = ""
    for place, name, annotation, required in _inputs(route.dependant):
        match place, name.lower():
            case "header", "prefer":
                arguments.append("wait_seconds: int = 0")
                headers, wait = '{"Prefer": f"wait={wait_seconds}"} if wait_seconds else {}', "wait_seconds"
            case "header", "if-match":
                arguments.append('tag: str = ""')
                headers = '{"If-Match": tag} if tag else {}'
            case ("header", _) | ("query", "cursor"):
                continue
            case "body", _:
                arguments.insert(len(_paths(route)), f"body: {_name(annotation, imports)}")
                body = "body"
            case "path", _:
                arguments.append(f"{name}: {_name(annotation, imports)}")
            case _:
                params.append(f"{name}={name}")
                if required:
                    arguments.append(f"{name}: {_name(annotation, imports)}")
                else:
                    options.append(f"{name}: {_name(annotation, imports)} | None = None")
    answer = "bytes" if route.response_model is None and route.methods == {"GET"} else ""
    told = answer or ("None" if route.response_model is None else _name(route.response_model, imports))
    if told == "None":
        imports["types"].add("NoneType")
    paths = _paths(route)
    template = f'"{route.path_format}"'
    for path in paths:
        template = template.replace(f"{{{path}}}", "{}")
    values = {
        "method": f'"{next(iter(route.methods or ()))}"',
        "path": f"place({', '.join([template, *(_text(route, one) for one in paths)])})" if paths else template,
        "params": f"chosen({', '.join(params)})" if params else "",
        "body": body,
        "headers": headers,
        "answer": "NoneType" if told == "None" else told,
        "wait_seconds": wait,
    }
    signature = ", ".join([*arguments, *(["*", *options] if options else [])])
    said = (inspect.getdoc(route.endpoint) or "").partition("\n")[0]
    given = ", ".join(f"{key}={value}" for key, value in values.items() if value)
    return f'def {route.operation_id}({signature}) -> Call[{told}]:\n    """{said}"""\n    return Call({given})\n'


def _paths(route: APIRoute) -> list[str]:
    return [one.alias for one in route.dependant.path_params]


def _text(route: APIRoute, name: str) -> str:
    kinds = {one.alias: one.field_info.annotation for one in route.dependant.path_params}
    return name if kinds[name] is str else f"str({name})"


def _inputs(dependant: Dependant) -> Iterator[tuple[str, str, Any, bool]]:
    fields = {
        "path": dependant.path_params,
        "query": dependant.query_params,
        "header": dependant.header_params,
        "body": dependant.body_params,
    }
    for place, own in fields.items():
        for one in own:
            yield place, one.alias, one.field_info.annotation, one.field_info.is_required()
    for inner in dependant.dependencies:
        yield from _inputs(inner)


def _name(annotation: Any, imports: dict[str, set[str]]) -> str:
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if get_origin(annotation) is Literal:
        imports["typing"].add("Literal")
        return f"Literal{list(get_args(annotation))!r}"
    if get_origin(annotation) in {Union, UnionType}:
        return " | ".join(_name(one, imports) for one in get_args(annotation) if one is not NoneType)
    imports[annotation.__module__].add(annotation.__name__)
    return str(annotation.__name__)


def _formatted(text: str) -> str:
    for words in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", str(CALLS / "made.py"), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout
    return text
