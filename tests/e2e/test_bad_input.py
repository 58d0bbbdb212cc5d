"""Whatever is wrong, a command says one sentence and a documented code, loses nothing, and leaves nothing behind."""

import fcntl
import itertools
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest import mock

import pytest

from tests.command_line import EVOLVE, Said
from tests.e2e.evolving import EvolveHere, essence, make_problem
from tests.fakes.openai_server import openai_server
from tests.patience import PATIENCE_SECONDS

KEY = "sk-of-a-test"
GOOD = "def score(outputs, program):\n    return {'value': 1.0}\n"
SPIN = "def give():\n    while True:\n        pass\n"
CRASH = "import os\n\ndef give():\n    os.kill(os.getpid(), 11)\n"


class Clumsy(EvolveHere):
    """The command with a folder of its own for temporary files, to see what is left there."""

    def __init__(self, home: Path, scratch: Path) -> None:
        super().__init__(home)
        self.home, self.scratch = home, scratch
        self.environment |= {"TMPDIR": str(scratch)}

    def told(self, *words: str | Path | bytes, code: int, **variables: str) -> str:
        """The one sentence that a command ends with."""
        with mock.patch.dict(self.environment, variables):
            return self._sentence(self.said(*map(os.fsdecode, words)), code)

    def told_by_a_process(
        self, *words: str | Path | bytes, code: int, under: Sequence[str] = (), **variables: str
    ) -> str:
        """The one sentence that a process of its own ends with; `under` is a command that it is started by."""
        done = subprocess.run(
            [*under, EVOLVE, *(os.fspath(word) for word in words)],
            capture_output=True,
            env=self.environment | variables,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        return self._sentence(Said(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode()), code)

    def _sentence(self, said: Said, code: int) -> str:
        assert said.code == code, f"exit {said.code}: {said.err}"
        assert "Traceback" not in said.err
        assert "bug in evolve" not in said.err
        sentences = [line for line in said.err.splitlines() if line.startswith("evolve: ")]
        assert len(sentences) == 1, said.err
        self.assert_nothing_left()
        return sentences[0].removeprefix("evolve: ")

    def assert_nothing_left(self) -> None:
        """No file and no process; what watches over a process that was killed may take a moment."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left == [], [Path(f"/proc/{one[8:]}/cmdline").read_bytes() for one in left if one.startswith("process ")]

    def has_folders(self) -> bool:
        """Whether a command works there. Python itself makes a file for a moment, to find out where it may write."""
        return any(path.is_dir() for path in self.scratch.iterdir())

    def left(self) -> list[str]:
        """Files, and processes that know of the folder."""
        return [path.name for path in self.scratch.iterdir()] + [
            f"process {pid}" for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_ours(pid)
        ]

    def _is_ours(self, pid: int) -> bool:
        mark = str(self.scratch).encode()
        if pid == os.getpid():
            return False
        try:
            folder = Path(f"/proc/{pid}")
            return mark in folder.joinpath("cmdline").read_bytes() + folder.joinpath("environ").read_bytes()
        except OSError:
            return False


@pytest.fixture
def clumsy(tmp_path: Path) -> Iterator[Clumsy]:
    # Not below tmp_path: programs run as users of their own, who must be able to pass.
    scratch = Path(tempfile.mkdtemp(prefix="evolving-"))
    scratch.chmod(0o711)
    yield Clumsy(tmp_path, scratch)
    shutil.rmtree(scratch)


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    return make_problem(tmp_path / "toy", evaluations=5, wall_seconds=1.0)


@pytest.mark.parametrize(
    ("evaluator", "said"),
    [
        (None, "is missing"),
        (b"\xff\xfe", "UTF-8"),
        ("def score(:\n", "not valid Python (line 1)"),
        ("x = 1\n", "defines no score()"),
        (f"raise RuntimeError('boom')\n{GOOD}", "boom"),
        (f"import nonsense_module\n{GOOD}", "nonsense_module"),
        (f"import sys\nsys.exit(3)\n{GOOD}", "exit"),
        ("def score(outputs, program):\n    return 'text'\n", "the text 'text' instead of a dict"),
        ("def score(outputs, program):\n    return None\n", "instead of a dict"),
        ("def score(outputs, program):\n    return [1.0]\n", "a list instead of a dict"),
        ("def score(outputs, program):\n    return {}\n", "no number for the objective value"),
        ("def score(outputs, program):\n    return {'value': float('nan')}\n", "nan"),
        ("def score(outputs, program):\n    raise ValueError('a\\nb')\n", "ValueError: a b"),
    ],
)
def test_an_evaluator_that_cannot_score_is_an_invalid_problem(
    clumsy: Clumsy, problem: Path, evaluator: str | bytes | None, said: str
) -> None:
    path = problem / "evaluator.py"
    path.unlink()
    if evaluator is not None:
        path.write_bytes(evaluator if isinstance(evaluator, bytes) else evaluator.encode())
    assert said in clumsy.told("run", problem, code=8)


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ("def give():\n    raise KeyError('a')\n", "KeyError: 'a'"),
        (SPIN, "ran longer than 1 s"),
        (CRASH, "SIGSEGV"),
        ("def give(:\n", "SyntaxError"),
        ("", "defines no function give"),
    ],
)
def test_a_failing_seed_is_an_invalid_problem(clumsy: Clumsy, problem: Path, seed: str, said: str) -> None:
    (problem / "program.py").write_text(seed)
    sentence = clumsy.told("run", problem, code=8)
    assert said in sentence
    assert f"evolve problem check {problem}" in sentence


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("problem.toml", "x = [", "problem.toml is broken"),
        ("problem.toml", "\udcff", "problem.toml is not UTF-8"),
        ("problem.toml", None, "add problem.toml"),
        ("program.py", None, "the seed 'program.py' is neither"),
        ("program.py", "\udcff", "not UTF-8 text"),
    ],
)
def test_a_folder_that_cannot_be_read_as_a_problem_is_invalid(
    clumsy: Clumsy, problem: Path, file: str, text: str | None, said: str
) -> None:
    (problem / file).unlink()
    if text is not None:
        (problem / file).write_bytes(os.fsencode(text))
    assert said in clumsy.told("run", problem, code=8)


def test_a_problem_that_is_no_folder_is_invalid(clumsy: Clumsy, problem: Path) -> None:
    assert "name the folder" in clumsy.told("run", problem / "problem.toml", code=8)
    assert "does not exist" in clumsy.told("run", problem / "absent", code=8)
    assert "does not exist" in clumsy.told_by_a_process("run", b"\xff\xfe", code=8)
    (problem / "empty").mkdir()
    assert "evolve problem init" in clumsy.told("run", problem / "empty", code=8)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "isands=3"), "'islands'"),
        (("--set", "budget.evaluation=3"), "'budget.evaluations'"),
        (("--set", "islands"), "key=value"),
        (("--set", b"\xff=1"), "unknown key"),
        (("--evalutions", "3"), "--evaluations"),
        (("--config", "absent.toml"), "absent.toml is not a file"),
        (("--workers", "0"), "--workers"),
        (("--workers", "-1"), "--workers"),
        (("--workers", str(10**9)), "concurrency.evaluations must be at most"),
        (("--islands", str(10**30)), "islands must be at most"),
        (("--answers", str(10**9)), "answers must be at most"),
        (("--samples", str(10**9)), "samples must be at most"),
        (("--set", f"deterministic.window={10**30}"), "deterministic.window must be at most"),
        (("--set", "budget.wall_seconds=nan"), "budget.wall_seconds must be a number"),
        (("--evaluations", "1e3"), "--evaluations"),
        (("--set", "prompt.template_dir=/absent"), "prompt.template_dir"),
        (("--require-isolation", "iron"), "medium"),
        (("--model", "m"), "syntax"),
        (("--db", ""), "sqlite:///FILE"),
        (("--db", "mysql://x"), "postgresql://"),
    ],
)
def test_words_that_are_off_are_a_usage_error(
    clumsy: Clumsy, problem: Path, words: tuple[str | bytes, ...], said: str
) -> None:
    assert said in clumsy.told("run", problem, *words, code=2)
    assert not (clumsy.home / "runs.db").exists() or clumsy.call("runs", "--json") == ""


def test_budgets_of_any_size_are_budgets(clumsy: Clumsy, problem: Path) -> None:
    huge = str(10**30)
    words = ("--set", f"budget.tokens={huge}", "--set", f"budget.wall_seconds={huge}", "--seed", huge)
    clumsy.call("run", str(problem), *words)
    clumsy.assert_nothing_left()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("evalutions = 3\n", "'evaluations'"),
        ("[limit]\nwall_seconds = 1\n", "'limits'"),
    ],
)
def test_unknown_keys_of_a_problem_are_named_with_the_nearest(
    clumsy: Clumsy, problem: Path, text: str, said: str
) -> None:
    with (problem / "problem.toml").open("a") as file:
        file.write(text)
    assert said in clumsy.told("run", problem, code=8)


@pytest.mark.parametrize(
    ("text", "said"),
    [("isands = 3\n", "'islands'"), ("x = [", "broken"), ("\udcff", "UTF-8"), ("islands = 'x'", "whole")],
)
def test_a_configuration_file_that_is_off_is_a_usage_error(clumsy: Clumsy, problem: Path, text: str, said: str) -> None:
    file = clumsy.home / "c.toml"
    file.write_bytes(os.fsencode(text))
    assert said in clumsy.told("run", problem, "--config", file, code=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sandbx]\nrequire = 'weak'\n", "sandbox"),
        ("[sandbox]\nrequires = 'weak'\n", "sandbox.require"),
        ("sandbox = 3\n", "sandbox.network"),
        ("x = [", "config.toml cannot be read"),
    ],
)
def test_settings_that_are_off_are_a_usage_error(clumsy: Clumsy, text: str, said: str) -> None:
    file = clumsy.home / ".config" / "evolve" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert said in clumsy.told("runs", code=2)


def test_a_setting_in_the_environment_that_nobody_knows_is_named(clumsy: Clumsy) -> None:
    assert "EVOLVE_SANDBOX__REQUIRE" in clumsy.told_by_a_process("runs", code=2, EVOLVE_SANDBX__REQUIRE="weak")
    assert "EVOLVE_SANDBOX__REQUIRE" in clumsy.told("runs", code=2, EVOLVE_SANDBOX__REQUIRE="iron")


def openevolve_project(folder: Path, config: str) -> Path:
    folder.mkdir()
    (folder / "initial_program.py").write_text("# EVOLVE-BLOCK-START\nx = 1.0\n# EVOLVE-BLOCK-END\n")
    (folder / "evaluator.py").write_text("def evaluate(path):\n    return {'combined_score': 1.0}\n")
    (folder / "config.yaml").write_text(config)
    return folder


def test_keys_of_an_openevolve_project_that_do_nothing_are_told(clumsy: Clumsy) -> None:
    project = openevolve_project(clumsy.home / "project", "max_iteratons: 4\ncheckpoint_interval: 3\n")
    process = clumsy.start("run", str(project), "--evaluations", "3")
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, err
    assert "'max_iteratons' is ignored: did you mean 'max_iterations'?" in err
    assert "checkpoint_interval is not needed" in err
    assert "default of 10000" not in err, "--evaluations was given"
    clumsy.assert_nothing_left()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("a: [\n", "config.yaml is broken"),
        ("- a\n", "a list where keys"),
        ("a: !!python/object/apply:os.system ['id']\n", "config.yaml is broken"),
    ],
)
def test_an_openevolve_configuration_that_is_off_is_an_invalid_problem(clumsy: Clumsy, config: str, said: str) -> None:
    assert said in clumsy.told("run", openevolve_project(clumsy.home / "project", config), code=8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = [", "cannot be read"),
        ("", "holds no [[policies]]"),
        ("[[policies]]\nkind = 'opnai'\n", "'opnai' is not known: name one of openai, litellm"),
        ("[[policies]]\nkind = 'syntax'\nanswrs = 3\n", "answers"),
        ("[[policies]]\nkind = 'openai'\nbase_url = 'x'\n", "http://"),
        ("[[policies]]\nkind = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\napi_key = 'sk-inline'\n", "api_key_env"),
        ("[[policies]]\nkind = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\napi_key_env = 'ABSENT'\n", "ABSENT"),
    ],
)
def test_a_policy_file_that_is_off_is_a_usage_error(clumsy: Clumsy, problem: Path, text: str, said: str) -> None:
    file = clumsy.home / "policy.toml"
    file.write_text(text)
    sentence = clumsy.told("run", problem, "--policy", file, code=2)
    assert said in sentence
    assert "sk-inline" not in sentence


def test_a_policy_that_is_away_is_unreachable(clumsy: Clumsy, problem: Path) -> None:
    assert "127.0.0.1:9" in clumsy.told("run", problem, "--policy", "http://127.0.0.1:9/v1", code=6)


def test_a_policy_that_refuses_is_told_without_the_key(clumsy: Clumsy, problem: Path) -> None:
    with openai_server(lambda _: [""], key=KEY) as server:
        wrong = {"EVOLVE_POLICY_API_KEY": "sk-wrong"}
        right = {"EVOLVE_POLICY_API_KEY": KEY}
        assert "sk-wrong" not in clumsy.told("run", problem, "--policy", server.url, code=4, **wrong)
        sentence = clumsy.told("run", problem, "--policy", server.url, "--model", "absent", code=4, **right)
        assert "absent" in sentence
        assert KEY not in sentence
    assert clumsy.call("runs", "--json") == ""


def test_a_server_of_another_kind_is_told_as_such(clumsy: Clumsy, problem: Path) -> None:
    with openai_server(lambda _: [""]) as server:
        elsewhere = f"{server.root}/nothing/v1"
        assert elsewhere in clumsy.told("run", problem, "--policy", elsewhere, code=4)


@pytest.fixture
def finished(clumsy: Clumsy, problem: Path) -> str:
    """A run that has ended."""
    return str(clumsy.lines("run", str(problem), "--json")[0]["run_id"])


def test_ids_that_name_nothing_or_too_much(clumsy: Clumsy, problem: Path, finished: str) -> None:
    again = str(clumsy.lines("run", str(problem), "--json")[0]["run_id"])
    both = "".join(
        a for a, b in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(finished, again, strict=True))
    )
    assert finished in clumsy.told("show", both, code=2)
    assert "too short" in clumsy.told("best", "run_", code=2)
    absent = "cnd_ffffffff", "run_ffffffff", "%", b"\xff"
    for words in [("best", ""), ("lineage", absent[0]), ("export", absent[1]), *(("show", name) for name in absent)]:
        clumsy.told(*words, code=3)
    assert "ended" in clumsy.told("run", "--resume", finished, code=5)
    assert "evolve runs" in clumsy.told("run", "--resume", "run_ffffffff", code=3)
    assert "--limit" in clumsy.told("runs", "--limit", str(10**30), code=2)


def test_places_that_cannot_be_written_to(clumsy: Clumsy, problem: Path, finished: str) -> None:
    assert f"no folder {clumsy.home}/absent" in clumsy.told("best", "-o", clumsy.home / "absent" / "b.py", code=3)
    assert "is a folder" in clumsy.told("export", finished, "-o", problem, code=5)
    assert "no space left" in clumsy.told("export", finished, "-o", "/dev/full", code=1)


def test_a_database_that_is_none_is_told_by_every_command(clumsy: Clumsy, problem: Path) -> None:
    other = str(problem / "program.py")
    for words in (("runs",), ("run", str(problem)), ("db", "check"), ("db", "upgrade")):
        assert "is not a SQLite database" in clumsy.told(*words, "--db", other, code=1)
    assert "there is no database" in clumsy.told("runs", "--db", "/absent/x.db", code=3)
    assert (problem / "program.py").read_text().startswith("def give")


def test_a_newer_database_is_left_alone(clumsy: Clumsy, problem: Path, finished: str) -> None:
    with sqlite3.connect(clumsy.home / "runs.db") as database:
        database.execute("UPDATE alembic_version SET version_num = 'of_tomorrow'")
    database.close()
    for words in (("runs",), ("run", str(problem)), ("best", finished)):
        assert "newer" in clumsy.told(*words, code=1)


def test_a_locked_database_is_told_and_nothing_is_lost(clumsy: Clumsy, problem: Path, finished: str) -> None:
    database = sqlite3.connect(clumsy.home / "runs.db", isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    assert clumsy.json("show", finished)["state"] == "succeeded"
    assert "locked" in clumsy.told("run", problem, code=1)
    database.close()
    assert len(clumsy.call("runs", "--json").splitlines()) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that is full after some fifty candidates."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1536k", "small", disk], check=False).returncode:
        pytest.skip("nothing may be mounted here")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.root
def test_a_disk_that_fills_up_loses_nothing_and_the_run_goes_on(
    clumsy: Clumsy, problem: Path, small_disk: Path
) -> None:
    url = f"sqlite:///{small_disk / 'runs.db'}"
    words = ("--evaluations", "200", "--deterministic", "--seed", "3")
    assert "full" in clumsy.told_by_a_process("run", problem, *words, "--db", url, code=1)
    run = clumsy.json("runs", "--db", url)["run_id"]
    before = clumsy.lines("export", run, "--db", url)
    assert len(before) > 10
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    clumsy.call("run", "--resume", run, "--db", url)
    whole = clumsy.lines("run", str(problem), *words, "--json")
    after = [essence(candidate) for candidate in clumsy.lines("export", run, "--db", url)]
    scored = [essence(candidate) for candidate in before if candidate["status"] == "evaluated"]
    assert scored == [candidate for candidate in after if candidate in scored]
    assert after == [essence(candidate) for candidate in clumsy.lines("export", whole[0]["run_id"])]
    clumsy.assert_nothing_left()


# What lets the superuser pass where modes deny it.
ORDINARY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def started(clumsy: Clumsy, *words: str, until: Callable[[], bool]) -> subprocess.Popen[str]:
    """A command of a session of its own, once it is so far."""
    process = subprocess.Popen(
        [EVOLVE, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clumsy.environment,
        start_new_session=True,
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not until() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert process.poll() is None
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["run", "check", "doctor"])
def test_an_interrupt_before_anything_is_stored_leaves_nothing(
    clumsy: Clumsy, problem: Path, command: str, number: int
) -> None:
    (problem / "program.py").write_text(SPIN)
    words = {"run": ["run", str(problem)], "check": ["problem", "check", str(problem)], "doctor": ["doctor"]}[command]
    process = started(clumsy, *words, until=clumsy.has_folders)
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert [line for line in err.splitlines() if line.startswith("evolve: ")] in (["evolve: interrupted"], [])
    clumsy.assert_nothing_left()


def test_the_second_interrupt_leaves_at_once_and_nothing_behind(clumsy: Clumsy, problem: Path) -> None:
    endless = "import time\n\ndef give():\n    time.sleep(0.9)\n    return 1.0\n"
    (problem / "program.py").write_text(endless)
    process = started(clumsy, "run", str(problem), "--json", until=clumsy.has_folders)
    assert process.stdout is not None
    while "proposal.created" not in process.stdout.readline():
        pass
    os.killpg(process.pid, signal.SIGSTOP)  # both signals are there before the first is answered
    os.killpg(process.pid, signal.SIGINT)
    os.killpg(process.pid, signal.SIGTERM)
    os.killpg(process.pid, signal.SIGCONT)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, err
    assert re.search(r"quit\. Continue with: \S*evolve run --resume run_", err)
    clumsy.assert_nothing_left()
    assert clumsy.json("runs")["state"] == "running"
    run = clumsy.json("runs")["run_id"]
    clumsy.call("run", "--resume", run)
    assert clumsy.json("show", run)["state"] == "succeeded"


def test_ctrl_c_on_a_terminal_stops_the_run_and_loses_nothing(clumsy: Clumsy, tmp_path: Path) -> None:
    long = make_problem(tmp_path / "long", evaluations=100_000)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [EVOLVE, "run", str(long)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clumsy.environment | {"TERM": "xterm", "COLUMNS": "80"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - one system call, no lock
    )
    os.close(theirs)
    written = b""
    pressed = False
    while chunk := _read(ours):
        written += chunk
        if not pressed and b" valid " in written:
            os.write(ours, b"\x03")
            pressed = True
    os.close(ours)
    assert process.wait(PATIENCE_SECONDS) == 130, written
    assert re.search(rb"Continue with: \S*evolve run --resume run_", written)
    assert written.rindex(b"\x1b[?25h") > written.rindex(b"\x1b[?25l"), "the cursor is hidden"
    clumsy.assert_nothing_left()
    shown = clumsy.json("runs")
    assert shown["state"] == "paused"
    run = shown["run_id"]
    failed = [one for one in clumsy.lines("export", run) if one["status"] == "evaluated" and one["outcome"] != "ok"]
    assert not [one["reason"] for one in failed if "Interrupt" in one["reason"] or "ended by" in one["reason"]]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize("closed", ["", "evaluator.py", "problem.toml"])
def test_a_folder_that_is_closed_is_told(clumsy: Clumsy, problem: Path, closed: str) -> None:
    (problem / closed).chmod(0o000)
    sentence = clumsy.told_by_a_process("run", problem, code=8, under=ORDINARY)
    (problem / closed).chmod(0o700)
    assert str(problem / closed) in sentence or closed in sentence


def test_a_home_that_may_not_be_written_to_is_told(clumsy: Clumsy, problem: Path) -> None:
    home = clumsy.home / "home"
    home.mkdir(mode=0o555)
    del clumsy.environment["EVOLVE_DATABASE__URL"]
    sentence = clumsy.told_by_a_process("run", problem, code=1, under=ORDINARY, HOME=str(home))
    assert str(home) in sentence
    assert "--db" in sentence


def test_a_database_that_may_only_be_read_is_told(clumsy: Clumsy, finished: str) -> None:
    for path in clumsy.home.glob("runs.db*"):
        path.chmod(0o444)
    clumsy.home.chmod(0o555)
    sentence = clumsy.told_by_a_process("best", finished, code=1, under=ORDINARY)
    clumsy.home.chmod(0o755)
    assert "permissions" in sentence
