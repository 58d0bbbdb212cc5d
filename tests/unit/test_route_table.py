"""A request finds the route that it would find in a list of all routes."""

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Match

from service.api.app import routes_of
from service.api.route_table import RouteTable

ROUTES = routes_of()
TABLE = RouteTable(ROUTES)
OTHERS = [
    "/",
    "",
    "/v1",
    "/v1/",
    "/v1/runs/",
    "/v1/nothing",
    "/v1/runs/x/nothing",
    "/v1/runs/x/candidates/y",
    "//a//b//c",
]


def scope_of(method: str, path: str) -> dict[str, object]:
    return {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}


def in_a_list(method: str, path: str) -> tuple[Match, APIRoute | None]:
    found = [(route.matches(scope_of(method, path))[0], route) for route in ROUTES]
    for wanted in (Match.FULL, Match.PARTIAL):
        for match, route in found:
            if match is wanted:
                return match, route
    return Match.NONE, None


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"])
def test_every_address_finds_the_route_that_a_list_finds(method: str) -> None:
    filled = {route.path.replace(":path}", "}").replace("{", "").replace("}", "") for route in ROUTES}
    deeper = {route.path.replace("{path:path}", "a/b/c/d").replace("{", "").replace("}", "") for route in ROUTES}
    for path in [*filled, *deeper, *OTHERS, *(f"{path}/more" for path in filled)]:
        match, child = TABLE.matches(scope_of(method, path))
        assert (match, child.get("route")) == in_a_list(method, path), (method, path)


def test_a_request_is_compared_with_few_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[str]()
    own = APIRoute.matches

    def counted(self: APIRoute, scope: dict[str, object]) -> object:
        compared.append(self.path)
        return own(self, scope)

    monkeypatch.setattr(APIRoute, "matches", counted)
    TABLE.matches(scope_of("GET", "/v1/runs/run_1/candidates"))
    assert len(compared) < 5 < len(ROUTES)


def test_unknown_addresses_take_no_memory() -> None:
    table = RouteTable(ROUTES)
    for number in range(100):
        table.matches(scope_of("GET", f"/v1/unknown{number}/x/other{number}"))
    assert len(table._found) == 1
