"""Runtimes: how programs of a language are prepared and run, built in or brought by a user.

A runtime gives words of commands. The sandbox starts them; the runtime itself sees no program.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Protocol

from evolve.errors import ExtensionError
from evolve.extensions import Extension, ExtensionKind, Extensions, guarded
from evolve.problem import Problem
from evolve.program import Program

PYTHON = "{python}"  # stands for the interpreter of the evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeContext:
    """What a runtime decides by.

    Attributes:
        main: path of the file that is run, in the program's folder.
        language: of the programs, as the problem says.
    """

    main: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeCommand:
    """How a program is prepared and run, in its folder and in the sandbox.

    Attributes:
        command: argv that runs the program, JSON in, JSON out; the word `{python}` stands for the interpreter of the
            evaluation.
        build: argv that prepares the program, once for all its inputs.
        read: files and folders outside of the problem's that programs must be able to read.
        path: folders of programs, as `read`, which stand first on PATH.
    """

    command: tuple[str, ...]
    build: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


class Runtime(Protocol):
    """Gives the commands for programs: a function, or a class with `__call__`."""

    def __call__(self, context: RuntimeContext, /) -> RuntimeCommand:
        """The commands for programs whose main file this is; equal contexts get equal commands."""


def open_runtime(name: str, context: RuntimeContext, extensions: Extensions) -> RuntimeCommand:
    """The commands that a runtime gives.

    Raises:
        MissingExtensionError, ExtensionError: it is an extension that is not there, or gives no command.
    """
    extension, found = extensions.resolve(ExtensionKind.RUNTIME, name)
    with guarded(extension):
        runtime = found() if isinstance(found, type) else found
        given = runtime(context)
    return _checked(extension, given)


def with_runtime(problem: Problem, extensions: Extensions) -> Problem:
    """A problem whose evaluator has the commands of its runtime, where it names one.

    Raises:
        MissingExtensionError, ExtensionError: as of `open_runtime`.
    """
    spec = problem.evaluator
    if not spec.runtime:
        return problem
    given = open_runtime(spec.runtime, context_of(problem), extensions)
    made = replace(
        spec,
        runtime="",
        command=given.command,
        build=given.build,
        read=(*spec.read, *given.read),
        path=(*spec.path, *given.path),
    )
    return replace(problem, evaluator=made)


def context_of(problem: Problem) -> RuntimeContext:
    """What a runtime decides by for the programs of a problem."""
    return RuntimeContext(main=problem.main or _file(problem.seeds[0]), language=problem.language)


def run_bash(context: RuntimeContext, /) -> RuntimeCommand:
    """A script of bash."""
    return RuntimeCommand(command=("bash", context.main))


def run_javascript(context: RuntimeContext, /) -> RuntimeCommand:
    """A script of Node.js, which ends where it cannot read the machine's configuration of OpenSSL."""
    return RuntimeCommand(command=("node", "--openssl-config=/dev/null", context.main))


def run_python(context: RuntimeContext, /) -> RuntimeCommand:
    """A script of the evaluation's Python."""
    return RuntimeCommand(command=(PYTHON, context.main))


def run_c(context: RuntimeContext, /) -> RuntimeCommand:
    """A program of C, by the machine's compiler."""
    return _compiled("cc", context, "-lm")


def run_cpp(context: RuntimeContext, /) -> RuntimeCommand:
    """A program of C++, by the machine's compiler."""
    return _compiled("c++", context)


def run_rust(context: RuntimeContext, /) -> RuntimeCommand:
    """A program of Rust, without other crates."""
    return RuntimeCommand(build=("rustc", "-O", "-o", "program.bin", context.main), command=("./program.bin",))


def _compiled(compiler: str, context: RuntimeContext, *libraries: str) -> RuntimeCommand:
    build = (compiler, "-O2", "-o", "program.bin", context.main, *libraries)
    return RuntimeCommand(build=build, command=("./program.bin",))


def _file(program: Program) -> str:
    return program.files[0][0]


def _checked(extension: Extension, given: object) -> RuntimeCommand:
    if not isinstance(given, RuntimeCommand):
        raise _broken(extension, f"it returned a value of type {type(given).__name__}, not a RuntimeCommand")
    for name in ("command", "build", "read", "path"):
        words = getattr(given, name)
        if isinstance(words, str) or not isinstance(words, Sequence):
            raise _broken(extension, f"its {name} is a value of type {type(words).__name__}, not a tuple of words")
        if not all(isinstance(word, str) and word and "\0" not in word for word in words):
            raise _broken(extension, f"its {name} holds what is no word: {words!r:.200}")
    if not given.command:
        raise _broken(extension, "its command is empty")
    if relative := [word for word in (*given.read, *given.path) if not PurePosixPath(word).is_absolute()]:
        raise _broken(extension, f"it opens {relative[0]!r:.200}, which is no absolute path")
    return RuntimeCommand(**{name: tuple(getattr(given, name)) for name in ("command", "build", "read", "path")})


def _broken(extension: Extension, what: str) -> ExtensionError:
    return ExtensionError(f"{extension} breaks the contract of runtimes: {what}")
