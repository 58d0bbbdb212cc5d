"""Every name that the product shows to others, and the words that names are made of."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer.main

from evolve.events import EventKind
from service import config
from service.cli.app import app
from service.db.tables import all_tables
from service.schemas.key_descriptions import CONFIGURATION_KEYS, POLICY_KEYS, PROBLEM_KEYS

ROOT = Path(__file__).parents[2]
METRIC_TYPES = {"Counter", "Gauge", "Histogram"}


def words_of(name: str) -> list[str]:
    """The words of a snake, kebab, dotted or camel name, in lower case and without numbers."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word.lower() for word in re.findall(r"[A-Za-z][A-Za-z0-9]*", parted)]


def forms_of(word: str) -> set[str]:
    """A word with its plural and its regular verb forms."""
    found = {word, f"{word}s", f"{word}ed", f"{word}ing", f"{word}{word[-1]}ed", f"{word}{word[-1]}ing"}
    if word.endswith("e"):
        found |= {f"{word}d", f"{word[:-1]}ing"}
    if word.endswith("y"):
        found |= {f"{word[:-1]}ies", f"{word[:-1]}ied"}
    if word.endswith(("s", "x", "z", "ch", "sh")):
        found.add(f"{word}es")
    return found


def wire_names() -> Iterator[tuple[str, str]]:
    """Each name with what it is the name of."""
    yield from api_names(json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")))
    yield from (("event", kind.value) for kind in EventKind)
    for table in all_tables():
        yield "table", table.name
        yield from (("column", f"{table.name}.{column.name}") for column in table.columns)
    for kind, keys in (("run", CONFIGURATION_KEYS), ("problem", PROBLEM_KEYS), ("policy", POLICY_KEYS)):
        yield from ((f"{kind} key", key) for key in keys)
    yield from (("setting", key) for key in config.known_keys())
    yield from command_names(typer.main.get_command(app))
    for path in sorted((ROOT / "service").rglob("*.py")):
        yield from metric_names(path.read_text(encoding="utf-8"))


def api_names(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Paths, parameters, operations, schemas and fields of the API; fields of event schemas are payload keys."""
    for path, operations in document["paths"].items():
        yield "path", path
        for operation in operations.values():
            if isinstance(operation, Mapping):
                yield "operation", operation["operationId"]
                yield from (("parameter", one["name"]) for one in operation.get("parameters", ()) if "name" in one)
    for name, schema in document["components"]["schemas"].items():
        yield "schema", name
        yield from (("field", f"{name}.{field}") for field in schema.get("properties", ()))


def command_names(command: Any, path: str = "evolve") -> Iterator[tuple[str, str]]:
    """Commands below one, with arguments and options."""
    yield "command", path
    yield from (("option", f"{path} {option}") for parameter in command.params for option in parameter.opts)
    for name, below in getattr(command, "commands", {}).items():
        yield from command_names(below, f"{path} {name}")


def metric_names(source: str) -> Iterator[tuple[str, str]]:
    """Prometheus metrics that a module makes, with their labels."""
    if "prometheus_client" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in METRIC_TYPES):
            continue
        texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if texts and texts[0].startswith("evolve_"):
            labels = [
                label for one in node.args if isinstance(one, ast.List) for label in map(ast.literal_eval, one.elts)
            ]
            yield "metric", texts[0]
            yield from (("label", f"{texts[0]} {label}") for label in labels)


def own_part(kind: str, name: str) -> str:
    """What of a shown name is its own: a field without its schema, an option without its command."""
    if kind in {"field", "column"}:
        return name.partition(".")[2]
    return name.rpartition(" ")[2] if kind in {"option", "command", "label"} else name


def users_of_words(names: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """For each word the names that hold it."""
    users: dict[str, list[str]] = {}
    for kind, name in names:
        for word in words_of(own_part(kind, name)):
            users.setdefault(word, []).append(f"{kind} {name}")
    return users
