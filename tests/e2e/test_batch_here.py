"""A batch without a service: run by the command itself, resumed after any end, the same table as any other."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from service.db.engine import Database, open_database
from service.db.intents import SqlRunClaims
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import RunFilter
from service.timestamps import SystemClock
from tests.command_line import EVOLVE
from tests.e2e.evolving import Evolve, EvolveHere, essence, make_problem
from tests.patience import PATIENCE_SECONDS

EVALUATIONS, SEEDS = 40, 4
ENDLESS = 1_000_000
SWEEP = """
name = "{name}"
[sweep]
problem = "toy"
seeds = [1, 2, 3, 4]
[sweep.config]
budget.evaluations = {evaluations}
deterministic.window = 4
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def evolve(request: pytest.FixtureRequest, tmp_path: Path) -> Evolve:
    made = EvolveHere(tmp_path)
    if request.param == "postgresql":
        made.url = made.environment["EVOLVE_DATABASE__URL"] = request.getfixturevalue("postgres_url")
    return made


@pytest.fixture
def here(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    make_problem(tmp_path / "toy")
    return written(tmp_path, "sweep", EVALUATIONS)


def written(folder: Path, name: str, evaluations: int) -> Path:
    file = folder / f"{name}.toml"
    file.write_text(SWEEP.format(name=name, evaluations=evaluations))
    return file


@contextmanager
def database_of(evolve: Evolve) -> Iterator[Database]:
    database = open_database(evolve.url)
    try:
        yield database
    finally:
        database.close()


def events_of(evolve: Evolve, batch_id: str) -> dict[str, list[dict[str, Any]]]:
    """The events of each run of a batch, by run, in the order of the batch."""
    with database_of(evolve) as database:
        runs = SqlRunReader(database).runs(100, only=RunFilter(batch_id=batch_id), oldest_first=True)
        log = SqlRunLog(database, SystemClock())
        return {run.id: [logged.as_json() for logged in log.events(run.id)] for run in runs}


def newest(evolve: Evolve) -> dict[str, Any]:
    return evolve.lines("batches", "--json", "--limit", "1")[0]


def read_until(process: subprocess.Popen[str], words: str) -> str:
    """What a command says on stderr up to a line with these words."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if words in line:
            return said
    raise AssertionError(f"it ended and never said {words!r}: {said}")


def programs_of(evolve: Evolve, run_id: str) -> list[dict[str, Any]]:
    return [essence(candidate) for candidate in evolve.lines("export", run_id)]


def test_a_batch_killed_halfway_ends_as_an_unbroken_one(evolve: Evolve, sweep: Path) -> None:
    whole = evolve.json("batch", str(sweep), "--parallel", "2")
    process = evolve.start("batch", str(sweep), "--parallel", "2")
    said = read_until(process, f"[1/{SEEDS}]")
    process.kill()
    process.communicate()
    batch_id = newest(evolve)["id"]
    assert batch_id[:17] in said
    before = events_of(evolve, batch_id)
    assert any(events[-1]["kind"] == "run.finished" for events in before.values())
    assert any(events[-1]["kind"] != "run.finished" for events in before.values())
    resumed = evolve.json("batch", "last", "--parallel", "2")
    assert (resumed["batch"]["id"], resumed["batch"]["states"]) == (batch_id, {"succeeded": SEEDS})
    assert resumed["groups"] == whole["groups"]
    unbroken = events_of(evolve, whole["batch"]["id"])
    for (run_id, events), other in zip(events_of(evolve, batch_id).items(), unbroken, strict=True):
        assert events[: len(before[run_id])] == before[run_id]
        evaluated = Counter(event["candidate_id"] for event in events if event["kind"] == "candidate.evaluated")
        assert (len(evaluated), set(evaluated.values())) == (EVALUATIONS, {1})
        assert programs_of(evolve, run_id) == programs_of(evolve, other)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_pauses_all_runs_and_the_batch_goes_on(evolve: Evolve, tmp_path: Path, number: int) -> None:
    make_problem(tmp_path / "toy")
    endless = tmp_path / "endless.toml"
    endless.write_text(SWEEP.format(name="endless", evaluations=ENDLESS))
    process = evolve.start("batch", str(endless), "--parallel", "2")
    read_until(process, "2 at once in this process")
    process.send_signal(number)
    _, said = process.communicate()
    batch = newest(evolve)
    again = f"evolve batch {batch['id'][:17]}"
    assert (process.returncode, batch["states"]) == (130, {"paused": SEEDS})
    assert again in said.splitlines()[-1]
    with database_of(evolve) as database:  # what `evolve serve` would find to do in it
        assert SqlRunClaims(database, SystemClock()).claim("another", 12.0, []) is None
    process = evolve.start("batch", batch["id"][:17], "--parallel", "2")
    read_until(process, "2 at once in this process")
    evolve.call("cancel", batch["id"])
    assert process.wait(PATIENCE_SECONDS) == 1
    assert f"{SEEDS} runs cancelled" in process.communicate()[1]


def test_each_run_that_ends_is_a_line(here: Evolve, sweep: Path) -> None:
    said = here.said("batch", str(sweep), "--parallel", "1", "--name", "named", "--label", "team=red")
    lines = said.err.splitlines()
    assert said.code == 0
    assert [line.partition(" ")[0] for line in lines[1:-1]] == [f"[{place}/{SEEDS}]" for place in range(1, SEEDS + 1)]
    for seed, line in enumerate(lines[1:-1], start=1):  # one at once, in the order of the file
        assert f"toy, seed {seed}: succeeded, best " in line
        assert f", {EVALUATIONS} evaluated in " in line
    heading, *_ = said.out.splitlines()
    assert heading == "named: succeeded"
    runs = here.lines("runs", "--json", "--label", "team=red")
    assert [run["seed"] for run in runs] == [4, 3, 2, 1]
    assert len({run["run_id"][:17] for run in runs}) == SEEDS
    again = here.said("batch", "last")
    assert (again.code, again.out.splitlines()[0]) == (0, "named: succeeded")
    batch = here.lines("batches", "--json")[0]["id"][:17]
    assert again.err == f"next: {EVOLVE} compare {batch}\n"
    compared = here.said("compare", batch)
    assert (compared.code, "4 runs of toy/" in compared.out, "seeds 1, 2, 3, 4" in compared.out) == (0, True, True)
    assert [line.split()[0] for line in compared.out.splitlines()[1:5]] == [run["run_id"][:17] for run in runs[::-1]]
    named = here.said("compare", f"all={batch}", f"again={runs[0]['run_id']}")
    assert (named.code, "3 runs of all, seeds 1, 2, 3" in named.out) == (0, True)
    assert "a single seed does not rule out luck" in named.out
    absent = here.said("compare", "bat_00000000-0000")
    assert (absent.code, "there is no batch bat_00000000-0000" in absent.err) == (3, True)
    quiet = here.said("batch", "last", "-q", "--json")
    assert (quiet.code, quiet.err, json.loads(quiet.out)["batch"]["name"]) == (0, "", "named")


def test_a_batch_is_found_listed_and_steered_in_the_database(here: Evolve, tmp_path: Path, sweep: Path) -> None:
    assert here.said("batch", "last").code == 3
    here.call("batch", str(sweep))
    batch = newest(here)
    assert (batch["name"], batch["state"]) == ("sweep", "succeeded")
    heading, row = here.call("batches").splitlines()
    assert (heading.split()[0], row.split()[:2]) == ("batch", [batch["id"][:17], "sweep"])
    said = here.said("pause", batch["id"])
    assert (said.code, "has ended, it is succeeded" in said.err) == (5, True)
    assert here.said("batch", "bat_ffffffff").code == 3
    assert here.said("batch", "last", "--name", "other").code == 2
    problem = here.lines("runs", "--json")[0]["problem_name"]
    stored = tmp_path / "stored.toml"
    stored.write_text(f'name = "stored"\n[[runs]]\nproblem = "{problem}@1"\nconfig.budget.evaluations = 4\n')
    assert here.json("batch", str(stored))["groups"][0]["problem"] == f"{problem}@1"


def test_a_batch_pauses_where_somebody_says_so(here: Evolve, tmp_path: Path) -> None:
    make_problem(tmp_path / "toy")
    process = here.start("batch", str(written(tmp_path, "endless", ENDLESS)), "--parallel", "2")
    read_until(process, "2 at once in this process")
    here.call("pause", newest(here)["id"])
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert f"{SEEDS} runs paused" in said


def test_failed_runs_are_told_with_their_reason(here: Evolve, tmp_path: Path) -> None:
    make_problem(tmp_path / "toy")
    broken = make_problem(tmp_path / "broken")
    (broken / "program.py").write_text("def give():\n    raise ValueError\n")
    file = tmp_path / "both.toml"
    file.write_text(
        'name = "both"\n[sweep]\nproblems = ["toy", "broken"]\nseeds = [1, 2]\nconfig.budget.evaluations = 4\n'
    )
    said = here.said("batch", str(file))
    assert said.code == 8
    assert "2 runs failed: no seed of broken could be scored" in said.err
    assert [line.split()[0] for line in said.out.splitlines()[2:]] == ["broken@1", "toy@1"]
    again = here.said("batch", "last", "--json")
    assert (again.code, json.loads(again.out)["batch"]["states"]) == (8, {"failed": 2, "succeeded": 2})


@pytest.mark.parametrize(
    ("document", "code", "words"),
    [
        ('sweep = { problem = "toy", seeds = [1], config = { islnads = 2 } }', 2, "islnads"),
        ('sweep = { problem = "toy", seeds = [1], policies = ["nobody"] }', 3, "there is no policy 'nobody'"),
        ('sweep = { problem = "away", seeds = [1] }', 3, "away"),
        ('sweep = { problems = ["toy", "./toy"], seeds = [1] }', 2, "twice"),
        ('runs = [{ problem = "toy" }]\nsweep = { problem = "toy", seeds = [1] }', 2, "runs or a sweep"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_stored(
    here: Evolve, tmp_path: Path, document: str, code: int, words: str
) -> None:
    make_problem(tmp_path / "toy")
    file = tmp_path / "off.toml"
    file.write_text(f'name = "off"\n{document}\n')
    said = here.said("batch", str(file))
    assert (said.code, said.out, len(said.err.splitlines()), words in said.err) == (code, "", 1, True), said.err
    assert here.call("batches") == here.call("runs") == ""


def test_options_of_another_place_are_refused(here: Evolve, sweep: Path) -> None:
    said = here.said("batch", str(sweep), "--detach")
    assert (said.code, "--detach needs a service" in said.err) == (2, True)
    said = here.said("batch", str(sweep), "--require-isolation", "iron")
    assert (said.code, "choose one of" in said.err) == (2, True)
    assert here.call("batches") == ""


def test_a_problem_of_ones_own_keeps_the_rights_of_evolve_run(here: Evolve, tmp_path: Path, sweep: Path) -> None:
    """Paths that a problem names are opened, and a policy may be anywhere: nobody else wrote the file."""
    data = tmp_path / "data"
    data.mkdir()
    document = (tmp_path / "toy" / "problem.toml").read_text()
    read = document.replace("[evaluator]", f'[evaluator]\nread = ["{data}"]\npython = "{sys.executable}"')
    (tmp_path / "toy" / "problem.toml").write_text(read)
    assert here.json("batch", str(sweep))["batch"]["states"] == {"succeeded": SEEDS}
