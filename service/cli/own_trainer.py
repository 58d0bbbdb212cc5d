"""A trainer in the process of a command that drives runs which train their policies."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

from service.bootstrap.trainers import make_backends, make_trainer

if TYPE_CHECKING:
    from service.cli.terminal import Terminal
    from service.config import Settings
    from service.db.storage import SqlStorage

WAITS = "Updates of the policy wait for a trainer: start evolve trainer where they are, with the same database"


@contextmanager
def trainer_here(
    terminal: "Terminal", settings: "Settings", storage: "SqlStorage", *, wanted: Collection[str]
) -> Iterator[None]:
    """Take training jobs in this process for as long as the block lasts. A job that has not ended is left to others.

    Args:
        terminal: hears that this process cannot train.
        settings: of this installation.
        storage: where jobs wait.
        wanted: back ends of what there is to train.
    """
    backends = make_backends(threads=1)
    for reason in filter(None, [backends[name].missing() for name in wanted]):
        terminal.note(f"{reason}. {WAITS}", style="yellow")
    if not any(not backends[name].missing() for name in wanted):
        yield
        return
    trainer = make_trainer(settings, storage, backends=backends)
    thread = Thread(target=trainer.run, name="trainer")
    thread.start()
    try:
        yield
    finally:
        trainer.leave()
        thread.join()
