"""The libraries of trackers, which are extras."""

from importlib import import_module
from typing import Any

from evolve.errors import MissingExtensionError
from evolve.extensions import PACKAGE


def load_library(extra: str, module: str) -> Any:
    """A module of the library that an extra installs.

    Raises:
        MissingExtensionError: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtensionError(
            f"the tracker {extra} needs a package that is not installed here: pip install '{PACKAGE}[{extra}]'"
        ) from error
