"""The service that this user runs on this machine: it leaves a file by which commands find it and have it prove itself.

A file for each database lies in a folder of this user alone. It holds an address of this machine, a key that lives as
long as the process, and the name of the process, by which a dead one is told.
"""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from service.errors import RefusedError
from service.keys import identity_proof, well_formed
from service.process.identity import boot, is_gone, this_process
from service.user_folders import data_home

FOLDER = "services"
MAX_BYTES = 4096
ANSWER_SECONDS = 5.0
CURE = "remove it, or add --local or --server URL"
_KEYS = ("url", "key", "process")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalService:
    """A service of this user on this machine.

    Attributes:
        key: opens it; worthless when its process has ended.
        absence: why it cannot be spoken to, as a sentence for people; empty: it has proved to be the one.
    """

    url: str
    key: str = field(repr=False)
    outage: str = ""


class AnnouncedKey(Protocol):
    """The key that a service has for commands of its user, with the address that it is for."""

    @property
    def url(self) -> str:
        """Where the service listens."""

    @property
    def text(self) -> str:
        """The key."""


@contextmanager
def announced(database: str, key: AnnouncedKey) -> Iterator[str]:
    """Have commands of this user find a service for as long as the block lasts; why they cannot, or an empty text.

    Where another living service of this user serves the same database, that one stays the one that is found.
    """
    entry = json.dumps({"url": key.url, "key": key.text, "process": this_process()}, sort_keys=True)
    try:
        reason = "" if _write(database, entry) else "commands use your other service on this database"
    except (OSError, RuntimeError, RefusedError) as error:  # it serves all the same
        reason = str(error)
    try:
        yield reason
    finally:
        with suppress(OSError, RuntimeError, RefusedError):
            _remove(database, entry)


def find_local_service(database: str) -> LocalService | None:
    """The service of this user on this machine that serves a database; None: there is none.

    Args:
        database: its URL.

    Raises:
        RefusedError: somebody else could have written the file, or it holds something else.
    """
    try:
        text = _read(database)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, RuntimeError) as error:
        raise RefusedError(f"the file of your service {_path(database)} cannot be read ({error}): {CURE}") from error
    entry = _parsed(text, database)
    found = LocalService(url=entry["url"], key=entry["key"])
    if is_gone(entry["process"]):
        return LocalService(url=found.url, key="", outage=f"your service at {found.url} was killed")
    if not _proves_itself(found):
        return LocalService(
            url=found.url, key="", outage=f"your service at {found.url} does not answer with the right identity"
        )
    return found


def forget_ended_service(database: str) -> None:
    """Remove the file of a service whose process has ended."""
    with suppress(OSError, RuntimeError, RefusedError):
        text = _read(database)
        if is_gone(_parsed(text, database)["process"]):
            _remove(database, text)


def _proves_itself(found: LocalService) -> bool:
    """Whether what listens at the address knows the key, which it is not shown for that."""
    import httpx

    challenge = secrets.token_hex(32)
    try:
        # A proxy that the environment names would come between.
        with httpx.Client(trust_env=False, follow_redirects=False, timeout=ANSWER_SECONDS) as client:
            answer = client.get(f"{found.url}/identity", params={"challenge": challenge})
            proof = answer.json().get("proof") if answer.status_code == httpx.codes.OK else None
    except (httpx.HTTPError, ValueError, AttributeError):
        return False
    right = identity_proof(found.key, found.url, challenge)
    return isinstance(proof, str) and secrets.compare_digest(proof.encode("utf-8", "replace"), right.encode())


def _parsed(text: str, database: str) -> dict[str, str]:
    try:
        entry: Any = json.loads(text)
    except ValueError:
        entry = None
    values = {key: entry.get(key) for key in _KEYS} if isinstance(entry, dict) else {}
    found = {key: value for key, value in values.items() if isinstance(value, str)}
    if len(found) < len(_KEYS) or not _local(found["url"]) or not well_formed(found["key"]):
        raise RefusedError(f"{_path(database)} is not the file of a service on this machine: {CURE}")
    return found


def _local(url: str) -> bool:
    from service.client.address import checked_address
    from service.errors import UsageError

    try:
        return checked_address(url, allow_http=False).scheme == "http"  # which is refused to all but this machine
    except UsageError:
        return False


def _write(database: str, text: str) -> bool:
    """Put the file into its place as a whole; whether it is there: not where a living service has its own."""
    folder = _folder_path()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    with _folder() as descriptor:
        name, fresh = _name(database), f".{secrets.token_hex(8)}"
        with suppress(OSError, RefusedError, ValueError):
            if not is_gone(_parsed(_content(descriptor, name, database), database)["process"]):
                return False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(fresh, flags, 0o600, dir_fd=descriptor), "w", encoding="ascii") as file:
            file.write(text)
        os.replace(fresh, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
    return True


def _read(database: str) -> str:
    with _folder() as descriptor:
        return _content(descriptor, _name(database), database)


def _remove(database: str, text: str) -> None:
    """Remove the file, if it still is the one with this text."""
    with _folder() as descriptor:
        if _content(descriptor, _name(database), database) == text:
            os.unlink(_name(database), dir_fd=descriptor)


@contextmanager
def _folder() -> Iterator[int]:
    """The folder, open, where it is this user's alone."""
    path = _folder_path()
    refused = RefusedError(f"{path} is not a folder of yours alone, of mode 0700 and without a link: {CURE}")
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise refused
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not _private(os.fstat(descriptor), stat.S_ISDIR):
            raise refused
        yield descriptor
    finally:
        os.close(descriptor)


def _content(folder: int, name: str, database: str) -> str:
    """The text of a file, where it is this user's alone."""
    # Without blocking: a pipe of that name would have the command wait for somebody to write.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    refused = RefusedError(f"{_path(database)} is not a file of yours alone, of mode 0600 and without a link: {CURE}")
    if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise refused
    with open(os.open(name, flags, dir_fd=folder), "rb") as file:
        found = os.fstat(file.fileno())
        if not _private(found, stat.S_ISREG) or found.st_nlink != 1 or found.st_size > MAX_BYTES:
            raise refused
        return file.read(MAX_BYTES).decode("ascii", "replace")


def _private(found: os.stat_result, kind: Any) -> bool:
    """Whether something is of a kind, this user's own, and of no access for anybody else."""
    return bool(kind(found.st_mode)) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _path(database: str) -> Path:
    return _folder_path() / _name(database)


def _folder_path() -> Path:
    return data_home() / "evolve" / FOLDER


def _name(database: str) -> str:
    """The file of a database on this machine, whose folder others may share over a network."""
    scheme, _, path = database.partition(":///")
    place = str(Path(path).expanduser().resolve()) if scheme == "sqlite" else path or database
    return f"{hashlib.sha256(json.dumps([boot(), scheme, place]).encode()).hexdigest()[:32]}.json"
