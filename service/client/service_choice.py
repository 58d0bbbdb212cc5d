"""Which service a command speaks to: one that is named, else the one of this user on this machine."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from service.config import database_url
from service.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from service.client import Client
    from service.config import Settings

SERVER_VARIABLE, KEY_VARIABLE = "EVOLVE_SERVER", "EVOLVE_API_KEY_FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What a command was told of where runs are; None: what environment and settings say.

    Attributes:
        db: a database.
        server: address of a service; empty: none, whatever the settings say.
        key_file: file with a key of the service.
        notice: is told of a service on this machine that is used, or has gone; None: nobody is.
    """

    db: str | None = None
    server: str | None = None
    key_file: Path | None = None
    notice: Callable[[str], None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChoice:
    """A service that a command speaks to.

    Attributes:
        found: whether nobody named it: it is this user's, on this machine.
    """

    url: str
    key: str = field(repr=False)
    found: bool = False

    def client(self) -> "Client":
        """A client of it; nothing is asked of it yet."""
        from service.client import Client

        return Client(self.url, self.key)


def server_of(settings: "Settings", where: SourceOptions) -> str:
    """The address of the service to speak to; empty: none, runs are in a database.

    Raises:
        UsageError: a database and a service are named.
    """
    if where.db is not None:
        if where.server:
            raise UsageError("--db and --server exclude each other: leave out one of them")
        return ""
    if where.server is not None:
        return where.server
    return os.environ.get(SERVER_VARIABLE) or settings.server.url


def choose_service(settings: "Settings", where: SourceOptions, *, said: bool = True) -> ServiceChoice | None:
    """The service to speak to: the one that is named, else the one of this user that serves the database here.

    Args:
        settings: of this installation.
        where: what a command was told.
        said: whether it is said that one was found; that one has gone always is.

    Raises:
        UsageError: a database and a service are named, or the key cannot be used.
        RefusedError: somebody else could have written what was found.
    """
    if server := server_of(settings, where):
        return ServiceChoice(url=server, key=server_key(settings, where))
    if where.db is not None or where.server is not None:
        return None
    from service.client.local_service import find_local_service, forget_ended_service

    database = database_url(settings, None)
    found = find_local_service(database)
    if found is None:
        return None
    if found.outage:
        if where.notice is not None:
            where.notice(f"{found.outage}: continuing without it")
            forget_ended_service(database)  # so that it is said once
        return None
    if said and where.notice is not None:
        where.notice(f"using your service at {found.url} (leave it out with --local)")
    return ServiceChoice(url=found.url, key=found.key, found=True)


@contextmanager
def advising_local(service: ServiceChoice | None) -> Iterator[None]:
    """Where a service that nobody named does not take something, say how to do without it."""
    try:
        yield
    except (UsageError, RefusedError) as error:
        if service is None or not service.found:
            raise
        raise type(error)(f"{error}. Or add --local to leave out your service") from error


def server_key(settings: "Settings", where: SourceOptions) -> str:
    """The key of a service that is named.

    Raises:
        UsageError: none is, or its file holds none.
    """
    from service.client.key_file import key_in

    named = os.environ.get(KEY_VARIABLE)
    path = where.key_file or (Path(named) if named else settings.server.key_file)
    if path is None:
        raise UsageError(
            f"the service needs a key: name its file with --api-key-file FILE, {KEY_VARIABLE} or the setting"
            " server.key_file"
        )
    return key_in(path)
