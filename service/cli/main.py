"""The entry of the command line, and the one place where errors become sentences and exit codes."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from evolve.errors import EvolveError
from service.cli.exit_codes import OK, USAGE, outcome
from service.errors import ServiceError, UsageError

# Imports make many objects that stay: looking for garbage among them is a sixth of a command's start and end.
GARBAGE_THRESHOLD = 200_000
# The models and arrays of a run are small: a second thread of a product of theirs mostly waits for the first.
LINEAR_ALGEBRA_THREADS = "OPENBLAS_NUM_THREADS"
ANYWHERE = frozenset({"-q", "--quiet", "-v", "--verbose", "--no-color", "--local"})


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; nothing else of the program ends the process.

    Args:
        words: of the command; None: those of this process, which ends with it.
    """
    ends = words is None
    words = list(sys.argv[1:] if words is None else words)
    gc.set_threshold(GARBAGE_THRESHOLD)
    if ends:
        os.environ.setdefault(LINEAR_ALGEBRA_THREADS, "1")
        _heed_ends()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = _run(words)
    except BaseException as error:  # noqa: BLE001 - the last line of defence: whatever comes is one sentence and a code
        code = _explain(error, as_json="--json" in words)
    if ends:
        gc.freeze()
    return _close(code)


def explained(work: Callable[[], None]) -> int:
    """Do the work of a process beside the commands. An error becomes a sentence and an exit code, as of a command."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - the last line of defence of this process
        return _close(_explain(error, as_json=False))
    return _close(OK)


def _heed_ends() -> None:
    """Take a request to end, or a terminal that goes away, for a Ctrl-C: all that was begun is cleared away."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
            signal.signal(number, _interrupt)


def _interrupt(*_: object) -> None:
    """Do what Ctrl-C does. Whoever starts a process in the background may have ignored or blocked that for it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.raise_signal(signal.SIGINT)


def _run(words: list[str]) -> int:
    import typer

    from service.cli.app import app
    from service.cli.completion_app import prepare
    from service.cli.named_commands import with_options_of

    shown = app if prepare() else with_options_of(app, words)  # a shell that completes words gives them elsewhere
    try:
        result = typer.main.get_command(shown).main(hoisted(words), prog_name="evolve", standalone_mode=False)
    except typer.exceptions.TyperException as error:
        sentence = _sentence(error)
        if not sentence:  # the help was asked for by giving no word at all, and stands on the screen already
            return USAGE
        raise UsageError(sentence) from error
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    return result if isinstance(result, int) else OK


def hoisted(words: Sequence[str]) -> list[str]:
    """The words with those that every command knows in front, so that they may be written anywhere before `--`."""
    end = list(words).index("--") if "--" in words else len(words)
    front = [word for word in words[:end] if word in ANYWHERE]
    return front + [word for word in words[:end] if word not in ANYWHERE] + list(words[end:])


def _sentence(error: Exception) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    sentence = " ".join(str(message).split()).rstrip(".")
    return f"{sentence} (see {context.command_path} -h)" if sentence and context is not None else sentence


def _explain(error: BaseException, *, as_json: bool) -> int:
    from service.cli.terminal import OutputClosed, plain
    from service.jsonlines import as_line

    if isinstance(error, SystemExit | OutputClosed | BrokenPipeError):
        return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else OK
    if os.environ.get("EVOLVE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    code, name = outcome(error)
    message = plain(describe(error))
    body = {"error": {"code": name, "message": message}}
    try:
        print(as_line(body) if as_json else f"evolve: {message}", file=sys.stderr, flush=True)
    except OSError:
        return code
    return code


def describe(error: BaseException) -> str:
    """What went wrong and what to do, as one sentence."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror:
        place = f": {error.filename}" if error.filename else ""
        return f"{error.strerror.lower()}{place}"
    if isinstance(error, BaseExceptionGroup):
        return describe(error.exceptions[0])
    if isinstance(error, EvolveError | ServiceError) and str(error):
        return " ".join(str(error).split())
    return f"this is a bug in evolve ({type(error).__name__}): set EVOLVE_DEBUG=1 to see the traceback"


def _close(code: int) -> int:
    """Flush what is left, and leave nothing for the interpreter's end to flush into a pipe that is gone."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError) as error:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if not isinstance(error, BrokenPipeError):
                code = code or _explain(error, as_json=False)
    return code


if __name__ == "__main__":
    sys.exit(main())
