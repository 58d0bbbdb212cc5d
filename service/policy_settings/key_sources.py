"""Where keys of policy servers stand: environment variables and files; never a policy file itself."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from service.errors import UsageError

MAX_KEY_CHARACTERS = 8192


def key_in_variable(variable: str, environment: Mapping[str, str], policy: str) -> SecretStr:
    """The key that an environment variable holds.

    Raises:
        UsageError: it is not set, or holds no key.
    """
    if variable not in environment:
        raise UsageError(f"the environment variable {variable}, which holds the key of the policy {policy}, is not set")
    return _checked_key(environment[variable], f"the environment variable {variable}")


def key_in_file(path: str, named_by: str) -> SecretStr:
    """The key that a file holds.

    Raises:
        UsageError: it cannot be read, or holds no key.
    """
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            text = file.read(MAX_KEY_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"the key file {path}, named by {named_by}, cannot be read: {reason}") from None
    return _checked_key(text, f"the key file {path}")


def _checked_key(text: str, place: str) -> SecretStr:
    key = text.strip()
    if not key or len(key) > MAX_KEY_CHARACTERS or not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"{place} holds no key: one line of printable characters without spaces is wanted")
    return SecretStr(key)
