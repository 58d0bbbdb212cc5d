"""The command line as its user meets it: a process with streams, a terminal, and signals."""

import json
import os
import pty
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS
from tests.unit.cli.recording import packing_problem, record_run, sqlite_url

EVOLVE = str(Path(sys.executable).with_name("evolve"))
# Three tenths of a second are aimed at. What reads the database is held to the libraries that it stands on, imported by
# a process that does nothing else: on a slow or busy machine every instruction is dearer, for both alike.
CPU_SECONDS = 0.3
LIBRARIES = "import sqlalchemy.orm, pydantic_settings, typer.main, rich.table"
OVER_LIBRARIES = 1.5

Environment = dict[str, str]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A user with a database that holds one run, and nothing else set."""
    url = sqlite_url(tmp_path / "runs.db")
    record_run(url, packing_problem(), seed_scores={"radii": 1.0})
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return kept | {"HOME": str(tmp_path), "EVOLVE_DATABASE__URL": url}


def evolve(environment: Environment, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [EVOLVE, *words], capture_output=True, text=True, env=environment, check=False, timeout=PATIENCE_SECONDS
    )


def cpu_seconds(call: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def on_a_terminal(environment: Environment, *words: str) -> str:
    """What a command writes when its streams are a terminal of eighty columns."""
    ours, theirs = pty.openpty()
    try:
        shown = environment | {"TERM": "xterm-256color", "COLUMNS": "80"}
        process = subprocess.Popen([EVOLVE, *words], stdout=theirs, stderr=theirs, stdin=theirs, env=shown)
        os.close(theirs)
        written = b""
        while chunk := _read(ours):
            written += chunk
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        os.close(ours)
    return written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


LIGHT = [["--version"], ["--help"], ["run", "--nonsense"]]
READING = [["runs"], ["best", "last"]]


def min_cpu_seconds(call: Callable[[], object]) -> float:
    """The least of some: other processes make one slower, never faster."""
    return min(cpu_seconds(call) for _ in range(3))


@pytest.mark.parametrize("words", LIGHT)
def test_a_command_answers_within_its_budget_of_cpu(environment: Environment, words: list[str]) -> None:
    assert min_cpu_seconds(lambda: evolve(environment, *words)) <= CPU_SECONDS


@pytest.mark.parametrize("words", LIGHT)
def test_help_and_refusals_import_neither_events_nor_database(environment: Environment, words: list[str]) -> None:
    script = (
        "import sys; from service.cli.main import main\n"
        f"main({words!r})\n"
        "assert not {'evolve.events', 'sqlalchemy'} & set(sys.modules), sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", READING)
def test_a_command_that_reads_takes_little_more_than_its_libraries(environment: Environment, words: list[str]) -> None:
    # In turn, so that what slows the machine down meets both.
    taken = [
        (
            cpu_seconds(lambda: subprocess.run([sys.executable, "-c", LIBRARIES], check=True, env=environment)),
            cpu_seconds(lambda: evolve(environment, *words)),
        )
        for _ in range(6)
    ]
    bare, whole = (min(column) for column in zip(*taken, strict=True))
    assert whole <= OVER_LIBRARIES * bare


def test_no_reading_command_imports_the_web_framework(environment: Environment) -> None:
    script = (
        "import sys; from service.cli.main import main\n"
        "for words in (['runs'], ['show', 'last'], ['best', 'last'], ['candidates', 'last'], ['export', 'last']):\n"
        "    assert main(words) == 0\n"
        "    assert not {'fastapi', 'alembic', 'httpx', 'redis', 'psycopg'} & set(sys.modules), sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


def test_a_terminal_gets_colour_and_a_pipe_does_not(environment: Environment) -> None:
    assert "\x1b[" in on_a_terminal(environment, "candidates", "last")
    assert "\x1b[" not in evolve(environment, "candidates", "last").stdout


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_colour_can_be_refused(environment: Environment, how: str) -> None:
    words = ["candidates", "last"] + (["--no-color"] if how == "flag" else [])
    refusing = environment | ({"NO_COLOR": "1"} if how == "variable" else {})
    out = on_a_terminal(refusing, *words)
    assert "\x1b[3" not in out
    assert "0.0" in out


def test_a_reader_that_leaves_is_no_error(environment: Environment) -> None:
    process = subprocess.Popen(
        [EVOLVE, "export", "last"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENCE_SECONDS) == 0


def test_data_goes_to_stdout_and_messages_to_stderr(environment: Environment) -> None:
    done = evolve(
        environment, "lineage", json.loads(evolve(environment, "best", "last", "--json").stdout)["candidate_id"]
    )
    assert "next:" in done.stderr
    assert "next:" not in done.stdout
    assert evolve(environment, "best", "last", "-q").stderr == ""


def test_an_output_that_knows_ascii_only_is_no_error(environment: Environment) -> None:
    candidate = json.loads(evolve(environment, "best", "last", "--json").stdout)["candidate_id"]
    done = evolve(environment | {"PYTHONIOENCODING": "ascii"}, "lineage", candidate)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)


def test_a_full_disk_under_the_output_is_one_sentence(environment: Environment) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [EVOLVE, "export", "last"], stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "evolve: no space left on device\n"


def test_the_place_of_a_fault_shows_only_when_asked_for(environment: Environment) -> None:
    plain = evolve(environment, "show", "cnd_ffffffff")
    assert "Traceback" not in plain.stderr
    asked = evolve(environment | {"EVOLVE_DEBUG": "1"}, "show", "cnd_ffffffff")
    assert "Traceback" in asked.stderr
    assert plain.returncode == asked.returncode == 3


@pytest.mark.parametrize(
    "started", ["signal.signal(signal.SIGINT, signal.SIG_IGN)", "signal.pthread_sigmask(signal.SIG_BLOCK, {2})"]
)
def test_a_command_that_was_started_without_an_interrupt_still_ends_when_asked(started: str) -> None:
    """As a job in the background of a script is, and as processes of Ray are."""
    work = "print('waits', flush=True) or any(time.sleep(0.05) for _ in range(12000))"  # one long sleep may miss it
    waiting = f"import time; main._run = lambda words: {work}"
    script = f"import signal, sys; {started}; from service.cli import main; {waiting}; sys.exit(main.main())"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.terminate()
        try:
            assert process.wait(30) == 130
        finally:
            process.kill()
