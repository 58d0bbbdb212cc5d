"""The batches of a database or a service: found, listed and steered."""

from typing import TYPE_CHECKING

from service.bootstrap.sites import open_batches
from service.cli import formatting
from service.cli.control import standing
from service.cli.listing import plain_table
from service.cli.records import LAST
from service.cli.terminal import Terminal, plain
from service.client.service_choice import SourceOptions
from service.config import load_settings
from service.errors import ConflictError, NotFoundError
from service.ports import CANCELLED, ENDED
from service.usecases.batches import Batches

if TYPE_CHECKING:
    from service.schemas.batches import Batch

NONE_YET = "there is no batch yet: make one with evolve batch FILE"


def find_batch(batches: Batches, named: str) -> "Batch":
    """A batch by its id, by the beginning of it, or the newest as `last`.

    Raises:
        NotFoundError: no such batch.
    """
    if named != LAST:
        return batches.get(named)
    newest = batches.batches(1)
    if not newest:
        raise NotFoundError(NONE_YET)
    return newest[0]


def whole_id(where: SourceOptions, named: str) -> str:
    """The whole id of a batch.

    Raises:
        NotFoundError: no such batch.
    """
    with open_batches(load_settings(), where) as site:
        return find_batch(site.batches, named).id


def list_batches(terminal: Terminal, where: SourceOptions, limit: int) -> None:
    """Print batches, newest first."""
    with open_batches(load_settings(), where) as site:
        batches = site.batches.batches(limit)
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
            formatting.short(batch.id),
            plain(batch.name),
            batch.state,
            formatting.count(sum(batch.states.values())),
            formatting.count(_ended(batch)),
            f"{batch.created_at.astimezone():%m-%d %H:%M}",
        )
    terminal.show(table)


def want_batch(terminal: Terminal, where: SourceOptions, named: str, desired_state: str) -> None:
    """Want the runs of a batch that have not ended running, paused or cancelled, and say how it stands.

    Raises:
        ConflictError: all of them have ended, or were deleted.
    """
    with open_batches(load_settings(), where) as site:
        batch = find_batch(site.batches, named)
        if not sum(batch.states.values()):
            raise ConflictError(f"batch {batch.id} has no runs left: submit another with evolve batch")
        if batch.state in ENDED and batch.state != desired_state:
            raise ConflictError(f"batch {batch.id} has ended, it is {batch.state}: submit another with evolve batch")
        batch = site.batches.want(batch.id, desired_state)
    if terminal.as_json:
        terminal.emit(batch.model_dump(mode="json"))
        return
    over = desired_state == CANCELLED and _ended(batch) == sum(batch.states.values())
    terminal.show(standing(batch.id, desired_state if over else batch.state, desired_state))
    terminal.note(states_words(batch))
    terminal.note(f"next: {terminal.command(f'batch {formatting.short(batch.id)}')}", style="dim")


def states_words(batch: "Batch") -> str:
    """How many of its runs are in which state."""
    return ", ".join(f"{count} {state}" for state, count in sorted(batch.states.items()) if count)


def _ended(batch: "Batch") -> int:
    return sum(count for state, count in batch.states.items() if state in ENDED)
