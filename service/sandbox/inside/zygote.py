"""The zygote: a warm interpreter, its modules loaded once, from which keepers are forked. It runs no problem's code.

The superuser's zygote would be a prize: it holds no secret, reads orders from its parent alone, and compiles a
problem's files without running them.
"""

import contextlib
import gc
import importlib
import os
import py_compile
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any

from . import keeper, kernel, loopback, namespaces, process_state, tree, wipe
from .channel import FAREWELL, Channel, ChannelError
from .forked_call import in_child
from .sandbox_spec import SandboxSpec, interpreter_paths
from .trampoline import LeaveFrames

# The caller's may close what we make to the users that programs run as.
_UMASK = 0o022
# An order brings a descriptor.
_OF_AN_ORDER = "descriptors"


def main(descriptor: int, folder: str) -> None:
    """Serve the host at the other end of the socket until it takes its leave; if it died, clear its folder away.

    Args:
        descriptor: of the socket.
        folder: of the host; empty: it is not ours to clear.

    Raises:
        LeaveFrames: in a new keeper, and in what it forks.
    """
    control = Channel(socket.socket(fileno=descriptor))
    os.umask(_UMASK)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.dont_write_bytecode = True
    died = False
    with contextlib.suppress(OSError):  # of this process alone: the host sees it gone, and needs its folder
        died = _died(control)
    tree.end_adopted()
    if died and folder:
        wipe.remove(folder)


def _died(control: Channel) -> bool:
    """Serve the host; whether it died.

    A line that ends without a farewell says so. Our parent does not: a process that dies closes its files first, and
    for as long as nobody lets it go on dying, which on a busy machine is long, it still is our parent.
    """
    try:
        orders = control.receive()
        if orders is None:
            return True
        complaint = _warm_up(orders)
        control.send({"failed": complaint} if complaint else {"python": sys.version.split()[0]})
        gc.collect()
        gc.freeze()
        return not _serve(control)
    except (ConnectionError, ChannelError):
        return True


def _warm_up(orders: dict[str, Any]) -> str:
    """Load and compile what every evaluation needs; a sentence when something is missing."""
    if orders["tree"] and kernel.LINUX:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    sys.path[:] = [entry for entry in sys.path if _within(entry, [*interpreter_paths(), "/usr"])]
    complaint = _preload(orders["preload"], orders["library"])
    if complaint:
        return complaint
    with contextlib.suppress(ImportError):  # children need a way to start that asks for no socket
        import multiprocessing

        multiprocessing.set_start_method("fork")
    _compile(orders["compile"])
    return ""


def _compile(paths: Sequence[str]) -> None:
    """Compile the problem's files in a child: every program inherits our memory, where their text would stay."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    try:
        for path in paths:
            with contextlib.suppress(py_compile.PyCompileError, OSError, ValueError, RecursionError):
                py_compile.compile(path, doraise=True, quiet=2)
    finally:
        os._exit(0)


def _preload(modules: Sequence[str], library: str) -> str:
    """Import modules; the folder of the library, which may be a checkout, is on nobody's path afterwards."""
    kept = list(sys.path)
    sys.path += [library] if library else []
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - a module may raise anything while it loads
            return f"preload: {module} cannot be imported by {sys.executable}: {type(error).__name__}: {error}"
    sys.path[:] = kept
    return ""


def _serve(control: Channel) -> bool:
    """Make keepers until the line ends or this process changed; whether the host lives on."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    birth = process_state.capture()
    while True:
        order, descriptors = control.receive_with_descriptors(1)
        if order is None:
            return False
        if order == FAREWELL:
            return True
        if set(process_state.changes(birth)) - {_OF_AN_ORDER}:  # keepers would inherit it: the host starts another
            return True
        if "exit" in order:  # in a container, of which we are the first process: all others end with us
            os._exit(1)
        if "await" in order:
            _tell_end(control, order["await"], descriptors[0])
            continue
        if order["sweep"]:
            tree.end_adopted(order["alive"])
        if os.fork() == 0:
            control.socket.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            raise LeaveFrames(partial(_give_birth, socket.socket(fileno=descriptors[0]), SandboxSpec(**order["cell"])))
        os.close(descriptors[0])


def _tell_end(control: Channel, pid: int, descriptor: int) -> None:
    """Have a child hold a descriptor until a process has ended, or until the host closes the other end."""
    if os.fork() == 0:
        try:
            control.socket.close()
            handle = os.pidfd_open(pid)
            select.select([handle, descriptor], [], [])
        finally:
            os._exit(0)
    os.close(descriptor)


def _give_birth(line: socket.socket, cell: SandboxSpec) -> None:
    """In a child: become a keeper, in namespaces of whose processes its fork server is the first."""
    try:
        unavailable = _complaint_about_namespaces(cell)
        if not unavailable:
            namespaces.enter(network=_shares_network(cell))
        _offer_egress(cell, unavailable)
        keeper.main(line, cell, unavailable)
    except LeaveFrames:
        raise
    except BaseException:  # noqa: BLE001 - the host finds it in the log, and this child must not go on as a zygote
        traceback.print_exc()
    os._exit(0)


def _shares_network(cell: SandboxSpec) -> bool:
    return cell.network and not cell.egress


def _offer_egress(cell: SandboxSpec, unavailable: str) -> None:
    """Make the one way out of the network.

    Raises:
        OSError: there are no namespaces, so that programs would have the host's network.
    """
    if cell.egress and unavailable:
        raise OSError(f"network access through a proxy alone needs network namespaces: {unavailable}")
    if cell.egress:
        loopback.offer(cell.egress)


def _complaint_about_namespaces(cell: SandboxSpec) -> str:
    """Whether namespaces can be entered, tried by a child: who gets half-way in cannot come back."""
    if not cell.namespaces:
        return "switched off"
    complaint: str | None = in_child(lambda: _entered(cell))
    return "the child trying them died" if complaint is None else complaint


def _entered(cell: SandboxSpec) -> str:
    """Enter namespaces; why that failed, or nothing."""
    try:
        namespaces.enter(network=_shares_network(cell))
    except OSError as error:
        return str(error)
    return ""


def _within(entry: str, folders: Sequence[str]) -> bool:
    path = os.path.abspath(entry)
    return bool(entry) and any(path == folder or path.startswith(folder + os.sep) for folder in folders)
