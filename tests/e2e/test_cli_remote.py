"""The command line with a service: the same words, results and exit codes as with a database."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.ports import Scope
from tests.command_line import EVOLVE, Said, call_here
from tests.integration.client.served import Service
from tests.patience import PATIENCE_SECONDS


class Remote:
    """Commands that speak to a service, from a home of their own that knows no database."""

    def __init__(self, service: Service, home: Path) -> None:
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL")}
        named = {"EVOLVE_SERVER": service.url, "EVOLVE_API_KEY_FILE": str(service.key_file)}
        self.environment = kept | named | {"HOME": str(home)}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [EVOLVE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment
        )

    def said(self, *words: str) -> Said:
        said = call_here(words, self.environment)
        assert "Traceback" not in said.err
        return said

    def call(self, *words: str, code: int = 0) -> str:
        said = self.said(*words)
        assert said.code == code, f"exit {said.code}: {said.err}"
        return said.out

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.call(*words, "--json", code=code))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("service"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def remote(service: Service, tmp_path: Path) -> Remote:
    return Remote(service, tmp_path)


@pytest.fixture(scope="module")
def ended(service: Service) -> str:
    """A run that has ended, made with a service by the command line."""
    words = ["run", str(service.folder), "--evaluations", "40", "--seed", "3", "--json", *service.words()]
    lines = service.evolve.lines(*words)
    run_id: str = lines[-1]["run_id"]
    return run_id


def test_a_run_of_a_service_streams_and_ends_like_one_that_goes_on_here(service: Service, tmp_path: Path) -> None:
    words = ["run", str(service.folder), "--evaluations", "40", "--seed", "3", "--deterministic", "--json"]
    there = service.evolve.lines(*words, *service.words())
    here = service.evolve.lines(*words)
    *events, summary = there
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert (summary["kind"], summary["state"], summary["reason"]) == ("run.summary", "succeeded", "evaluations")
    assert set(summary) == set(here[-1])
    same = ("state", "reason", "evaluations", "valid", "failed", "duplicates", "answers", "seed_fitness", "tokens")
    assert {key: summary[key] for key in same} == {key: here[-1][key] for key in same}
    assert summary["best"]["program_id"] == here[-1]["best"]["program_id"]


READING = [
    ["show"], ["best"], ["best", "--weights", "value=1"], ["candidates"], ["candidates", "--all"], ["lineage"],
    ["diff"], ["export"], ["compare"], ["watch", "--after", "90"], ["export", "--format", "csv"],
    ["compare", "--over", "time", "--by", "strategy", "--at", "0.5,1"], ["show", "--metrics"],
    ["candidates", "--text", "return"], ["candidates", "--text", "return", "--all"],
    ["vote"], ["vote", "--rule", "best_of_majority", "--min-share", "0.01"],
]  # fmt: skip


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_results_of_a_service_are_those_of_its_database(
    service: Service, remote: Remote, ended: str, words: list[str]
) -> None:
    name, *options = words
    asked = [name, ended, *options, *(["--json"] if name != "export" else [])]
    there = remote.call(*asked)
    here = service.evolve.call(*asked, "--db", service.evolve.url)
    assert there == here


def test_tables_of_a_service_are_those_of_its_database(service: Service, remote: Remote, ended: str) -> None:
    here = service.evolve.call("runs", "--db", service.evolve.url)
    assert _without_ages(remote.call("runs")) == _without_ages(here)
    for words in (["show", ended], ["candidates", ended], ["lineage", ended], ["diff", ended]):
        assert remote.call(*words) == service.evolve.call(*words, "--db", service.evolve.url)
    best = remote.json("best", ended)["candidate_id"]
    for words in (["show", best, "--source"], ["show", best[:12], "--prompt", "--json"]):
        assert remote.call(*words) == service.evolve.call(*words, "--db", service.evolve.url)


def _without_ages(table: str) -> list[list[str]]:
    """The rows of a list of runs without the last column, which moves on from one call to the next."""
    return [line.split()[:-2] for line in table.splitlines()[1:]]


def test_a_run_of_a_service_has_a_name_and_labels_by_which_it_is_found(service: Service, remote: Remote) -> None:
    words = ["run", str(service.folder), "--evaluations", "3", "--name", "far away", "--label", "team=blue"]
    run = remote.json(*words, "--detach")
    assert run["labels"] == {"name": "far away", "team": "blue"}
    assert [line["run_id"] for line in _found(remote, "team=blue")] == [run["run_id"]]
    assert _found(remote, "team=blue", "name=other") == []
    assert "far away" in remote.call("runs", "--label", "team=blue")
    remote.call("watch", run["run_id"])
    fork = remote.json("fork", run["run_id"], "--name", "copy", "--label", "team=red", "--evaluations", "100000")
    assert fork["labels"] == {"name": "copy", "team": "red"}
    remote.call("cancel", fork["run_id"])
    said = remote.said("runs", "--label", "team=a,b=c")
    assert (said.code, "a label with a comma" in said.err) == (2, True)


def _found(remote: Remote, *labels: str) -> list[dict[str, Any]]:
    words = [word for label in labels for word in ("--label", label)]
    return [json.loads(line) for line in remote.call("runs", *words, "--json").splitlines()]


def test_the_answers_of_a_run_are_counted_with_a_service(service: Service, remote: Remote, ended: str) -> None:
    found = remote.json("vote", ended)
    rows = [json.loads(line) for line in remote.call("export", ended).splitlines()]
    answers = {row["candidate_id"]: row["answer"] for row in rows}
    assert found["answers"] == len(set(answers.values()) - {None}) > 1
    assert answers[found["winner"]["best_candidate_id"]] == found["winner"]["answer"]


def test_a_problem_is_checked_by_a_service(service: Service, remote: Remote, tmp_path: Path) -> None:
    report = remote.json("problem", "check", str(service.folder))
    assert (report["ok"], report["seeds"][0]["outcome"]) == (True, "ok")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "readme.md").write_text("nothing")
    assert remote.json("problem", "check", str(tmp_path / "empty"), code=8)["complaints"]
    assert "evolve: " in remote.said("run", str(tmp_path / "empty")).err


EVALUATOR = """
import numpy

