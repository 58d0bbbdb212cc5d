"""A trainer in the process of a command that drives runs which train their policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING

from service.bootstrap.trainers import make_backends, make_trainer

if TYPE_CHECKING:
    from service.cli.terminal import Terminal
    from service.config import Settings
    from service.db.storage import SqlStorage

NO_TORCH = (
    "torch is not installed here, so updates of the policy wait for a trainer: start evolve trainer where it is,"
    " with the same database"
)


@contextmanager
def trainer_here(terminal: "Terminal", settings: "Settings", storage: "SqlStorage", *, wanted: bool) -> Iterator[None]:
    """Take training jobs in this process for as long as the block lasts. A job that has not ended is left to others.

    Args:
        terminal: hears that this process cannot train.
        settings: of this installation.
        storage: where jobs wait.
        wanted: whether there is anything to train.
    """
    if wanted and find_spec("torch") is None:
        terminal.note(NO_TORCH, style="yellow")
    if not wanted or find_spec("torch") is None:
        yield
        return
    trainer = make_trainer(settings, storage, backends=make_backends(threads=1))
    thread = Thread(target=trainer.run, name="trainer")
    thread.start()
    try:
        yield
    finally:
        trainer.leave()
        thread.join()
