"""The words of a command as a person types them: its interpreter, its shell, the script that it runs."""

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from service.errors import UsageError
from service.problems.command.command_scorer.process import PYTHON

_PYTHONS = frozenset({"python", "python3"})
_SHELL = re.compile(r"[|&;<>()$`*?~\n]|^\s*\w+=")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_PYTHON_WORD = re.compile(r"((?:^|[|&;(])\s*(?:\w+=\S*\s+)*)python3?(?=\s)")
_SEPARATORS = frozenset("|&;<>()")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWords:
    """A command.

    Attributes:
        argv: what is started; `{python}` stands for the interpreter.
        tokens: every word that a person typed, those of a shell's text too.
        python: the interpreter that the word `python` meant where it was typed; empty: the one that runs Evolve.
    """

    argv: tuple[str, ...]
    tokens: tuple[str, ...]
    python: str = ""


def read_command(text: str) -> CommandWords:
    """A command line; one with pipes, redirections or variables is the text of a shell, whose pipes fail as a whole.

    Raises:
        UsageError: it is empty, its quotes do not pair up, or it needs a bash that is not there.
    """
    try:
        words = shlex.split(text)
        tokens = list(shlex.shlex(text, posix=True, punctuation_chars=True))
    except ValueError as error:
        raise UsageError(f"--command {text[:80]!r} cannot be read: {error}") from error
    if not words:
        raise UsageError('--command is empty: name a command, such as --command "python bench.py"')
    python = next((token for token in tokens if token in _PYTHONS), "")
    if _SHELL.search(_QUOTED.sub("", text)):
        if shutil.which("bash") is None:
            raise UsageError("--command holds signs of a shell, and bash is not installed: write them into a script")
        argv = ["bash", "-o", "pipefail", "-c", _PYTHON_WORD.sub(rf"\1{PYTHON}", text)]
    else:
        argv = [PYTHON, *words[1:]] if words[0] in _PYTHONS else words
    plain = tuple(token for token in tokens if not set(token) <= _SEPARATORS)
    return CommandWords(argv=tuple(argv), tokens=plain, python=_interpreter(python))


def script_arguments(argv: Sequence[str], script: str) -> tuple[str, ...]:
    """The words after a script in the command that runs it."""
    words = argv if argv[0] != "bash" else ()
    return tuple(words[words.index(script) + 1 :]) if script in words else ()


def _interpreter(word: str) -> str:
    """The interpreter that a word means on this machine; empty: the one that runs Evolve, or none that is found."""
    found = shutil.which(word) if word else None
    if found is None or Path(found).absolute().parent == Path(sys.executable).absolute().parent:
        return ""
    return str(Path(found).absolute())
