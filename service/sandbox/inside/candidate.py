"""In the child that runs a program: calls its entry, or its command, for one input after the other."""

import contextlib
import errno
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Any

from . import import_times
from .channel import Channel
from .error_report import ComplaintError, explain, is_memory, stack
from .jsonable import NotJsonError, jsonable
from .sandbox_spec import ChildSpec

Call = Callable[[Any], Any]
_PYTHON = "{python}"
_MAX_SAID = 4000
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_PAGE_KB = 4
_OF_PATHS = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
_UNSENDABLE = "the program returned more than its memory has room to pass on"


class UnfitError(Exception):
    """A program that cannot be written down in any sandbox with these limits; its text says why."""


def write_program(files: Mapping[str, str], folder: str, disk_kb: int) -> None:
    """Write a program's files below a folder.

    Raises:
        UnfitError: they exceed the disk limit, or their paths exclude one another.
        OSError: the sandbox does not take them, though it should.
    """
    size_kb = sum(_PAGE_KB + len(text) // 1024 for text in files.values())
    if size_kb > disk_kb:
        raise UnfitError(f"the program's files take {size_kb} KB, more than limits.disk_mb allows")
    os.makedirs(folder, exist_ok=True)
    for path, text in files.items():
        target = os.path.join(folder, path)
        try:
            if "/" in path:
                os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(text.encode())
        except OSError as error:
            if error.errno in _OF_PATHS:
                raise UnfitError(f"the program's file {path!r} cannot be written: {error.strerror}") from error
            raise


def load(path: str, folder: str, source: str | None = None) -> Any:
    """Import a file as a module of its own name, with `folder` first on the path.

    Its source, where it is at hand, spares the search for a compiled one.
    """
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{os.path.basename(path)} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if source is None or not path.endswith(".py"):
        spec.loader.exec_module(module)
    else:
        exec(compile(source.encode(), path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what we are for
    return module


def prepare(task: Mapping[str, Any], place: ChildSpec) -> str:
    """Write the program down and go to its folder, which is returned.

    Raises:
        UnfitError: the program's files cannot be written with these limits.
        OSError: the sandbox fails.
    """
    folder = os.path.join(place["scratch"], "program")
    write_program(task["files"], folder, place["disk_kb"])
    os.chdir(folder)
    return folder


def perform(channel: Channel, task: Mapping[str, Any], folder: str) -> None:
    """Answer the keeper's inputs with `{"value"}` or `{"error"}`, in its order; it keeps the time."""
    times = import_times.taken(folder) if task.get("traced") else {}
    try:
        call = _entry(task, folder) if task["entry"] else _command(task["command"], task["build"], folder)
    except BaseException as error:  # noqa: BLE001 - a program may raise anything, and sys.exit is one of them
        channel.send(failure(error, folder))
        return
    channel.send({"ready": True, "imports": times})
    while (message := channel.receive()) is not None:
        answer = _answer(call, message, folder)
        if times:
            answer["imports"] = times
        flush()
        try:
            channel.send(answer)
        except MemoryError:  # raised before a byte of it was sent: a frame is made whole first
            channel.send({"failed": _UNSENDABLE, "outcome": "memory"})


def failure(error: BaseException, folder: str, what: str = "") -> dict[str, str]:
    """The frame that ends a conversation: why there is nothing to go on with."""
    outcome = "memory" if is_memory(error) else "error"
    with contextlib.suppress(Exception):
        sys.stderr.write(stack(error, folder))
        sys.stderr.flush()
    return {"failed": what + explain(error, folder), "outcome": outcome}


def flush() -> None:
    """Hand on what was printed; the process may be ended at any moment."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _entry(task: Mapping[str, Any], folder: str) -> Call:
    sys.argv = [task["main"]]
    module = load(os.path.join(folder, task["main"]), folder, task["files"][task["main"]])
    function = getattr(module, task["entry"], None)
    if not callable(function):
        raise ComplaintError(f"the program defines no function {task['entry']}")

    def call(message: Any) -> Any:
        if "input" not in message:
            return function()
        given = message["input"]
        return _spread(function, given) if isinstance(given, list) else function(given)

    return call


def _spread(function: Callable[..., Any], given: list[Any]) -> Any:
    """Call a function with a list of arguments; where it takes another number of them, say how a list stays one."""
    try:
        return function(*given)
    except TypeError as error:
        inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        if inside or _takes(function, len(given)):
            raise
        raise ComplaintError(
            f"{type(error).__name__}: {error}: an input that is a list is spread over the arguments, and this one has"
            f" {len(given)} entries; for one argument that is a list, inputs() returns [[...]] instead of [...]"
        ) from error


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # written in C, and silent about its arguments
        return True
    return True


def _command(command: Sequence[str], build: Sequence[str], folder: str) -> Call:
    if build:
        _build(build, folder)

    def call(message: Any) -> Any:
        given = json.dumps(message["input"]) if "input" in message else ""
        done = _run(command, folder, given, "command")
        sys.stderr.write(done.stderr)
        if done.returncode != 0:
            raise ComplaintError(f"the command ended with status {done.returncode}: {done.stderr.strip()[-200:]}")
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            raise ComplaintError(f"the command printed no JSON value: {done.stdout.strip()[:100]!r}") from error

    return call


def _build(words: Sequence[str], folder: str) -> None:
    """Prepare the program once for all its inputs; what the compiler says of it is the reason why that failed."""
    done = _run(words, folder, "", "build")
    said = (done.stderr.strip() or done.stdout.strip())[:_MAX_SAID]
    sys.stderr.write(f"{said}\n" if said else "")
    if done.returncode != 0:
        at = _ERROR.search(said)
        line = said.rfind("\n", 0, at.start()) + 1 if at else 0
        raise ComplaintError(f"the build ended with status {done.returncode}: {said[line:] or 'it printed nothing'}")


def _run(words: Sequence[str], folder: str, given: str, key: str) -> subprocess.CompletedProcess[str]:
    words = [word.replace(_PYTHON, sys.executable if word == _PYTHON else quote(sys.executable)) for word in words]
    try:
        return subprocess.run(
            words, input=given, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
    except (FileNotFoundError, PermissionError) as error:
        raise ComplaintError(
            f"the {key} {words[0]!r} cannot be started: install it under /usr, where the sandbox finds programs,"
            f" name its folder in evaluator.path, or name another one in evaluator.{key}"
        ) from error


def _answer(call: Call, message: Any, folder: str) -> dict[str, Any]:
    try:
        return {"value": jsonable(call(message))}
    except NotJsonError as error:
        return {"error": f"what it returned cannot be used: {error}"}
    except BaseException as error:  # noqa: BLE001 - a program may raise anything, and sys.exit is one of them
        if is_memory(error):
            return failure(error, folder)
        with contextlib.suppress(Exception):
            sys.stderr.write(stack(error, folder))
        return {"error": explain(error, folder)}
