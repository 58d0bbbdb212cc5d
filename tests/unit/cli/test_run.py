import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from service.bootstrap.storage import open_storage
from service.cli.options import named_project
from service.cli.run import _code, _Interrupts, _order
from service.cli.run_options import PolicyWords, RunOptions
from service.cli.summary import read_outcome
from service.cli.terminal import Terminal
from service.config import load_settings
from service.errors import InvalidProblemError, UsageError
from tests.unit.cli.conftest import Evolve
from tests.unit.cli.recording import RUN, packing_problem, record_run, shrinking_problem, sqlite_url


def options(**words: Any) -> RunOptions:
    nothing: dict[str, Any] = dict.fromkeys(("problem", "resume", "config", "db", "require_isolation"))
    rest = {"asked": PolicyWords(), "settings": (), "flags": {}, "deterministic": False, "require_target": False}
    return RunOptions(**{**nothing, **rest, **words})


def test_flags_that_were_not_given_leave_the_configuration_alone() -> None:
    order = _order(options(problem=Path("p"), flags={"seed": 3, "islands": None}))
    assert dict(order.flags) == {"seed": 3}


def test_deterministic_sets_a_window_unless_one_is_set() -> None:
    assert _order(options(problem=Path("p"), deterministic=True)).flags["deterministic.window"] > 0
    own = _order(options(problem=Path("p"), deterministic=True, settings=("deterministic.window=3",)))
    assert "deterministic.window" not in own.flags


def test_neither_problem_nor_run_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--resume"):
        _order(options())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"flags": {"concurrency.evaluations": 3, "islands": 2}}, "--islands"),
        ({"deterministic": True}, "--deterministic"),
        ({"asked": PolicyWords(("syntax",))}, "--policy"),
        ({"settings": ("seed=1",)}, "--set"),
        ({"flags": {"seed": 5}}, "--seed"),
    ],
)
def test_a_resumed_run_keeps_its_configuration(words: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        _order(options(resume=RUN, **words))


@pytest.mark.parametrize(
    ("python", "meant"),
    [
        (".venv/bin/python", str(Path.cwd() / ".venv/bin/python")),
        ("/opt/python", "/opt/python"),
        ("python3", "python3"),
    ],
)
def test_an_interpreter_is_meant_from_where_the_command_is_typed(python: str, meant: str) -> None:
    assert named_project(Path("p"), None, None, python).python == meant


def test_a_service_drives_a_resumed_run_with_its_own_workers() -> None:
    with pytest.raises(UsageError, match="leave out --workers"):
        options(resume=RUN, flags={"concurrency.evaluations": 3}).require_sense(workers=False)


@pytest.fixture
def interrupted(evolve: Evolve, home: Path) -> tuple[Path, str]:
    """The folder of a problem, and the database with a run of it that has budget left."""
    folder, url = home / "mine", sqlite_url(home / "own.db")
    evolve("problem", "init", str(folder))
    assert evolve("run", str(folder), "--evaluations", "4", "--db", url, "--policy", "syntax").code == 0
    return folder, url


def test_a_run_is_continued_with_its_own_problem(evolve: Evolve, interrupted: tuple[Path, str]) -> None:
    folder, url = interrupted
    again = evolve("run", str(folder), "--resume", "last", "--evaluations", "8", "--db", url)
    assert again.code == 0, again.err
    assert "warning" not in again.err
    (folder / "notes.txt").write_text("a file that came later")
    again = evolve("run", str(folder), "--resume", "last", "--evaluations", "12", "--db", url)
    assert again.code == 0, again.err
    assert f"{folder} has changed since the run began, but the run keeps the problem as it was" in again.err


def test_the_programs_of_an_earlier_run_are_no_change_of_the_problem(
    evolve: Evolve, interrupted: tuple[Path, str]
) -> None:
    folder, url = interrupted
    words = ("--seeds-from", "last:2", "--evaluations", "4", "--policy", "syntax")
    assert evolve("run", str(folder), *words, "--db", url).code == 0
    again = evolve("run", str(folder), "--resume", "last", "--evaluations", "6", "--db", url)
    assert again.code == 0, again.err
    assert "warning" not in again.err
    (folder / "notes.txt").write_text("a file that came later")
    again = evolve("run", str(folder), "--resume", "last", "--evaluations", "8", "--db", url)
    assert f"{folder} has changed since the run began" in again.err


def test_a_run_is_not_continued_with_another_problem(evolve: Evolve, interrupted: tuple[Path, str], home: Path) -> None:
    _, url = interrupted
    evolve("problem", "init", str(home / "other"))
    refused = evolve("run", str(home / "other"), "--resume", "last", "--evaluations", "8", "--db", url)
    assert refused.code == 2
    assert re.fullmatch(
        r"evolve: run_\S+ is a run of mine, not of other: leave out PROBLEM, or leave out --resume for a new run\n",
        refused.err,
    )
    assert evolve("run", str(home / "absent"), "--resume", "last", "--evaluations", "8", "--db", url).code == 8


def test_a_resumed_run_may_have_other_workers() -> None:
    assert _order(options(resume=RUN, flags={"concurrency.evaluations": 3})).flags["concurrency.evaluations"] == 3


async def test_the_first_signal_asks_and_the_second_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr("os._exit", left.append)
    stop = asyncio.Event()
    before = signal.getsignal(signal.SIGTERM)
    with _Interrupts(Terminal(verbosity=-1), RUN, stop.set):
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(stop.wait(), 10)
        assert left == []
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0)
        assert left == [130]
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("reason", "required", "code"), [("evaluations", True, 7), ("evaluations", False, 0), ("target", True, 0)]
)
def test_a_missed_target_counts_only_when_required(home: Path, reason: str, required: bool, code: int) -> None:
    url = sqlite_url(home / "runs.db")
    record_run(url, packing_problem(), seed_scores={"radii": 1.0}, reason=reason)
    with open_storage(load_settings(), url) as storage:
        outcome = read_outcome(storage.reader, RUN)
    assert _code(Terminal(), options(require_target=required), outcome, interrupted=False) == code


