"""Objects among the arguments of `evolve.run` that stand where a configuration names something."""

import re
from collections.abc import Mapping
from typing import Any

from evolve.credit.operators import Operator
from evolve.extensions import ExtensionKind, Extensions, is_reference, own_name
from service.errors import UsageError

SELECTION, ARCHIVE, STRATEGY = ExtensionKind.SELECTION, ExtensionKind.ARCHIVE, ExtensionKind.STRATEGY


def take_objects(configuration: Mapping[str, Any]) -> tuple[dict[str, Any], Extensions]:
    """A configuration with the name of each object in its place, and what resolves these names.

    Raises:
        UsageError: an object is of no use where it stands.
    """
    taken = _Objects()
    return taken.replaced(configuration), Extensions(taken.own)


class _Objects:
    def __init__(self) -> None:
        self.own: dict[tuple[ExtensionKind, str], object] = {}

    def replaced(self, values: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(values)
        if "selection" in found:
            found["selection"] = self._selection(found["selection"])
        for key in ("archive", "archive.kind"):
            if key in found:
                found[key] = self._archive(key, found[key])
        if "strategy" in found:
            found["strategy"] = self._strategy(found["strategy"])
        if isinstance(found.get("operators"), Mapping):
            found["operators"] = {
                self._name(ExtensionKind.OPERATOR, one) if isinstance(one, Operator) else one: share
                for one, share in found["operators"].items()
            }
        if callable(found.get("stopping_rule")):
            found["stopping_rule"] = self._name(ExtensionKind.STOPPING_RULE, found["stopping_rule"])
        if isinstance(found.get("variants"), list | tuple):
            found["variants"] = [
                self.replaced(table) if isinstance(table, Mapping) else table for table in found["variants"]
            ]
        return found

    def _selection(self, value: Any) -> Any:
        if callable(value):
            return {self._name(SELECTION, value): 1.0}
        if isinstance(value, Mapping):
            return {self._name(SELECTION, one) if callable(one) else one: share for one, share in value.items()}
        return value

    def _archive(self, key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            kind = value.get("kind")
            return {**value, "kind": self._archive("archive.kind", kind)} if "kind" in value else value
        if isinstance(value, str | int | float | None):
            return value
        if not callable(value):
            raise UsageError(
                f"{key} is a {type(value).__name__}: give its class, or a function of problem, config and seed, for"
                " each island makes an archive of its own"
            )
        name = self._name(ARCHIVE, value)
        return {"kind": name} if key == "archive" else name

    def _strategy(self, value: Any) -> Any:
        if callable(value):
            return self._name(STRATEGY, value)
        return self._name(STRATEGY, _CallerExtensions(value)) if hasattr(value, "plan") else value

    def _name(self, kind: ExtensionKind, value: object) -> str:
        """The name that stands for an object, the same for an equal call; a second one of a class has a number."""
        plain = own_name(value.made if isinstance(value, _CallerExtensions) else value)
        if not is_reference(plain):
            plain = ":".join(re.sub(r"\W", "_", part, flags=re.ASCII) for part in f"own_{plain}".split(":", 1))
        name, number = plain, 1
        while self.own.get((kind, name), value) is not value:
            number += 1
            name = f"{plain}_{number}"
        self.own[kind, name] = value
        return name


class _CallerExtensions:
    """Hands out an object that was made already where one is to be made."""

    def __init__(self, made: object) -> None:
        self.made = made

    def __call__(self, *_: object) -> object:
        return self.made
