"""Write what the code says of the API: docs/openapi.json, the tables of docs/reference/api.md, and the client's calls.

A test compares them with the code.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from fastapi.routing import APIRoute

from scripts import client_calls
from service.api.app import TAGS, document, door_of, routes_of
from service.ports import DEFAULT_TENANT
from service.schemas.problem_details import MEANINGS

DOCS = Path(__file__).parents[1] / "docs"
PLACE = DOCS / "openapi.json"
PAGE = DOCS / "reference" / "api.md"


def text() -> str:
    """The document as it is committed."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def page(written: str) -> str:
    """The page with its tables as the code has them."""
    for name, rows in (("operations", operations()), ("codes", codes())):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = written.partition(begin)
        written = before + begin + "".join(f"{row}\n" for row in rows) + end + rest.partition(end)[2]
    return written


def operations() -> Iterator[str]:
    """Every operation with what it needs, by tag."""
    routes = routes_of()
    for tag, about in TAGS.items():
        yield from ("", f"**{tag}**: {about}", "", "| call | operation | scopes | |", "|---|---|---|---|")
        for route in routes:
            if route.tags == [tag]:
                for method in sorted(route.methods or ()):
                    said = document()["paths"][route.path_format][method.lower()]["description"].partition("\n")[0]
                    name, said = str(route.operation_id), said.replace("|", "\\|")
                    yield f"| `{method} {route.path_format}` | `{name}` | {_needs(route)} | {said} |"
    yield ""


def _needs(route: APIRoute) -> str:
    door = door_of(route)
    if door is None:
        return "open"
    scopes = ", ".join(f"`{scope}`" for scope in door.scopes)
    return scopes + (f"; tenant `{DEFAULT_TENANT}`" if door.operator else "") + ("; shares" if door.shared else "")


def codes() -> Iterator[str]:
    """Every code of an error with its meaning."""
    yield from ("| code | meaning |", "|---|---|")
    for code, meaning in MEANINGS.items():
        yield f"| `{code}` | {meaning} |"


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    client_calls.write()
    print("wrote docs/openapi.json, docs/reference/api.md and service/client/calls")
