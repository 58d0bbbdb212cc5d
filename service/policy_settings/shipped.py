"""Where model folders lie: those that come with the product, by name, and a user's own, by path; and their defaults."""

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from service.errors import NotFoundError, UsageError

DEFAULTS_FILE = "evolve.toml"
PREFIX = "bundled:"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
# What a folder may say of its own policy; the user's words win.
_DEFAULTS = ("format", "answers", "samples", "temperature", "top_p", "max_tokens", "concurrency")
ADAPTER_DEFAULTS = (*_DEFAULTS, "edits")
_MAX_DEFAULTS_BYTES = 65536
# A model of the registry, by the hash of its folder.
REGISTERED = "sha256:"
_SHOWN_HASH = 12


def adapter_name(policy: str, bundle_hash: str) -> str:
    """The name of a registered LoRA adapter at its server. It stands for the content of the adapter's folder.

    Args:
        policy: of the registry.
        bundle_hash: SHA-256 of the folder.
    """
    return f"{policy}-{bundle_hash[:_SHOWN_HASH]}"


def is_path(model: str) -> bool:
    """Whether a model is named by a path: anything that is no plain name."""
    return _NAME.fullmatch(model) is None


def shipped_names() -> list[str]:
    """Names of the models that come with the product."""
    return sorted({file.parent.name for place in _places() for file in place.glob("*/config.json")})


def find_folder(model: str) -> Path:
    """The folder of a model that is named, or lies at a path.

    Raises:
        NotFoundError: no model has the name, or no folder lies there; the text names those that are there.
    """
    if is_path(model):
        folder = Path(model).expanduser()
        if not folder.is_dir():
            raise NotFoundError(f"the bundled policy {model!r} is not a folder")
        return folder
    for place in _places():
        if (place / model / "config.json").is_file():
            return place / model
    raise NotFoundError(f"there is no bundled policy {model!r}: {choice()}")


def choice() -> str:
    """What a user may name, as the end of a sentence."""
    there = ", ".join(shipped_names())
    named = f"choose one of {there}" if there else "none comes with this version"
    return f"{named}, or name a folder with a / in its path, such as {PREFIX}./folder"


def complete(values: Mapping[str, Any], *, paths: bool) -> dict[str, Any]:
    """The words of a user about a bundled policy, with what its folder says where the user says nothing.

    A path is made absolute, so that the policy is found again from elsewhere.

    Args:
        values: keys of a policy; of another kind, they are given back as they are.
        paths: whether a model may be named by a path; not where others than the machine's user speak.

    Raises:
        NotFoundError: there is no such model.
        UsageError: it is named by a path and may not be, or the folder's own file is off.
    """
    model = values.get("model")
    if values.get("kind") != "bundled" or not isinstance(model, str) or not model.isprintable() or not model:
        return dict(values)
    if is_path(model) and not paths:
        raise UsageError("model: a bundled policy is named here by its name, never by a path of this machine")
    folder = find_folder(model)
    place = str(folder.absolute()) if is_path(model) else model
    name = re.sub(r"[^\w.:/@+-]", "-", f"{PREFIX}{folder.absolute().name}")[:64]
    return {"name": name, **_defaults(folder), **values, "model": place}


def _places() -> list[Path]:
    """Where shipped models lie: at the top of the repository, and inside of what was installed."""
    here = Path(__file__).resolve().parent
    top = here.parents[1]
    places = [top / "models"] if (top / "pyproject.toml").is_file() else []
    return [place for place in (*places, here / "models") if place.is_dir()]


def _defaults(folder: Path) -> dict[str, Any]:
    path = folder / DEFAULTS_FILE
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_DEFAULTS_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"the file {path}, the defaults of a policy, cannot be read: {error}") from error
    return read_defaults(text, path)


def read_defaults(text: bytes, path: Path, known: Collection[str] = _DEFAULTS) -> dict[str, Any]:
    """What the file `evolve.toml` of a model's folder says of its policy.

    Args:
        text: content of the file.
        path: where it stands, for people.
        known: keys that it may hold.

    Raises:
        UsageError: it cannot be read, or holds another key.
    """
    if len(text) > _MAX_DEFAULTS_BYTES:
        raise UsageError(f"the file {path} is too long: it may hold the defaults of one policy")
    try:
        defaults = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the file {path}, the defaults of a policy, cannot be read: {error}") from error
    for key in defaults:
        if key not in known:
            raise UsageError(f"the file {path} holds the unknown key {key}: it may hold {', '.join(known)}")
    return defaults
