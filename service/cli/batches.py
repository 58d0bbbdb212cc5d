"""The batches of a service: found, listed and steered."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING

from service.bootstrap.site import Where, open_client, server_of
from service.cli import figures
from service.cli.control import standing
from service.cli.listing import plain_table
from service.cli.records import LAST
from service.cli.terminal import Terminal, plain
from service.config import load_settings
from service.errors import ConflictError, NotFoundError, UsageError
from service.ports import CANCELLED, ENDED, PAUSED, RUNNING

if TYPE_CHECKING:
    from service.client import Client
    from service.schemas.batches import Batch

PAGE = 200
NONE_YET = "the service has no batch yet: evolve batch FILE submits one"


@contextmanager
def open_batches(where: Where) -> Iterator["Client"]:
    """A client of the service that the words name.

    Raises:
        UsageError: they name none, or its key cannot be used.
    """
    settings = load_settings()
    server = server_of(settings, where)
    if not server:
        raise UsageError("a batch is run by a service: name it with --server, or start one here with evolve serve")
    with open_client(settings, where, server) as client:
        yield client


def find_batch(client: "Client", named: str) -> "Batch":
    """A batch by its id, by the beginning of it, or the newest as `last`.

    Raises:
        NotFoundError: no such batch.
    """
    from service.client import calls

    if named != LAST:
        return client.send(calls.get_batch(named))
    newest = client.send(calls.list_batches(limit=1)).items
    if not newest:
        raise NotFoundError(NONE_YET)
    return newest[0]


def list_batches(terminal: Terminal, where: Where, limit: int) -> None:
    """Print batches, newest first."""
    from service.client import calls

    with open_batches(where) as client:
        pages = client.pages(calls.list_batches(limit=min(limit, PAGE)))
        batches = list(islice(chain.from_iterable(page.items for page in pages), limit))
    if terminal.as_json:
        for batch in batches:
            terminal.emit(batch.model_dump(mode="json"))
        return
    if not batches:
        terminal.note(NONE_YET)
        return
    table = plain_table("batch", "name~", "state", "runs>", "ended>", "created")
    for batch in batches:
        table.add_row(
            figures.short(batch.id),
            plain(batch.name),
            batch.state,
            figures.count(sum(batch.states.values())),
            figures.count(_ended(batch)),
            f"{batch.created_at.astimezone():%m-%d %H:%M}",
        )
    terminal.show(table)


def want_batch(terminal: Terminal, where: Where, named: str, desired_state: str) -> None:
    """Want the runs of a batch that have not ended running, paused or cancelled, and say how it stands.

    Raises:
        ConflictError: all of them have ended, or were deleted.
    """
    from service.client import calls

    with open_batches(where) as client:
        batch = find_batch(client, named)
        if not sum(batch.states.values()):
            raise ConflictError(f"batch {batch.id} has no runs any more: submit another with evolve batch")
        if batch.state in ENDED and batch.state != desired_state:
            raise ConflictError(f"batch {batch.id} has ended, it is {batch.state}: submit another with evolve batch")
        want = {RUNNING: calls.resume_batch, PAUSED: calls.pause_batch, CANCELLED: calls.cancel_batch}
        batch = client.send(want[desired_state](batch.id))
    if terminal.as_json:
        terminal.emit(batch.model_dump(mode="json"))
        return
    over = desired_state == CANCELLED and _ended(batch) == sum(batch.states.values())
    terminal.show(standing(batch.id, desired_state if over else batch.state, desired_state))
    terminal.note(states_words(batch))
    terminal.note(f"next: {terminal.command(f'batch {figures.short(batch.id)}')}", style="dim")


def states_words(batch: "Batch") -> str:
    """How many of its runs are in which state."""
    return ", ".join(f"{count} {state}" for state, count in sorted(batch.states.items()) if count)


def _ended(batch: "Batch") -> int:
    return sum(count for state, count in batch.states.items() if state in ENDED)
