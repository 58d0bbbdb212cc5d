"""The fork server of a cell: forks its children, ends them, and reads nothing of what they are given or return.

It is the first process of its namespace. Programs inherit its memory, so that no other program may have left anything
there: the keeper, which speaks with the children, is none of their ancestors.
"""

import contextlib
import gc
import os
import resource
import select
import socket
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from . import attacks, child, kernel, process_state, tree
from .channel import Channel, ChannelError
from .confinement import Confinement
from .sandbox_spec import ROOMS, SandboxSpec
from .trampoline import LeaveFrames

TICK_SECONDS = 0.05
Order = Mapping[str, Any]


def main(line: socket.socket, cell: SandboxSpec, unavailable: str) -> None:
    """Serve the keeper until the line is closed, and leave no process and no file.

    Raises:
        LeaveFrames: in a new child.
    """
    try:
        server = ForkServer(Channel(line), Confinement(cell, unavailable))
        with contextlib.suppress(OSError, ChannelError):
            server.serve()
        server.close()
    except Exception:  # noqa: BLE001 - the host finds it in the log
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


class ForkServer:
    """Has at most one child at work, and whatever that starts.

    A child waits for its order. Where that is safe, the next is forked while the one before it ends.
    """

    def __init__(self, line: Channel, confinement: Confinement) -> None:
        self._line = line
        # Children take it with them: theirs is gone before a program runs.
        self._held = [confinement]
        if kernel.LINUX:
            kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
            if confinement.adopts:
                kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        self._handing, self._waiting = map(Channel, socket.socketpair())
        self._birth = process_state.capture()
        self._changes: list[str] | None = None
        self._compares = False
        self._next, self._child, self._handle = 0, 0, -1
        self._poll = select.poll()
        self._poll.register(line.socket.fileno(), select.POLLIN)

    def serve(self) -> None:
        """Obey until the line is closed.

        Raises:
            LeaveFrames: in a new child.
            OSError, ChannelError: the line broke.
        """
        self._tell(self._held[0].found)
        gc.collect()
        gc.freeze()
        gc.disable()
        while True:
            self._await_order()
            order, descriptors = self._line.receive_with_descriptors(child.DESCRIPTORS)
            if order is None:
                return
            do: Callable[[Order, list[int]], None] = getattr(self, f"_{order['do']}")
            do(order, descriptors)

    def close(self) -> None:
        """End every process, and remove every file."""
        with contextlib.suppress(OSError):
            self._end_all()
        for role in ROOMS:
            with contextlib.suppress(OSError):
                self._held[0].clear(role)

    def _tell(self, said: Mapping[str, Any]) -> None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._line.send({**said, "collected_seconds": used.ru_utime + used.ru_stime})

    def _await_order(self) -> None:
        """Wait for the next order, and collect what ends meanwhile."""
        line = self._line.socket.fileno()
        while self._child:
            events = dict(self._poll.poll(TICK_SECONDS * 1000))
            if line in events:
                return
            if self._handle in events:
                self._forget_handle()
            tree.reap(self._note)

    def _note(self, pid: int, status: int) -> None:
        if pid == self._child:
            self._tell({"status": status})

    def _fork(self, order: Order, descriptors: list[int]) -> None:
        """Hand an order to the next child, and watch it."""
        try:
            self._hand_over(order, descriptors)
            self._compare()
            self._watch()
        except OSError as error:
            self._tell({"failed": f"no process can be started: {error}"})

    def _hand_over(self, order: Order, descriptors: list[int]) -> None:
        try:
            self._child, self._next = self._next or self._fork_next(), 0
            self._handing.send_with_descriptors(order, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _compare(self) -> None:
        """Note what changed of us, where that was ordered. A scorer works meanwhile, and so does not wait for it."""
        if self._compares:
            self._compares = False
            self._changes = process_state.changes(self._birth)

    def _fork_next(self) -> int:
        pid = os.fork()
        if pid == 0:
            raise LeaveFrames(partial(child.live, self._held, self._waiting, self))
        return pid

    def _watch(self) -> None:
        if hasattr(os, "pidfd_open"):
            self._handle = os.pidfd_open(self._child)
            self._poll.register(self._handle, select.POLLIN)

    def _forget_handle(self) -> None:
        if self._handle >= 0:
            self._poll.unregister(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _end(self, order: Order, _: list[int]) -> None:
        """End the child and everything below, and empty the scratch of its role."""
        try:
            self._end_all(self._fork_next)
            renewed = self._held[0].clear(order["role"])
            if renewed and self._next:  # it has the layers of before
                tree.end_child(self._next)
                self._next = 0
        except OSError as error:
            self._tell({"failed": str(error)})
            return
        changes, self._changes = self._changes, None
        self._tell({"ended": True, "changes": changes})
        self._compares = order["compare"]

    def _end_all(self, meanwhile: Callable[[], int] | None = None) -> None:
        self._forget_handle()
        ended, self._child = self._child, 0
        confinement = self._held[0]
        if confinement.own_proc and meanwhile is not None:
            self._next = tree.end_namespace_but(meanwhile)
        elif confinement.inside:
            tree.end_namespace()
        elif confinement.adopts:
            if ended:
                tree.end_group(ended)
            if confinement.user > 0:
                tree.end_user(confinement.user)
            tree.end_adopted()
        elif ended:
            tree.end_group(ended)
            tree.await_group(ended)

    def _report(self, _: Order, __: list[int]) -> None:
        """Tell what the last comparison found: what changed of us, children inherit."""
        self._compare()
        changes, self._changes = self._changes, None
        self._tell({"changes": changes})

    def _outlived(self, order: Order, _: list[int]) -> None:
        self._tell({"outlived": attacks.outlived(order["daemon"])})