def test_a_run_whose_seed_fails_is_a_problem_that_is_invalid(home: Path) -> None:
    url = sqlite_url(home / "runs.db")
    record_run(url, packing_problem(), [], seed_scores=None, reason="error")
    with open_storage(load_settings(), url) as storage:
        outcome = read_outcome(storage.reader, RUN)
    with pytest.raises(InvalidProblemError, match="no seed of packing could be scored"):
        _code(Terminal(), options(), outcome, interrupted=False)


def test_an_interrupted_run_names_the_command_that_goes_on(
    packing: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_storage(load_settings(), packing) as storage:
        outcome = read_outcome(storage.reader, RUN)
    assert _code(Terminal(place=f" --db {packing}"), options(db=packing), outcome, interrupted=True) == 130
    assert f"evolve run --resume {RUN[:17]} --db {packing}" in capsys.readouterr().err


def test_an_interrupted_run_tells_the_score_of_its_best(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = sqlite_url(home / "waste.db")
    record_run(url, shrinking_problem(), [], seed_scores={"waste": 6.25})
    with open_storage(load_settings(), url) as storage:
        outcome = read_outcome(storage.reader, RUN)
    _code(Terminal(), options(), outcome, interrupted=True)
    assert "best 6.25." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--set", "budget.evaluation=3"], 2, "budget.evaluations"),
        (["--set", "nonsense"], 2, "key=value"),
        (["--config", "absent.toml"], 2, "absent.toml"),
        (["--policy", "absent.toml"], 3, "absent.toml"),
        (["--policy", "http://127.0.0.1:9/v1"], 6, "127.0.0.1:9"),
        (["--require-isolation", "iron"], 2, "medium"),
        (["--model", "m"], 2, "model"),
    ],
)
def test_what_cannot_work_is_found_before_a_run_is_stored(
    evolve: Evolve, home: Path, words: list[str], code: int, said: str
) -> None:
    assert evolve("problem", "init", str(home / "problem")).code == 0
    url = sqlite_url(home / "runs.db")
    found = evolve("run", str(home / "problem"), "--db", url, *words)
    assert (found.code, found.out) == (code, "")
    assert said in found.err
    assert len(found.err.splitlines()) == 1
    assert evolve("runs", "--db", url, "--json").lines == []


