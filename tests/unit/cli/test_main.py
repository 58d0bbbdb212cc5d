import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from evolve.errors import ConfigurationError, EvolveError, PolicyDenied, PolicyUnavailable, ProblemError, ReplayError
from service.cli.app import app
from service.cli.completion_app import prepare
from service.cli.exit_codes import outcome
from service.cli.main import describe, hoisted
from service.errors import (
    ConflictError,
    InvalidProblemError,
    LeaseLostError,
    NotFoundError,
    RefusedError,
    StorageError,
    UnreachableError,
    UsageError,
)
from tests.unit.cli.conftest import Evolve


@pytest.mark.parametrize(
    ("error", "code", "name"),
    [
        (UsageError("x"), 2, "usage"),
        (ConfigurationError("x"), 2, "usage"),
        (NotFoundError("x"), 3, "not_found"),
        (FileNotFoundError(2, "No such file"), 3, "not_found"),
        (RefusedError("x"), 4, "refused"),
        (PolicyDenied("x"), 4, "refused"),
        (ConflictError("x"), 5, "conflict"),
        (LeaseLostError("x"), 5, "conflict"),
        (UnreachableError("x"), 6, "unreachable"),
        (PolicyUnavailable("x"), 6, "unreachable"),
        (InvalidProblemError(["x"]), 8, "problem_invalid"),
        (ProblemError("x"), 8, "problem_invalid"),
        (StorageError("x"), 1, "storage"),
        (ReplayError("x"), 1, "failed"),
        (EvolveError("x"), 1, "failed"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError(), 1, "internal"),
    ],
)
def test_each_class_of_error_has_its_exit_code(error: BaseException, code: int, name: str) -> None:
    assert outcome(error) == (code, name)


def test_a_fault_of_ours_shows_no_detail() -> None:
    assert "secret" not in describe(ValueError("secret"))
    assert "EVOLVE_DEBUG" in describe(ValueError("secret"))


def test_a_group_of_errors_is_told_by_its_first() -> None:
    assert describe(ExceptionGroup("several", [ExceptionGroup("inner", [UsageError("name it")])])) == "name it"


def test_an_error_of_several_lines_becomes_one_sentence() -> None:
    assert describe(UsageError("one\n  two")) == "one two"


def test_flags_of_every_command_may_stand_anywhere_before_two_dashes() -> None:
    assert hoisted(["runs", "-q", "--limit", "3", "--", "-v"]) == ["-q", "runs", "--limit", "3", "--", "-v"]


def test_a_usage_error_is_one_sentence_that_names_the_help(evolve: Evolve) -> None:
    said = evolve("runs", "--nonsense")
    assert said.code == 2
    assert said.out == ""
    assert said.err == "evolve: No such option: --nonsense (see evolve runs -h)\n"


@pytest.mark.parametrize("command", [("run",), ("problem", "check"), ("problem", "init"), ("train", "lora")])
@pytest.mark.parametrize("word", ["", " \t"])
def test_an_empty_word_is_not_the_folder_that_one_is_in(evolve: Evolve, command: tuple[str, ...], word: str) -> None:
    said = evolve(*command, word)
    assert (said.code, said.out) == (2, "")
    assert "it is empty: name a folder" in said.err


def test_with_json_an_error_is_json_on_stderr(evolve: Evolve) -> None:
    said = evolve("runs", "--limit", "0", "--json")
    assert (said.code, said.out) == (2, "")
    error = json.loads(said.err)
    assert (error["schema"], error["error"]["code"]) == (1, "usage")


def test_the_version_is_told(evolve: Evolve) -> None:
    assert evolve("--version").out.startswith("evolve ")


@pytest.mark.parametrize("words", [(), ("problem",), ("db",)])
def test_no_command_shows_the_help_and_is_a_usage_error(evolve: Evolve, words: tuple[str, ...]) -> None:
    said = evolve(*words)
    assert said.code == 2
    assert "Usage: evolve" in said.out
    assert said.err == ""


