"""What values of a configuration must be, in one sentence each where they are not."""

import re
from collections.abc import Mapping

from evolve.errors import ConfigurationError
from evolve.extensions import ExtensionKind, is_known, known_names
from evolve.problem import MAX_MAGNITUDE

MAX_PLAIN_CHARACTERS = 4000  # of a text that a configuration holds for prompts
# All but control characters, of which tabs and newlines are permitted.
PLAIN_TEXT = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$"
_PLAIN = re.compile(PLAIN_TEXT)


def plain_text(key: str, text: str, maximum: int) -> None:
    """Refuse a text that is too long or holds control characters."""
    if len(text) > maximum:
        raise ConfigurationError(f"{key} has at most {maximum} characters, this one has {len(text)}")
    if not _PLAIN.fullmatch(text):
        raise ConfigurationError(f"{key} holds no control characters but tabs and newlines")


def shares(key: str, mix: Mapping[str, float], kind: ExtensionKind) -> None:
    """Refuse shares of unknown names, shares that are no finite share, and a mix of nothing."""
    for name, share in mix.items():
        registered(key, name, kind)
        if not 0 <= share <= MAX_MAGNITUDE:
            raise ConfigurationError(f"{key}.{name} must lie between 0 and {MAX_MAGNITUDE:g}")
    if mix and not sum(mix.values()) > 0:
        verb = "needs" if key == "selection" else "need"
        raise ConfigurationError(f"{key} {verb} a share above 0")


def one_of(key: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse what is not among the known values."""
    if value not in known:
        raise ConfigurationError(f"{key} = {value!r} is unknown: choose one of {', '.join(known)}")


def registered(key: str, name: str, kind: ExtensionKind) -> None:
    """Refuse a name that is neither built in, nor installed, nor a reference such as `module:Class`."""
    if not is_known(kind, name):
        known = ", ".join(known_names(kind))
        choice = f"choose one of {known}, or your own" if known else "name your own"
        raise ConfigurationError(f"{key} = {name!r} is unknown: {choice} as module:Class")


def within(key: str, value: int, minimum: int, maximum: int) -> None:
    """Refuse a number outside two bounds."""
    if not minimum <= value <= maximum:
        bound = f"at least {minimum}" if value < minimum else f"at most {maximum}"
        raise ConfigurationError(f"{key} must be {bound}")


def at_least(key: str, value: float | None, minimum: float) -> None:
    """Refuse a number below a bound, and one that is not finite or beyond all use; None stands for no number."""
    if value is not None and not value >= minimum:
        raise ConfigurationError(f"{key} must be at least {minimum}")
    if value is not None and value > MAX_MAGNITUDE:
        raise ConfigurationError(f"{key} must be at most {MAX_MAGNITUDE:g}")