def test_a_folder_that_is_no_problem_is_invalid(evolve: Evolve, home: Path) -> None:
    (home / "empty").mkdir()
    for folder in ("empty", "absent"):
        found = evolve("run", str(home / folder), "--db", sqlite_url(home / "runs.db"))
        assert (found.code, len(found.err.splitlines())) == (8, 1)


def test_a_problem_is_made_and_checked(evolve: Evolve, home: Path) -> None:
    folder = str(home / "mine")
    (made,) = evolve("problem", "init", folder, "--json").lines
    assert len(made["files"]) == 3
    (report,) = evolve("problem", "check", folder, "--json").lines
    assert (report["ok"], report["complaints"], report["seeds"][0]["outcome"]) == (True, [], "ok")
    assert "is ready to run" in evolve("problem", "check", folder).out
    assert evolve("problem", "init", folder).code == 5


def test_a_check_shows_what_the_seed_answers(evolve: Evolve, home: Path) -> None:
    folder = home / "mine"
    evolve("problem", "init", str(folder))
    evaluator = folder / "evaluator.py"
    evaluator.write_text(evaluator.read_text().replace('return {"loss"', 'return {"answer": [1.0, " a  b "], "loss"'))
    (report,) = evolve("problem", "check", str(folder), "--json").lines
    assert (report["ok"], report["seeds"][0]["answer"]) == (True, '[1,"a b"]')
    assert '[1,"a b"]' in evolve("problem", "check", str(folder)).out


TRACED = """
import numpy

def score(outputs, program):
    print("scored", len(outputs))
    return {"loss": 1.0, "gap": 0.5, "feedback": "go on", "artifacts": {"plan": "first\\nsecond", "note": "short"}}
"""


def traced(evolve: Evolve, home: Path) -> Path:
    folder = home / "traced"
    evolve("problem", "init", str(folder))
    (folder / "evaluator.py").write_text(TRACED)
    program = folder / "initial_program.py"
    program.write_text(f"print('loaded')\n{program.read_text()}")
    return folder


def test_a_check_shows_printed_text_feedback_and_artifacts_apart(evolve: Evolve, home: Path) -> None:
    folder = str(traced(evolve, home))
    said = evolve("problem", "check", folder)
    assert said.code == 0, said.out + said.err
    _, sections = said.out.split("feedback on initial_program.py:\n")
    assert sections.splitlines()[:-1] == [
        "  go on",
        "artifacts of initial_program.py:",
        "  plan:",
        "    first",
        "    second",
        "  note: short",
        "printed by the program for initial_program.py:",
        "  loaded",
        "printed by the evaluator for initial_program.py:",
        "  scored 1",
    ]
    (report,) = evolve("problem", "check", folder, "--json").lines
    (seed,) = report["seeds"]
    assert seed["printed"] == {"program": "loaded", "evaluator": "scored 1"}
    assert seed["artifacts"] == {"plan": "first\nsecond", "note": "short"}
    assert set(seed["scores"]) == {"loss", "gap"}


def test_a_check_names_the_modules_whose_import_takes_long_until_they_are_preloaded(evolve: Evolve, home: Path) -> None:
    folder = traced(evolve, home)
    (report,) = evolve("problem", "check", str(folder), "--json").lines
    (advice,) = [sentence for sentence in report["advice"] if "importing takes" in sentence]
    assert 'evaluator.preload with ["numpy"' in advice
    assert "numpy" in report["seeds"][0]["imports"]
    assert 'evaluator.preload with ["numpy"' in evolve("problem", "check", str(folder)).err
    document = folder / "problem.toml"
    document.write_text(document.read_text().replace("[evaluator]", '[evaluator]\npreload = ["numpy"]', 1))
    (report,) = evolve("problem", "check", str(folder), "--json").lines
    assert "numpy" not in report["seeds"][0]["imports"]
    assert not [sentence for sentence in report["advice"] if "numpy" in sentence.partition("preload")[0]]


