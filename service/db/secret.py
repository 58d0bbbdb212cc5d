"""The secret of this installation: named by the operator, or made once beside a SQLite database."""

import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from service.config import database_url
from service.errors import RefusedError, UsageError
from service.signer import Signer
from service.user_folders import make_folder

if TYPE_CHECKING:
    from service.config import Settings

_GLANCES, _GLANCE_SECONDS = 20, 0.1
_HOW = "name one with EVOLVE_API__SECRET or the secrets file evolve_api__secret"


def open_seal(settings: "Settings", override: str | None = None) -> Signer:
    """The seal of this installation; beside a SQLite database its secret is made when there is none.

    Raises:
        UsageError: there is no secret, and no place of one's own to make it in.
        RefusedError: the file with the secret may be read by others, or cannot be made; or it is missing beside a
            database with keys, which a new secret would make void.
    """
    if settings.api.secret is not None:
        return Signer(settings.api.secret.get_secret_value())
    scheme, _, path = database_url(settings, override).partition(":///")
    if scheme != "sqlite":
        raise UsageError(f"the API needs a secret that all its processes share: {_HOW}")
    file = Path(path).expanduser()
    secret = file.with_suffix(".secret")
    if file.exists() and not os.path.lexists(secret):
        _check_no_keys(file, secret)
    return Signer(_kept(secret))


def _check_no_keys(file: Path, secret: Path) -> None:
    from service.db.engine import connect
    from service.db.keys import count_keys

    database = connect(f"sqlite:///{file}")
    try:
        count = count_keys(database)
    finally:
        database.close()
    if count:
        raise RefusedError(
            f"{file} holds API keys, and {secret}, the secret that they were made with, is missing: copy it from the"
            f" installation that this database is from, with mode 600, or {_HOW}; if it is lost, set a new"
            f" secret, which revokes these keys"
        )


def _kept(path: Path) -> str:
    try:
        make_folder(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise RefusedError(f"the secret cannot be kept in {path} ({error.strerror}): {_HOW}") from error
    secret = secrets.token_urlsafe(48)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    return secret


def _read(path: Path) -> str:
    """The secret of a file. One that is empty may have been made by another process a moment ago."""
    for _ in range(_GLANCES):
        if secret := _read_once(path):
            return secret
        time.sleep(_GLANCE_SECONDS)
    return ""


def _read_once(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, encoding="utf-8") as file:
            if os.fstat(descriptor).st_mode & 0o077:
                raise RefusedError(f"the secret in {path} may be read by others: chmod 600 it, or {_HOW}")
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RefusedError(f"the secret in {path} cannot be read: mend the file, or {_HOW}") from error