COMMANDS = [
    ("run",), ("runs",), ("show",), ("best",), ("candidates",), ("lineage",), ("diff",), ("export",), ("doctor",),
    ("problem", "check"), ("problem", "init"), ("db", "upgrade"), ("db", "check"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(evolve: Evolve, command: tuple[str, ...]) -> None:
    said = evolve(*command, "-h")
    assert said.code == 0
    assert f"Example: evolve {' '.join(command)}" in " ".join(said.out.split())
    assert "--json" in said.out


def examples() -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Each command with the words of an example of its help."""
    prepare()
    found: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(app))]
    while found:
        path, command = found.pop()
        found += [((*path, name), each) for name, each in getattr(command, "commands", {}).items()]
        _, _, shown = (command.epilog or "").partition("Example: evolve ")
        for words in shown.split(", or: "):
            if words and "$(" not in shown:
                yield path, shlex.split(words.rpartition("evolve ")[2])


@pytest.mark.parametrize(("path", "words"), [pytest.param(*each, id=" ".join(each[0])) for each in examples()])
def test_the_example_of_a_help_is_a_call_of_its_command(path: tuple[str, ...], words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    context, rest = None, hoisted(words)
    for name in path:
        group = command.make_context("evolve", rest, parent=context)
        called, command, rest = command.resolve_command(group, [*group._protected_args, *group.args])
        assert called == name
        context = group
    command.make_context(path[-1], list(rest), parent=context)  # it refuses words that it does not know


def test_a_missing_database_is_said_with_what_to_do(evolve: Evolve) -> None:
    said = evolve("runs")
    assert said.code == 3
    assert "make it with evolve run PROBLEM" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("ignored", [False, True], ids=["foreground", "background of a script"])
def test_a_request_to_end_ends_a_command(ignored: bool) -> None:
    script = (
        "import signal, time; from service.cli import main as cli\n"
        f"if {ignored}: signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "cli._run = lambda words: (print('begun', flush=True), *(time.sleep(0.05) for _ in range(1200)))\n"
        "raise SystemExit(cli.main())"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 130
        finally:
            process.kill()


@pytest.mark.parametrize(("chosen", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2")])
def test_a_command_multiplies_its_arrays_with_one_thread_unless_told(chosen: dict[str, str], threads: str) -> None:
    script = (
        "import os; from service.cli import main as cli\n"
        "def work(words):\n"
        "    import numpy; numpy.ones((500, 500)) @ numpy.ones((500, 500))\n"
        "    print(os.environ['OPENBLAS_NUM_THREADS'], len(os.listdir('/proc/self/task')))\n"
        "cli._run = work; raise SystemExit(cli.main())"
    )
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=kept | chosen)
    told, running = done.stdout.split()
    assert told == threads
    assert chosen or running == "1"


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["run", "--nonsense"]])
def test_what_needs_no_work_imports_nothing_heavy(words: list[str]) -> None:
    script = (
        "import sys; from service.cli.main import main; main(sys.argv[1:]);"
        "heavy = ('fastapi', 'sqlalchemy', 'pydantic_settings', 'numpy', 'httpx', 'alembic', 'structlog');"
        "print([name for name in heavy if name in sys.modules])"
    )
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "NO_COLOR": "1"})
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "words",
    [
        "runs", "show last", "candidates last", "best last", "lineage last", "diff last", "vote last",
        "insights last --versions", "batches", "policy list", "training list", "training permissions",
    ],
)  # fmt: skip
def test_what_reads_imports_nothing_that_only_changes_need(words: str, packing: str) -> None:
    script = (
        "import sys; from service.cli.main import main; code = main(sys.argv[1:]);"
        "heavy = ('fastapi', 'numpy', 'httpx', 'structlog', 'prometheus_client', 'yaml', 'redis');"
        "print([name for name in heavy if name in sys.modules], code)"
    )
    command = [sys.executable, "-c", script, *words.split(), "--db", packing]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "NO_COLOR": "1"})
    assert done.stdout.splitlines()[-1] == "[] 0", done.stderr


LIMITS = ("--evaluations", "--tokens", "--money", "--wall-seconds", "--target", "--patience")


@pytest.mark.parametrize(
    ("command", "more"),
    [("run", ("--answers", "--samples", "--islands", "--seed", "--workers", "--name", "--label")), ("extend", ())],
)
def test_the_help_says_what_holds_where_an_option_is_left_out(
    evolve: Evolve, monkeypatch: pytest.MonkeyPatch, command: str, more: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = evolve(command, "-h").out.splitlines()
    for option in (*LIMITS, *more):
        line = next(line for line in shown if re.search(rf"^. +{option} ", line))
        assert re.search(r"\[default: .+\]", line), line
