"""Keys of the API in files, for those who speak to a service."""

from pathlib import Path

from service.errors import UsageError


def key_in(path: Path) -> str:
    """The key that a file holds.

    Raises:
        UsageError: it cannot be read, or holds something else.
    """
    try:
        key = path.expanduser().read_text(encoding="ascii").strip()
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        raise UsageError(f"the key cannot be read from {path}: name a file that holds it and nothing else") from error
    if not key or not key.isprintable() or " " in key:
        raise UsageError(f"{path} holds no key: name a file that holds it and nothing else")
    return key
