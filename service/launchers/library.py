"""The libraries of launchers, which are extras."""

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
            f"this launcher needs a package that is not installed here: pip install '{PACKAGE}[{extra}]'"
        ) from error