def evaluate(program_path):
    print("looking at", program_path.rpartition("/")[2])
    return {"combined_score": 1.0, "feedback": "go on", "artifacts": {"plan": "short"}}
"""


def test_a_check_by_a_service_shows_text_artifacts_and_advice(remote: Remote, tmp_path: Path) -> None:
    folder = tmp_path / "traced"
    folder.mkdir()
    (folder / "initial_program.py").write_text("x = 1\n")
    (folder / "evaluator.py").write_text(EVALUATOR)
    said = remote.said("problem", "check", str(folder))
    assert said.code == 0, said.err
    _, sections = said.out.split("feedback on initial_program.py:\n")
    assert sections.splitlines()[:-1] == [
        "  go on",
        "artifacts of initial_program.py:",
        "  plan: short",
        "printed for initial_program.py:",
        "  looking at initial_program.py",
    ]
    assert "importing takes" in said.err
    report = remote.json("problem", "check", str(folder))
    (seed,) = report["seeds"]
    assert (report["ready"], seed["fitness"], seed["artifacts"]) == (True, 1.0, {"plan": "short"})
    assert (seed["feedback_without_artifacts"], seed["printed"]) == ("go on", {"both": "looking at initial_program.py"})
    assert "numpy" in seed["imports"]
    assert 'evaluator.preload with ["numpy"' in " ".join(report["advice"])


def detached(service: Service, remote: Remote, *words: str) -> str:
    """A run that goes on for long."""
    return remote.call("run", str(service.folder), "--evaluations", "1000000", "--detach", *words).strip()


def test_a_run_is_paused_extended_resumed_forked_and_cancelled(service: Service, remote: Remote) -> None:
    run = detached(service, remote)
    assert remote.json("pause", run)["desired_state"] == "paused"
    watched = remote.call("watch", run, "--json", code=130).splitlines()
    assert json.loads(watched[-1])["state"] == "paused"
    before = remote.json("show", run)["counters"]["evaluations"]
    remote.call("extend", run, "--evaluations", str(before + 30))
    remote.call("resume", run)
    assert "succeeded" in remote.call("watch", run)
    done = remote.json("show", run)["counters"]["evaluations"]
    assert before + 30 <= done < before + 60
    own = remote.said("run", str(service.folder), "--resume", run, "--evaluations", str(done + 20), "--json")
    assert (own.code, "warning" in own.err) == (0, False), own.err
    (other := service.home / "other").mkdir()
    (other / "initial_program.py").write_text("x = 1\n")
    (other / "evaluator.py").write_text(EVALUATOR)
    assert "is a run of toy, not of other" in remote.said("run", str(other), "--resume", run).err
    remote.call("pause", run, code=5)
    fork = remote.json("fork", run, "--evaluations", "1000000", "--seed", "9")
    assert fork["config"]["seed"] == 9
    assert fork["source"].endswith(remote.json("best", run)["candidate_id"])
    remote.call("cancel", fork["run_id"])
    assert json.loads(remote.call("watch", fork["run_id"], "--json", code=1).splitlines()[-1])["state"] == "cancelled"
    remote.call("delete", fork["run_id"][:20], code=2)
    remote.call("delete", fork["run_id"])
    remote.call("show", fork["run_id"], code=3)


def test_a_batch_is_submitted_from_a_file_and_summed_up(service: Service, remote: Remote) -> None:
    file = service.home / "sweep.toml"
    file.write_text(
        'name = "seeds"\n[sweep]\nproblem = "toy"\nseeds = [1, 2]\nconfig = { budget = { evaluations = 12 } }\n'
    )
    summary = remote.json("batch", str(file))
    assert summary["batch"]["states"] == {"succeeded": 2}
    assert summary["groups"][0]["runs"] == 2
    assert remote.json("batch", summary["batch"]["id"][:17]) == summary
    file.write_text("name = 3\n")
    remote.call("batch", str(file), code=2)


def test_ctrl_c_stops_watching_and_the_run_goes_on(service: Service, remote: Remote) -> None:
    run = detached(service, remote)
    watching = remote.start("watch", run, "--json")
    assert watching.stdout is not None
    for _ in range(20):
        watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=PATIENCE_SECONDS)
    assert watching.returncode == 130
    assert "The run continues" in err
    assert remote.json("show", run)["state"] == "running"
    remote.call("cancel", run)


def test_watching_goes_on_over_a_killed_and_restarted_service(tmp_path_factory: pytest.TempPathFactory) -> None:
    own = Service(tmp_path_factory.mktemp("own"))
    own.start()
    try:
        remote = Remote(own, own.home)
        with remote.start("run", str(own.folder), "--evaluations", "400", "--json") as watching:
            assert watching.stdout is not None
            assert watching.stderr is not None
            lines = [watching.stdout.readline() for _ in range(60)]
            own.kill()
            starting = threading.Thread(target=own.start)
            starting.start()
            # Not by communicate, which would not see what readline has read ahead.
            out, err = watching.stdout.read(), watching.stderr.read()
            starting.join()
        assert watching.returncode == 0, err
        *events, summary = [json.loads(line) for line in [*lines, *out.splitlines()]]
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        assert summary["state"] == "succeeded"
        assert "trying again" in err
    finally:
        own.stop()


def test_exit_codes_tell_what_a_service_refuses(service: Service, remote: Remote, ended: str, tmp_path: Path) -> None:
    assert remote.said("show", "run_ffffffff").code == 3
    assert remote.said("cancel", ended).code == 5
    assert remote.said("run", str(service.folder), "--set", "islnds=3").code == 2
    assert remote.said("run", str(service.folder), "--policy", "nobodys").code == 3
    assert remote.said("run", str(service.folder), "--require-isolation", "weak").code == 2
    assert remote.said("runs", "--db", service.evolve.url, "--server", service.url).code == 2
    (tmp_path / "wrong").write_text("evo_nobodys\n")
    wrong = remote.said("runs", "--api-key-file", str(tmp_path / "wrong"))
    assert (wrong.code, wrong.err.count("\n")) == (4, 1)
    (tmp_path / "less").write_text(service.key_with(Scope.RUNS_READ))
    assert remote.said("run", str(service.folder), "--api-key-file", str(tmp_path / "less")).code == 4
    assert remote.said("runs", "--api-key-file", str(tmp_path / "nowhere")).code == 2
    assert remote.said("runs", "--server", "http://127.0.0.1:9").code == 6
    assert remote.said("runs", "--server", "http://10.255.255.1").code == 2
    del remote.environment["EVOLVE_API_KEY_FILE"]
    assert "--api-key-file" in remote.said("runs").err


def test_a_key_is_never_shown(service: Service, remote: Remote, ended: str) -> None:
    remote.environment["EVOLVE_DEBUG"] = "1"
    process = remote.start("-v", "show", "run_ffffffff")
    shown = "".join(process.communicate(timeout=PATIENCE_SECONDS))
    assert service.key not in shown + remote.call("show", ended, "--json") + remote.call("doctor", "--json")


def test_settings_name_the_service_and_a_flag_goes_back_to_a_database(
    service: Service, remote: Remote, ended: str, tmp_path: Path
) -> None:
    for name in ("EVOLVE_SERVER", "EVOLVE_API_KEY_FILE"):
        del remote.environment[name]
    (tmp_path / ".config" / "evolve").mkdir(parents=True)
    text = f'[server]\nurl = "{service.url}"\nkey_file = "{service.key_file}"\n'
    (tmp_path / ".config" / "evolve" / "config.toml").write_text(text)
    assert remote.json("show", ended)["run_id"] == ended
    assert remote.said("show", ended, "--server", "").code == 3
    assert remote.json("show", ended, "--db", service.evolve.url)["run_id"] == ended


def test_commands_of_a_service_do_without_a_database(service: Service, remote: Remote, ended: str) -> None:
    script = (
        "import sys; from service.cli.main import main\n"
        f"for words in (['runs'], ['show', '{ended}'], ['watch', '{ended}', '-q'], ['pause', '{ended}']):\n"
        "    assert main(words) in (0, 5)\n"
        "    assert not {'sqlalchemy', 'alembic', 'fastapi', 'redis'} & set(sys.modules), words\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=remote.environment, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_report_of_a_service_is_that_of_its_database(
    service: Service, remote: Remote, ended: str, tmp_path: Path
) -> None:
    remote.call("report", ended, "-o", str(tmp_path / "there.html"))
    service.evolve.call("report", ended, "-o", str(tmp_path / "here.html"))
    there, here = (
        [line for line in (tmp_path / name).read_text(encoding="utf-8").splitlines() if "State of" not in line]
        for name in ("there.html", "here.html")
    )
    assert there == here
