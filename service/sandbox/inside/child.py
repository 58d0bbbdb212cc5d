"""The child that runs a program or an evaluator: puts the layers on, takes its order, works, and never comes back.

It may be forked before its order comes. It then applies the layers that are the same for every order while it waits.
"""

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import attacks, canary, candidate, scoring, session
from .channel import STARTED, Channel
from .confinement import Confinement
from .sandbox_spec import ChildSpec
from .seeding import seed_everything

# What comes with an order: the stream, and where to print to.
DESCRIPTORS = 2
Task = Mapping[str, Any]
Prepare = Callable[[Task, ChildSpec], Any]
Work = Callable[[Channel, Task, Any], None]


def live(held: list[Confinement], waiting: Channel, _: object) -> None:
    """In the child: apply the common layers, take the order, apply those of its role, take the task, and work.

    Args:
        held: the layers; the list is emptied before the task is taken.
        waiting: where the order comes from. With it come the stream of the task and the answers, and where to print to.
        _: what is not let go of: for nearly each object that is, a page of memory is copied.
    """
    try:
        failure = _apply_common_layers(held[0])
        order, (stream, prints) = waiting.receive_with_descriptors(DESCRIPTORS)
        channel = Channel(socket.socket(fileno=stream))
        try:
            if failure is not None:
                raise failure
            os.dup2(prints, 1)
            os.dup2(prints, 2)
            held.pop().apply_role(order["role"], stream, order["cpu_seconds"])
            order = channel.receive()
            task = order["task"]
            seed_everything(task["seed"])
            prepare, work = _WORK[order["work"]]
            _open_imports(order["place"]["imports"])
            prepared = prepare(task, order["place"])
            del order
        except Exception as error:  # noqa: BLE001 - whatever fails here, the program has not begun
            channel.send(_unstarted(error))
            os._exit(1)
        gc.enable()
        channel.send(STARTED)
        work(channel, task, prepared)
    except BaseException:  # noqa: BLE001 - whatever happens, the child must not go on as a second fork server
        os._exit(1)
    finally:
        os._exit(0)


def _open_imports(folder: str) -> None:
    """Let the child and its processes import modules from a folder, after all others."""
    if folder:
        sys.path.append(folder)
        os.environ["PYTHONPATH"] = folder


def _apply_common_layers(confinement: Confinement) -> Exception | None:
    """Take the child to a session of its own, with every layer that no order changes.

    Returns:
        Why that failed. The keeper can be told once the order brings the stream.
    """
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        confinement.apply_common()
    except Exception as error:  # noqa: BLE001 - whatever fails here, the program has not begun
        return error
    return None


def _unstarted(error: Exception) -> dict[str, str]:
    """The frame that says why a child does not start; only size and paths of its files are the program's fault."""
    if isinstance(error, candidate.UnfitError):
        return {"failed": str(error), "outcome": "error"}
    if isinstance(error, MemoryError):
        return {"failed": "limits.memory_mb leaves no room to start it", "outcome": "memory"}
    return {"failed": f"the sandbox could not start it: {type(error).__name__}: {error}", "outcome": "lost"}


def _prepare_nothing(_: Task, __: ChildSpec) -> None:
    return None


# What the keeper may order a child to do.
_WORK: Mapping[str, tuple[Prepare, Work]] = {
    "perform": (candidate.prepare, candidate.perform),
    "score": (scoring.read_only, scoring.score),
    "evaluate": (scoring.prepare, scoring.evaluate),
    "setup": (scoring.prepare, scoring.setup),
    "inputs": (scoring.read_only, scoring.inputs),
    "session": (session.prepare, session.run),
    "attack": (_prepare_nothing, attacks.attempt),
    "crowd": (_prepare_nothing, attacks.crowd),
    "canary": (canary.prepare, canary.score),
}
