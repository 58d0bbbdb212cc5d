"""Domains by name: those that come with Evolve, those of installed packages, and `module:Class`."""

import inspect
from typing import Any

from evolve.domains.domain import Domain
from evolve.errors import ExtensionError
from evolve.extensions import ExtensionKind, find_extension, guarded, load_extension

_PARTS = ("objectives", "task", "prompt", "parse", "reward", "scalar", "identity")


def open_domain(name: str) -> Domain[Any, Any]:
    """The domain of a name.

    Args:
        name: `maze`, `musique`, `eureqa`, `toolrl`, an entry point of the group `evolve.domains`, or `module:Class`.

    Raises:
        MissingExtensionError: there is none.
        ExtensionError: it cannot be made, or lacks a part of a domain.
    """
    extension = find_extension(ExtensionKind.DOMAIN, name)
    found = load_extension(extension)
    with guarded(extension, "could not be made"):
        made: Any = found() if inspect.isclass(found) else found
    missing = [part for part in _PARTS if not callable(getattr(made, part, None))]
    if missing or not isinstance(getattr(made, "name", None), str):
        raise ExtensionError(f"{extension} is not a domain: it lacks {', '.join([*missing] or ['name'])}")
    domain: Domain[Any, Any] = made
    return domain
