"""One sentence about an exception, for a reader who can mend the program: type, message, line."""

import os
import sys
import traceback
from types import ModuleType

from . import visible_files

_MAX_REASON = 300
_MAX_FRAMES = 12
# What the packages of the shim say of themselves.
_STAND_IN = "STAND_IN"


class ComplaintError(Exception):
    """A program that is not what the problem needs; its text is the whole explanation."""


def explain(error: BaseException, folder: str) -> str:
    """What was raised, with the deepest line below `folder`, and what would have shown a file or a name not found."""
    if isinstance(error, SystemExit):
        what = f"it called sys.exit({error.code!r})"
    elif isinstance(error, ComplaintError):
        return _line(str(error))
    else:
        what = _what(error)
    hint = visible_files.hint(error)
    if package := _replaced(error):
        hint = (
            f"it is not among the names of {package} that Evolve replaces, so name an interpreter that has the package"
            " with --python"
        )
    return f"{what}{_place(error, folder)}" + (f": {hint}" if hint else "")


def stack(error: BaseException, folder: str) -> str:
    """The lines below `folder` that an exception went through, the deepest last, each with its text; bounded."""
    if isinstance(error, SystemExit | ComplaintError):
        return ""
    try:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__, limit=-64)
            if frame.filename.startswith(folder + os.sep)
        ]
        lines = [f"  {_name(frame.filename, folder)}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames]
    except Exception:  # noqa: BLE001 - whatever the frames are made of is the program's own
        return ""
    return "\n".join([*lines[-_MAX_FRAMES:], _what(error), ""]) if lines else ""


def is_memory(error: BaseException) -> bool:
    """Whether the exception says that memory ran out."""
    return isinstance(error, MemoryError)


def _what(error: BaseException) -> str:
    text = _text(error)
    if _replaced(error) and isinstance(error, ImportError):
        text = text.removesuffix(f" ({error.path})")  # it would name a file of Evolve
    return _line(f"{type(error).__name__}: {text}".removesuffix(": "))


def _replaced(error: BaseException) -> str:
    """The package of whose stand-in an import wants a name that it does not have; empty: the error is another."""
    if type(error) is not ImportError or not isinstance(error.name, str) or not isinstance(error.path, str):
        return ""
    package = error.name.partition(".")[0]
    module = sys.modules.get(package)
    if type(module) is not ModuleType or vars(module).get(_STAND_IN) is not True:
        return ""
    return package if error.path.startswith(os.path.dirname(str(module.__file__)) + os.sep) else ""


def _text(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - the exception's text is the program's own code and may raise anything
        return "an exception whose text raises another"


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_REASON else text[: _MAX_REASON - 3] + "..."


def _place(error: BaseException, folder: str) -> str:
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" (line {error.lineno} of {_name(error.filename, folder)})"
    frames = traceback.extract_tb(error.__traceback__, limit=-64)
    for frame in reversed(frames):
        if frame.filename.startswith(folder + os.sep):
            where = "" if frame.name == "<module>" else f", in {frame.name}"
            return f" (line {frame.lineno} of {_name(frame.filename, folder)}{where})"
    return ""


def _name(path: str, folder: str) -> str:
    return os.path.relpath(path, folder) if path.startswith(folder + os.sep) else os.path.basename(path)
