"""Runs are sent to trackers beside the search and afterwards, and no tracker ever costs a run anything."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event

import pytest
from pydantic import SecretStr

import evolve
from evolve.errors import ConfigurationError, ExtensionError, MissingExtensionError
from evolve.extensions import Extensions
from evolve.problem import Direction, Objective
from evolve.trackers import TrackerChoice, open_tracker
from service.bootstrap.runners import open_runner
from service.bootstrap.storage import open_reader, open_storage
from service.bootstrap.submissions import make_submissions
from service.config import DatabaseSettings, Settings, TrackingSettings, load_settings
from service.db.problems import SqlProblemStore
from service.ports import RunRequest, Upload
from service.projections.columns import columns_of
from service.projections.run_site import RunSite, stored_site
from service.projections.series import fold_series
from service.usecases.track_run import RunTracking, read_choices, send_run
from tests.command_line import call_here
from tests.fakes.tracker import RELEASED, RUNS
from tests.unit.problems.folders import NATIVE, SCORE, SEED

KEEPING, FAILING, HANGING = (f"tests.fakes.tracker:{name}Tracker" for name in ("Keeping", "Failing", "Hanging"))


def score(source: str) -> dict[str, float]:
    space: dict[str, float] = {}
    exec(source, space)
    return {"gain": -abs(space["x"] - 42), "loss": abs(space["x"] - 42)}


def double(prompt: str) -> str:
    return f"x = {len(prompt) % 89}\n"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RunSite]:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    evolve.run(
        "x = 7\n",
        evaluate=score,
        policy=double,
        evaluations=12,
        storage=url,
        name="first",
        labels={"study": "s1"},
        objectives=[
            Objective(name="gain", low=-100.0, high=0.0),
            Objective(name="loss", direction=Direction.MINIMIZE, low=0.0, high=100.0),
        ],
    )
    with open_reader(load_settings(), url) as reader:
        yield stored_site(reader, url)


def opened(site: RunSite) -> AbstractContextManager[RunSite]:
    return nullcontext(site)


def run_id(site: RunSite) -> str:
    return site.reader.runs(limit=1)[0].id


def test_a_finished_run_is_sent_with_the_numbers_and_times_of_its_charts(site: RunSite) -> None:
    (choice,) = read_choices([f"{KEEPING}:charts"])
    sent = send_run(site, run_id(site), open_tracker(choice, Extensions()), Event())
    kept = RUNS["charts"][run_id(site)]
    with open_reader(load_settings(), site.name) as reader:
        moments = fold_series(columns_of(reader, reader.run(run_id(site))), 1000).moments
    assert sent.ended
    assert sent.points == len(kept.points) == len(moments) >= 2
    for point, moment in zip(kept.points, moments, strict=True):
        assert (point.evaluations, point.at) == (moment.evaluations, moment.at)
        assert point.metrics["best_fitness"] == moment.best_fitness
        assert point.metrics["valid_share"] == moment.valid
    best = site.reader.best(run_id(site), limit=50)
    assert kept.points[-1].metrics["best/gain"] == max(one.scores["gain"] for one in best)
    assert kept.points[-1].metrics["best/loss"] == min(one.scores["loss"] for one in best)


def test_what_is_sent_says_what_the_run_was(site: RunSite) -> None:
    (choice,) = read_choices([f"{KEEPING}:about"])
    send_run(site, run_id(site), open_tracker(choice, Extensions()), Event())
    kept, record = RUNS["about"][run_id(site)], site.reader.run(run_id(site))
    assert (kept.run.name, kept.run.labels) == ("first", {"study": "s1"})
    assert kept.run.parameters["config.budget.evaluations"] == 12
    assert kept.run.parameters["problem.objectives.loss.direction"] == "minimize"
    (result,) = kept.results
    assert (result.state, result.reason, result.ended_at) == ("succeeded", record.reason, record.finished_at)
    assert record.best_candidate_id
    assert dict(result.files) == dict(site.reader.program(record.best_candidate_id).files)
    assert result.summary["best_fitness"] == record.best_fitness


def test_a_run_that_was_sent_before_is_sent_what_is_missing(site: RunSite) -> None:
    (choice,) = read_choices([f"{KEEPING}:twice"])
    send_run(site, run_id(site), open_tracker(choice, Extensions()), Event())
    sent = send_run(site, run_id(site), open_tracker(choice, Extensions()), Event())
    points = RUNS["twice"][run_id(site)].points
    assert sent.points == 0
    assert len({point.evaluations for point in points}) == len(points)


def test_a_tracker_that_fails_is_one_warning_that_says_how_to_go_on(site: RunSite) -> None:
    warned: list[str] = []
    tracking = RunTracking(read_choices([f"{FAILING}:x", f"{KEEPING}:beside"]), lambda: opened(site), warned.append)
    with tracking.follow(run_id(site)):
        pass
    tracking.close()
    (sentence,) = warned
    assert "the server of the tracker is away" in sentence
    assert sentence.endswith(f"evolve track {run_id(site)} {FAILING}:x")
    assert RUNS["beside"][run_id(site)].results


def test_a_tracker_that_hangs_is_not_waited_for(site: RunSite) -> None:
    warned: list[str] = []
    RELEASED.clear()
    tracking = RunTracking(read_choices([f"{HANGING}:x"]), lambda: opened(site), warned.append)
    began = time.monotonic()
    try:
        with tracking.follow(run_id(site)):
            pass
        tracking.close(seconds=0.2)
        assert time.monotonic() - began < 5
        (sentence,) = warned
        assert "too slow" in sentence
    finally:
        RELEASED.set()


@pytest.mark.parametrize("word", ["", "tensorbord:runs", "http://127.0.0.1:5000", "a b:c"])
def test_a_word_that_names_no_tracker_is_refused_with_those_that_there_are(word: str) -> None:
    with pytest.raises((ConfigurationError, ExtensionError)) as refused:
        read_choices([word])
    assert "tracker" in str(refused.value)


@pytest.mark.parametrize(
    ("word", "choice"),
    [
        ("tensorboard", TrackerChoice("tensorboard")),
        ("tensorboard:/var/runs", TrackerChoice("tensorboard", "/var/runs")),
        ("mlflow:http://127.0.0.1:5000", TrackerChoice("mlflow", "http://127.0.0.1:5000")),
        ("wandb:team/project", TrackerChoice("wandb", "team/project")),
        (f"{KEEPING}:a:b", TrackerChoice(KEEPING, "a:b")),
        (KEEPING, TrackerChoice(KEEPING)),
    ],
)
def test_a_tracker_is_named_with_its_target(word: str, choice: TrackerChoice) -> None:
    assert TrackerChoice.read(word) == choice
    assert str(choice) == word


@pytest.mark.parametrize("name", ["mlflow", "tensorboard", "wandb"])
def test_a_missing_library_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [one for one in sys.modules if one.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtensionError, match=rf"pip install 'evolve-search\[{name}\]'"):
        read_choices([name])


def test_a_command_sends_a_run_while_it_is_driven_and_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / "problem"
    folder.mkdir()
    (folder / "problem.toml").write_text(NATIVE)
    (folder / "seed.py").write_text(SEED)
    (folder / "evaluator.py").write_text(SCORE)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    where = ["--db", f"sqlite:///{tmp_path / 'runs.db'}"]
    trackers = ["--track", f"{KEEPING}:live", "--track", f"{FAILING}:live"]
    ran = call_here(["run", str(folder), "--evaluations", "4", *trackers, *where], environment)
    assert ran.code == 0, ran.err
    assert ran.err.count("the server of the tracker is away") == 1
    sent = call_here(["track", "last", f"{KEEPING}:later", *where], environment)
    assert sent.code == 0, sent.err
    (live,), (later,) = RUNS["live"].values(), RUNS["later"].values()
    assert live.points
    assert live.points[-1] == later.points[-1]
    assert live.results == later.results


def test_a_call_sends_its_run_and_what_continues_it(tmp_path: Path) -> None:
    storage = tmp_path / "runs.db"
    result = evolve.run(
        "x = 7\n", evaluate=score, policy=double, evaluations=3, storage=storage, track=f"{KEEPING}:call"
    )
    kept = RUNS["call"][result.run_id]
    assert [one.state for one in kept.results] == ["succeeded"]
    again = evolve.open_run(result.run_id, storage=storage, evaluate=score, policy=double, track=[f"{KEEPING}:call"])
    again.extend(evaluations=5)
    assert kept.points[-1].evaluations > 3
    assert len({point.evaluations for point in kept.points}) == len(kept.points)


def test_a_call_without_storage_is_kept_where_commands_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOLVE_DATABASE__URL", f"sqlite:///{tmp_path / 'own.db'}")
    result = evolve.run("x = 7\n", evaluate=score, policy=double, evaluations=2, track=f"{KEEPING}:kept")
    assert evolve.open_run(result.run_id).fitness == result.fitness
    assert list(RUNS["kept"]) == [result.run_id]


def test_a_tracker_that_fails_warns_the_caller(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the server of the tracker is away"):
        result = evolve.run(
            "x = 7\n", evaluate=score, policy=double, evaluations=2, storage=tmp_path / "r.db", track=f"{FAILING}:x"
        )
    assert result.fitness is not None


def test_a_tracker_that_is_missing_ends_a_command_before_the_run(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    ran = call_here(["run", "nowhere", "--track", "tensorbord:runs", "--db", str(tmp_path / "runs.db")], environment)
    assert ran.code == 2
    assert "mlflow, tensorboard, wandb" in ran.err


async def test_a_runner_sends_its_runs_to_the_trackers_of_the_settings(tmp_path: Path) -> None:
    settings = Settings(
        database=DatabaseSettings(url=SecretStr(f"sqlite:///{tmp_path / 'runs.db'}")),
        tracking=TrackingSettings(trackers=(f"{KEEPING}:runner",)),
    )
    with open_storage(settings) as storage:
        submissions = make_submissions(settings, storage)
        files = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}
        SqlProblemStore(storage.database).add(submissions.read_problem(Upload(name="", files=files)))
        request = RunRequest(problem="p", policy="syntax", config={"budget": {"evaluations": 3}})
        (submitted,) = submissions.prepare("default", [request])
        storage.log.create(submitted)
        async with open_runner(settings, storage) as opened:
            running = asyncio.create_task(opened.run())
            await asyncio.to_thread(
                list, stored_site(storage.reader, storage.url).events(submitted.id, 0)
            )  # to its end
            opened.runner.leave()
            await running
        (kept,) = RUNS["runner"].values()
        assert kept.run.run_id == submitted.id
        assert kept.results[0].state == storage.reader.run(submitted.id).state
