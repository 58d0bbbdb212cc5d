"""A run that is killed, stopped or resumed loses nothing that was committed, and ends where an unbroken one does."""

import json
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.timestamps import SystemClock
from tests.e2e.evolving import Evolve, EvolveHere, descendants_of, essence, make_problem
from tests.patience import PATIENCE_SECONDS

EVALUATIONS = 60
# More than a test can take to stop them.
ENDLESS = 1_000_000


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    return make_problem(tmp_path / "toy", evaluations=EVALUATIONS)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A problem whose run is at work whenever it is stopped, however late that is."""
    return make_problem(tmp_path / "endless", evaluations=ENDLESS)


def wait_until_gone(pids: set[int]) -> set[int]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    left = pids
    while left and time.monotonic() < deadline:
        left = {pid for pid in left if Path(f"/proc/{pid}").exists() and not zombie(pid)}
    return left


def zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def interrupt_after(process: subprocess.Popen[str], lines: int, number: int) -> list[dict[str, Any]]:
    """Send a signal once so many events were streamed; all events that were."""
    assert process.stdout is not None
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if len(events) == lines:
            process.send_signal(number)
    process.wait(PATIENCE_SECONDS)
    process.stdout.close()
    if process.stderr is not None:
        process.stderr.close()
    return events


def log_of(evolve: Evolve, run: str) -> list[dict[str, Any]]:
    database = open_database(evolve.url)
    try:
        return [logged.as_json() for logged in SqlRunLog(database, SystemClock()).events(run)]
    finally:
        database.close()


def check_whole(evolve: Evolve, run: str, evaluations: int = EVALUATIONS) -> list[dict[str, Any]]:
    """The rules that hold after any accident; the run's candidates."""
    events = log_of(evolve, run)
    sequences = [event["sequence"] for event in events]
    assert sequences == list(range(1, len(sequences) + 1))
    evaluated = Counter(event["candidate_id"] for event in events if event["kind"] == "candidate.evaluated")
    assert len(evaluated) == evaluations
    assert set(evaluated.values()) == {1}
    candidates = evolve.lines("export", run)
    assert sum(candidate["status"] == "evaluated" for candidate in candidates) == evaluations
    assert not [candidate for candidate in candidates if candidate["status"] in ("pending", "evaluating")]
    return candidates


@pytest.mark.parametrize("chance", range(3))
def test_a_run_killed_at_random_points_ends_as_the_unbroken_one(evolve: Evolve, problem: Path, chance: int) -> None:
    words = ["--deterministic", "--seed", "7", "--workers", "2"]
    unbroken = evolve.lines("run", str(problem), *words, "--json")
    draw = random.Random(chance)
    events = interrupt_after(
        evolve.start("run", str(problem), *words, "--json"), draw.randrange(1, 150), signal.SIGKILL
    )
    run = events[0]["run_id"]
    for _ in range(3):
        if any(event["kind"] == "run.finished" for event in events):
            break
        process = evolve.start("run", "--resume", run, "--workers", "2", "--json")
        events += interrupt_after(process, draw.randrange(1, 120), signal.SIGKILL)
    if not any(event["kind"] == "run.finished" for event in events):
        evolve.call("run", "--resume", run, "--json")
    candidates = check_whole(evolve, run)
    whole = evolve.lines("export", unbroken[0]["run_id"])
    assert [essence(candidate) for candidate in candidates] == [essence(candidate) for candidate in whole]


def test_a_continued_run_that_is_killed_ends_as_one_that_is_not(evolve: Evolve, problem: Path) -> None:
    words = ["--deterministic", "--seed", "7", "--workers", "2", "--json"]
    ends: list[list[dict[str, Any]]] = []
    for killed in (False, True):
        run = evolve.lines("run", str(problem), *words)[0]["run_id"]
        first = check_whole(evolve, run)
        more = ["run", "--resume", run, "--evaluations", str(2 * EVALUATIONS), "--workers", "2", "--json"]
        if killed:
            interrupt_after(evolve.start(*more), 60, signal.SIGKILL)
            more = ["run", "--resume", run, "--workers", "2", "--json"]
        evolve.call(*more)
        ends.append([essence(candidate) for candidate in check_whole(evolve, run, 2 * EVALUATIONS)])
        assert ends[-1][: len(first)] == [essence(candidate) for candidate in first]
    assert ends[0] == ends[1]
    assert evolve.said("run", "--resume", "last", "--json").code == 5


def test_what_was_shown_before_a_kill_is_stored(evolve: Evolve, problem: Path) -> None:
    events = interrupt_after(evolve.start("run", str(problem), "--json"), 100, signal.SIGKILL)
    stored = {candidate["candidate_id"]: candidate for candidate in evolve.lines("export", events[0]["run_id"])}
    for event in events:
        if event["kind"] == "candidate.evaluated":
            assert stored[event["candidate_id"]]["fitness"] == event["fitness"]


def test_a_run_that_is_stopped_as_soon_as_it_names_the_way_is_paused(evolve: Evolve, endless: Path) -> None:
    for _ in range(3):
        process = evolve.start("run", str(endless))
        assert process.stderr is not None
        assert "Press Ctrl-C to stop" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 130
    assert {run["state"] for run in evolve.lines("runs", "--json")} == {"paused"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_says_how_to_go_on_and_goes_on(evolve: Evolve, endless: Path, number: int) -> None:
    process = evolve.start("run", str(endless), "--json")
    events = interrupt_after(process, 60, number)
    assert process.returncode == 130
    run = events[0]["run_id"]
    shown = evolve.json("show", run)
    assert shown["state"] == "paused"
    whole = shown["counters"]["evaluations"] + 20
    evolve.call("extend", run, "--evaluations", str(whole))
    evolve.call("run", "--resume", run, "--json")
    check_whole(evolve, run, whole)


def test_a_killed_run_leaves_no_process_behind(evolve: Evolve, endless: Path) -> None:
    process = evolve.start("run", str(endless), "--json")
    assert process.stdout is not None
    for _ in range(40):
        process.stdout.readline()
    children = descendants_of(process.pid)
    assert children
    process.kill()
    process.communicate()
    assert wait_until_gone(children) == set()


def test_a_run_that_ended_is_not_resumed(evolve: Evolve, problem: Path) -> None:
    run = evolve.lines("run", str(problem), "--json")[0]["run_id"]
    said = evolve.said("run", "--resume", run)
    assert said.code == 5
    assert "has ended" in said.err


def test_a_run_that_is_being_driven_is_not_driven_twice(evolve: Evolve, endless: Path) -> None:
    process = evolve.start("run", str(endless), "--json")
    assert process.stdout is not None
    run = json.loads(process.stdout.readline())["run_id"]
    said = evolve.said("run", "--resume", run)
    process.kill()
    process.communicate()
    assert said.code == 5
    assert "Traceback" not in said.err