def test_every_complaint_of_a_check_is_told(evolve: Evolve, home: Path) -> None:
    folder = home / "mine"
    evolve("problem", "init", str(folder))
    (folder / "initial_program.py").write_text("def solve():\n    raise ValueError('no')\n")
    found = evolve("problem", "check", str(folder))
    assert found.code == 8
    assert "fails (error)" in found.out


def test_network_needs_the_operators_permission(evolve: Evolve, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "mine"
    evolve("problem", "init", str(folder))
    text = (folder / "problem.toml").read_text()
    (folder / "problem.toml").write_text(text.replace("[limits]", "[limits]\nnetwork = true\n", 1))
    refused = evolve("problem", "check", str(folder))
    assert refused.code == 4
    assert "EVOLVE_SANDBOX__NETWORK=true" in refused.err
    monkeypatch.setenv("EVOLVE_SANDBOX__NETWORK", "true")
    assert evolve("problem", "check", str(folder)).code == 0


def test_the_doctor_says_what_holds(evolve: Evolve, home: Path) -> None:
    found = evolve("doctor", "--json", "--db", sqlite_url(home / "runs.db"))
    (report,) = found.lines
    assert report["sandbox"]["level"] in {"strong", "medium", "weak", "none"}
    assert report["database"]["state"] == "absent"
    assert all(layer["reason"] for layer in report["sandbox"]["layers"])
    assert found.code == (0 if report["ok"] else 1)
    assert "landlock" in evolve("doctor").out


def test_the_doctor_is_not_content_with_a_database_that_is_none(evolve: Evolve, home: Path) -> None:
    (home / "no.db").write_text("this is no database, and long enough to be read as none" * 20)
    found = evolve("doctor", "--json", "--db", sqlite_url(home / "no.db"))
    assert found.code == 1
    assert found.lines[0]["database"]["state"] == "unavailable"


def test_the_doctor_tries_the_queue(evolve: Evolve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOLVE_QUEUE__URL", "redis://:hunter2@127.0.0.1:9/0")
    found = evolve("doctor")
    assert found.code == 1
    assert re.search(r"queue +✗ redis://:\*+@127.0.0.1:9/0: the queue does not answer: Connection refused", found.out)


def test_the_doctor_shows_no_database_where_a_worker_has_a_queue_and_none_is_set(
    evolve: Evolve, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOLVE_QUEUE__URL", "redis://127.0.0.1:9/0")
    assert re.search(r"database +✓ not set \(a worker needs no database\) *\n", evolve("doctor").out)
    url = sqlite_url(home / "runs.db")
    assert evolve("doctor", "--json", "--db", url).lines[0]["database"]["url"] == url
    monkeypatch.setenv("EVOLVE_DATABASE__URL", url)
    assert evolve("doctor", "--json").lines[0]["database"]["url"] == url


def test_the_doctor_shows_settings_as_a_file_would_hold_them(evolve: Evolve) -> None:
    rows = dict(line.split(maxsplit=1) for line in evolve("doctor").out.splitlines() if line.startswith("  "))
    shown = {key: value.strip() for key, value in rows.items()}
    assert (shown["queue.url"], shown["policies.allow"], shown["sandbox.network"]) == ("not set", "not set", "false")


def test_the_doctor_keeps_a_long_path_on_one_line_in_a_pipe(
    evolve: Evolve, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = home.joinpath(*["x" * 100] * 3, "runs.db")
    long.parent.mkdir(parents=True)
    assert str(long) in evolve("doctor", "--db", sqlite_url(long)).out
    monkeypatch.setenv("COLUMNS", "100")
    assert str(long) not in evolve("doctor", "--db", sqlite_url(long)).out


def test_the_doctor_shows_no_password(evolve: Evolve) -> None:
    found = evolve("doctor", "--db", "postgresql://me:hunter2@127.0.0.1:9/x?connect_timeout=1")
    assert "hunter2" not in found.out + found.err
    assert found.code == 1
