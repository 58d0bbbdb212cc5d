"""What trackers share: their libraries, which are extras, and the name of a metric."""

from importlib import import_module
from typing import Any

from evolve.errors import MissingExtensionError
from evolve.extensions import PACKAGE

EVALUATIONS = "evaluations"  # the metric by which a tracker finds the last point that it has of a run


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
