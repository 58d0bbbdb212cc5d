"""The commands of training jobs and permissions: the same on a database and with a service."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from service.bootstrap.storage import open_storage
from service.bootstrap.trainers import make_trainer
from service.config import DatabaseSettings, Settings
from tests.command_line import Said
from tests.e2e.evolving import Evolve, EvolveHere, make_problem
from tests.fakes.tiny_llama import write_model
from tests.fakes.training_backend import CountingBackend
from tests.integration.client.served import Service
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Commands on a database, or with a service on it, and a trainer that counts."""

    evolve: Evolve
    folder: Path
    where: tuple[str, ...] = ()

    def said(self, *words: str) -> Said:
        found = self.evolve.said(*words, *self.where)
        assert "Traceback" not in found.err
        return found

    def call(self, *words: str, code: int = 0) -> str:
        found = self.said(*words)
        assert found.code == code, found.err
        return found.out

    def lines(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.call(*words, "--json", code=code).splitlines()]

    def train(self, backend: CountingBackend | None = None) -> None:
        """Train what is queued."""
        settings = Settings(database=DatabaseSettings(url=SecretStr(self.evolve.url)))
        with open_storage(settings) as storage:
            trainer = make_trainer(
                settings, storage, folder=self.folder, backends={"maze": backend or CountingBackend()}
            )
            trainer.run(lambda: all(job.finished_at for job in storage.training.jobs("default")))


