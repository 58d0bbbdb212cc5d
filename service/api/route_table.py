"""The routes of the API by parts of their addresses: a request is compared only with those that it may fit."""

from collections.abc import Sequence

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

_COMPARED = (2, 4)  # parts of /v1/runs/{run_id}/candidates that tell most routes apart
_ANY = None
_Key = tuple[str | None, ...]


class RouteTable(BaseRoute):
    """All routes as one. The first that fits answers, as in a list of them."""

    def __init__(self, routes: Sequence[APIRoute]) -> None:
        self._keys = [(_key_of(route.path), route) for route in routes]
        self._words = [{key[place] for key, _ in self._keys} for place in range(len(_COMPARED))]
        self._found: dict[_Key, list[APIRoute]] = {}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The route that a request fits, in the scope of what follows."""
        partial: tuple[Match, Scope] = (Match.NONE, {})
        if scope["type"] == "http":
            for route in self._candidates(scope["path"].removeprefix(scope.get("root_path", ""))):
                match, child = route.matches(scope)
                if match is Match.FULL:
                    return match, child
                if match is Match.PARTIAL and partial[0] is Match.NONE:
                    partial = match, child
        return partial

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by the route that was found."""
        await scope["route"].handle(scope, receive, send)

    def _candidates(self, path: str) -> list[APIRoute]:
        key = tuple(word if word in words else _ANY for word, words in zip(_parts(path), self._words, strict=True))
        if key not in self._found:  # there are only so many, as unknown words are all alike
            self._found[key] = [
                route
                for own, route in self._keys
                if all(mine in (_ANY, asked) for mine, asked in zip(own, key, strict=True))
            ]
        return self._found[key]


def _parts(path: str) -> list[str]:
    """The compared parts of an address; empty: it has none there."""
    parts = path.split("/", max(_COMPARED) + 1)
    return [parts[place] if place < len(parts) else "" for place in _COMPARED]


def _key_of(path: str) -> _Key:
    """The compared parts of a route's address; a parameter is any."""
    parts = path.split("/")
    # A parameter that takes slashes reaches to the end of the address.
    whole = next((place for place, part in enumerate(parts) if part.endswith(":path}")), len(parts))
    ends = "" if whole == len(parts) else _ANY
    return tuple(ends if place >= whole else _ANY if "{" in parts[place] else parts[place] for place in _COMPARED)
