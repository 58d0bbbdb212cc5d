"""The folders of this user: data, settings and what can be made again, by the XDG rules."""

import os
from pathlib import Path

from service.errors import NotFoundError


def data_home() -> Path:
    """Where this user's data belongs, by the XDG rules."""
    return _xdg("XDG_DATA_HOME", ".local/share")


def cache_home() -> Path:
    """Where what can be made again belongs, by the XDG rules."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def config_file() -> Path:
    """The user's own settings file, by the XDG rules."""
    return _xdg("XDG_CONFIG_HOME", ".config") / "evolve" / "config.toml"


def _xdg(variable: str, fallback: str) -> Path:
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else Path.home() / fallback


def make_folder(file: Path) -> None:
    """Make the folder of a database where it is this user's data folder; one with another name may be a slip.

    Raises:
        NotFoundError: another folder that is not there.
        OSError, ValueError: it cannot be made, or there is no folder of such a name.
    """
    folder = file.parent
    if folder == data_home() / "evolve":
        folder.mkdir(parents=True, exist_ok=True)
        return
    try:
        folder.stat()
    except FileNotFoundError:
        raise NotFoundError(f"there is no folder {folder}: make it, or name a database elsewhere") from None