@pytest.fixture(params=["database", "service"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the processes that count
    if request.param == "database":
        evolve = EvolveHere(tmp_path)
        evolve.call("policy", "add", "walker", str(write_model(tmp_path / "model", seed=1)))
        yield Place(evolve=evolve, folder=tmp_path / "training")
        return
    service = Service(tmp_path)
    service.start()
    service.evolve.call("policy", "add", "walker", str(write_model(tmp_path / "model", seed=1)), *service.words())
    yield Place(evolve=service.evolve, folder=tmp_path / "training", where=tuple(service.words()))
    service.stop()


def test_a_job_is_submitted_followed_and_shown(place: Place) -> None:
    place.call("policy", "promote", "walker@1")
    words = ("--base", "walker", "--method", "vector_max_at_k", "--k", "4", "--steps", "12", "--promote")
    (job,) = place.lines("training", "submit", "walker", *words, "--kinds", "small,hard", "--test-problems", "8")
    assert (job["state"], job["request"]["base"], job["request"]["kinds"]) == ("queued", "walker@1", ["small", "hard"])
    assert [found["id"] for found in place.lines("training", "list")] == [job["id"]]
    place.train()
    events = place.lines("training", "watch", job["id"])
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["kind"] == "training.succeeded"
    assert place.lines("training", "watch", "last", "--after", str(len(events) - 1)) == events[-1:]
    told = place.call("training", "watch")
    assert "progress: count 12/12  loss 0.0833" in told
    assert "succeeded: version 2, best@1 0.635 against 0.500: +0.135 [" in told
    assert told.rstrip().endswith("], promoted")
    shown = place.call("training", "show", job["id"][:-1])
    for line in (
        f"{job['id']}: succeeded",
        "base walker@1",
        "count 12/12: loss 0.0833",
        "checkpoint count 12",
        "kinds small, hard",
        "promote yes",
        "seed 0",
        "], promoted",
    ):
        assert line in shown
    assert "max_seconds" not in shown
    table = place.call("training", "list")
    assert "12/12" in table
    assert "succeeded" in table


def test_a_job_is_cancelled_and_resumed(place: Place) -> None:
    place.call("training", "submit", "walker", "--steps", "12")
    assert place.call("training", "cancel", "last").rstrip().endswith("is cancelled")
    assert place.said("training", "watch").code == 130
    assert place.call("training", "resume", "last").rstrip().endswith("is queued")
    place.train(CountingBackend(fails=True))
    failed = place.said("training", "watch")
    assert (failed.code, "failed: the back end failed: the disk is full of numbers" in failed.out) == (1, True)
    assert "error the back end failed: the disk is full of numbers" in place.call("training", "show")
    place.call("training", "resume", "last")
    place.train()
    assert place.said("training", "watch").code == 0
    again = place.said("training", "cancel", "last")
    assert (again.code, "has succeeded" in again.err) == (5, True)


def test_runs_are_allowed_and_forbidden(place: Place, tmp_path: Path) -> None:
    problem = make_problem(tmp_path / "numbers", evaluations=2)
    place.call("run", str(problem), "--policy", "syntax", "--evaluations", "2")
    run = place.lines("runs")[0]["run_id"]
    refused = place.said("training", "submit", "walker", "--run", run)
    assert (refused.code, "may not be trained on" in refused.err) == (4, True)
    assert place.call("training", "allow", "last") == f"{run} may be trained on\n"
    (job,) = place.lines("training", "submit", "walker", "--problem", "numbers")
    assert job["runs"] == [run]
    assert "may not be trained on" in place.call("training", "forbid", "--all")
    answers = place.lines("training", "permissions")
    assert [(one["run_id"], one["allowed"]) for one in answers] == [(None, False), (run, True)]
    assert "all others" in place.call("training", "permissions")
    for words in ((), (run, "--all")):
        assert place.said("training", "allow", *words).code == 2


def test_a_job_learns_from_the_texts_of_its_runs_wherever_they_ran(place: Place) -> None:
    place.call("run", str(ROOT / "examples" / "maze"), "--policy", "bundled:maze-base", "--evaluations", "4")
    place.call("training", "allow", "--all")
    place.call("training", "submit", "walker", "--problem", "maze")
    settings = Settings(database=DatabaseSettings(url=SecretStr(place.evolve.url)))
    with open_storage(settings) as storage:
        (job,) = storage.training.jobs("default")
    (text,) = job.request["texts"]
    assert "maze 8x8, at most 24 moves" in text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show",), 3, "there is no training job yet"),
        (("show", "trn_absent"), 3, "there is no training job trn_absent"),
        (("cancel", ""), 3, "there is no training job"),
        (("submit", "walker", "--steps", "1"), 2, "steps: "),
        (("submit", "walker", "--backend", "absent"), 2, "there is no back end 'absent'"),
        (("submit", "walker", "--label", "family"), 2, "write KEY=VALUE"),
        (("submit", "walker", "--base", "walker@9"), 3, "version 9"),
        (("submit", "walker", "--base", "walkr@1"), 3, "--base: there is no policy 'walkr'"),
        (("allow", "run_absent"), 3, "run_absent"),
    ],
)
def test_mistakes_are_said_in_a_sentence(tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    evolve = EvolveHere(tmp_path)
    evolve.call("policy", "add", "walker", str(write_model(tmp_path / "model", seed=1)))
    found = evolve.said("training", *words)
    assert (found.code, said in found.err, "Traceback" in found.err) == (code, True, False), found.err


def test_a_new_policy_is_registered_only_on_request(place: Place) -> None:
    for words in (("wlaker", "--base", "walker"), ("runner", "--new", "--base", "wlaker")):
        refused = place.said("training", "submit", *words)
        assert (refused.code, "'wlaker' in the registry" in refused.err) == (3, True), refused.err
        assert refused.err.rstrip().endswith(": did you mean 'walker'?")
    for option, value, code in (("--base", "walker@9", 3), ("--backend", "absent", 2), ("--label", "family=none", 2)):
        assert place.said("training", "submit", "runner", "--new", option, value).code == code
    assert place.said("training", "list", "--json").out == ""
    assert [policy["name"] for policy in place.lines("policy", "list")] == ["walker"]
    (job,) = place.lines("training", "submit", "runner", "--new", "--base", "walker@1")
    (again,) = place.lines("training", "submit", "runner", "--new", "--base", "walker@1")
    assert (job["policy"], again["policy"]) == ("runner", "runner")
    assert [policy["name"] for policy in place.lines("policy", "list")] == ["runner", "walker"]


def test_who_stops_watching_leaves_the_job(tmp_path: Path) -> None:
    evolve = Evolve(tmp_path)
    evolve.call("policy", "add", "walker", str(write_model(tmp_path / "model", seed=1)))
    evolve.call("training", "submit", "walker")
    watching = evolve.start("training", "watch")
    assert watching.stdout is not None
    assert "queued" in watching.stdout.readline()
    os.kill(watching.pid, signal.SIGINT)
    _, err = watching.communicate(timeout=PATIENCE_SECONDS)
    assert (watching.returncode, "The job continues" in err) == (130, True)
    assert evolve.lines("training", "list", "--json")[0]["state"] == "queued"
