"""The commands about batches before a real service: submitted, waited for, listed and steered."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import structlog

from service.cli.main import main
from service.client import Client, calls
from service.schemas.batches import Batch, BatchCreate, Sweep
from service.schemas.runs import Run
from tests.e2e.evolving import make_problem
from tests.integration.client.served import Service

Say = Callable[..., tuple[int, str, str]]
LONG = 1_000_000


@pytest.fixture
def evolve(service: Service, capsys: pytest.CaptureFixture[str]) -> Iterator[Say]:
    """Exit code, stdout and stderr of a command, in this process."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)

    def call(*words: str) -> tuple[int, str, str]:
        code = main([*words, *service.words()])
        return code, *capsys.readouterr()

    yield call
    root.handlers[:], root.level = before  # a command sends logs to its own stderr; the next test has another
    structlog.reset_defaults()


@pytest.fixture
def say(evolve: Say) -> Say:
    """`evolve batch` with some words."""
    return partial(evolve, "batch")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A person who presses Ctrl-C at the first pause; the pauses that were made."""
    made: list[float] = []

    def interrupted(seconds: float) -> None:
        made.append(seconds)
        raise KeyboardInterrupt

    monkeypatch.setattr("service.cli.batch_progress.time.sleep", interrupted)
    return made


def submitted(service: Service, client: Client, evaluations: int) -> Batch:
    problem = client.send(calls.create_problem(service.problem())).id
    sweep = Sweep(problem=problem, seeds=[1, 2], config={"budget": {"evaluations": evaluations}})
    return client.send(calls.create_batch(BatchCreate(name="two", sweep=sweep)))


def runs_of(client: Client, batch: Batch) -> list[Run]:
    return client.send(calls.list_runs(batch_id=batch.id)).items


def test_a_batch_that_was_submitted_is_waited_for_and_summed_up(service: Service, client: Client, say: Say) -> None:
    batch = submitted(service, client, 12)
    code, out, err = say(batch.id[:17], "--json")
    assert code == 0
    assert all(f"seed {seed}: succeeded, best " in err or "2 of them ended" in err for seed in (1, 2))
    summary = json.loads(out)
    assert summary == {"schema": 1} | client.send(calls.get_batch_summary(batch.id)).model_dump(mode="json")
    assert (summary["batch"]["id"], summary["groups"][0]["ended"]) == (batch.id, 2)
    for words in ([batch.id], [batch.id, "--detach"]):
        code, out, err = say(*words)
        assert (code, out.splitlines()[0]) == (0, "two: succeeded")
        assert "ended" not in out
    assert json.loads(say("last", "--json", "--detach")[1]) == summary


def test_ctrl_c_ends_with_the_command_that_waits_again(
    service: Service, client: Client, say: Say, looks: list[float], tmp_path: Path
) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'name = "long"\n[sweep]\nproblem = "{service.folder}"\nseeds = [1, 2]\nconfig.budget.evaluations = {LONG}\n'
    )
    code, out, err = say(str(file))
    batch = client.send(calls.list_batches(limit=1)).items[0]
    assert (code, out, len(looks)) == (130, "", 1)
    assert f"evolve batch {batch.id[:17]}" in err.splitlines()[-1]
    code, out, _ = say(batch.id[:17], "--detach")
    assert (code, len(looks)) == (0, 1)
    assert "ended" in out
    client.send(calls.cancel_batch(batch.id))


def test_a_sweep_over_several_folders_is_a_row_for_each_problem(service: Service, say: Say, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_problem(tmp_path / name, evaluations=8)
    file = tmp_path / "sweep.toml"
    file.write_text('name = "both"\n[sweep]\nproblems = ["one", "two"]\nseeds = [1]\n')
    code, out, _ = say(str(file))
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()[-2:]] == [["one@1", "1"], ["two@1", "1"]]
    file.write_text('name = "both"\n[sweep]\nproblems = ["one", "./one"]\nseeds = [1]\n')
    code, out, err = say(str(file))
    assert (code, out) == (2, "")
    assert "'one' twice" in err


def test_a_new_batch_has_the_name_and_labels_of_the_command_line(
    service: Service, client: Client, say: Say, tmp_path: Path
) -> None:
    listed = tmp_path / "list.toml"
    run = f'problem = "{service.folder}"\nconfig.budget.evaluations = 4\n'
    listed.write_text(f'[[runs]]\n{run}labels = {{ team = "red", by = "file" }}\n[[runs]]\n{run}')
    swept = tmp_path / "sweep.toml"
    swept.write_text(f'name = "swept"\n[sweep]\n{run}seeds = [1]\n')
    for file, name in ((listed, "listed"), (swept, "again")):
        code, out, _ = say(str(file), "--name", name, "--label", "team=blue", "--detach", "--json")
        batch = Batch(**json.loads(out))
        labels = [run.labels for run in runs_of(client, batch)]
        assert (code, batch.name, {one["team"] for one in labels}) == (0, name, {"blue"})
        client.send(calls.cancel_batch(batch.id))
    (batch,) = client.send(calls.list_batches(limit=1)).items
    code, out, err = say(batch.id, "--label", "team=blue")
    assert (code, out, "leave out --name and --label" in err) == (2, "", True)


def test_a_batch_whose_runs_are_paused_is_not_waited_for(service: Service, client: Client, say: Say) -> None:
    batch = submitted(service, client, LONG)
    client.send(calls.pause_batch(batch.id))
    code, out, err = say(batch.id)
    assert (code, out.splitlines()[0]) == (130, "two: paused")
    assert "2 runs paused" in err
    assert f"evolve resume {batch.id[:17]}" in err.splitlines()[-1]
    assert f"evolve batch {batch.id[:17]}" in err.splitlines()[-1]
    client.send(calls.cancel_batch(batch.id))  # which nobody has done yet when it is waited for
    code, out, _ = say(batch.id, "--json")
    assert (code, json.loads(out)["batch"]["states"]) == (1, {"cancelled": 2})


def test_a_batch_is_steered_by_its_id_as_a_run_is(service: Service, client: Client, evolve: Say, say: Say) -> None:
    batch = submitted(service, client, LONG)
    short = batch.id[:17]
    code, out, err = evolve("pause", short)
    assert (code, out) in [(0, f"{batch.id} {word}\n") for word in ("pauses", "is paused")]
    assert f"evolve batch {short}" in err.splitlines()[-1]
    assert (say(short)[0], {run.desired_state for run in runs_of(client, batch)}) == (130, {"paused"})
    code, out, _ = evolve("resume", short)
    assert (code, out) == (0, f"{batch.id} resumes\n")
    assert {run.desired_state for run in runs_of(client, batch)} == {"running"}
    code, out, _ = evolve("cancel", batch.id, "--json")
    told = json.loads(out)
    assert (code, told["schema"], told["id"], sum(told["states"].values())) == (0, 1, batch.id, 2)
    assert say(short)[0] == 1
    code, out, err = evolve("cancel", short)
    assert (code, out, err.splitlines()[0]) == (0, f"{batch.id} is cancelled\n", "2 cancelled")


def test_a_batch_that_has_ended_cannot_be_steered(service: Service, client: Client, evolve: Say, say: Say) -> None:
    batch = submitted(service, client, 4)
    assert say(batch.id)[0] == 0
    for verb in ("pause", "resume", "cancel"):
        code, out, err = evolve(verb, batch.id)
        assert (code, out) == (5, "")
        assert f"batch {batch.id} has ended, it is succeeded" in err
    for run in runs_of(client, batch):
        client.send(calls.delete_run(run.id))
    code, out, err = evolve("cancel", batch.id)
    assert (code, out, f"batch {batch.id} has no runs left" in err) == (5, "", True)


def test_batches_are_listed_newest_first(service: Service, client: Client, evolve: Say, say: Say) -> None:
    older, newer = (submitted(service, client, 4) for _ in range(2))
    for batch in (older, newer):
        assert say(batch.id)[0] == 0
    code, out, _ = evolve("batches", "--limit", "2")
    heading, *rows = out.splitlines()
    assert (code, heading.split()) == (0, ["batch", "name", "state", "runs", "ended", "created"])
    assert [row.split()[:5] for row in rows] == [
        [batch.id[:17], "two", "succeeded", "2", "2"] for batch in (newer, older)
    ]
    code, out, _ = evolve("batches", "--json")
    page = client.send(calls.list_batches(limit=20))
    assert [json.loads(line) for line in out.splitlines()] == [
        {"schema": 1} | batch.model_dump(mode="json") for batch in page.items
    ]


def test_the_list_of_batches_goes_over_pages(
    service: Service, client: Client, evolve: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [submitted(service, client, 4).id for _ in range(3)][::-1]
    monkeypatch.setattr("service.client.batches.PAGE", 2)
    code, out, _ = evolve("batches", "--json", "--limit", "3")
    assert (code, [json.loads(line)["id"] for line in out.splitlines()]) == (0, made)


def test_options_of_runs_in_this_process_are_not_for_a_service(say: Say, service: Service, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f'name = "here"\n[sweep]\nproblem = "{service.folder}"\nseeds = [1]\n')
    own = {
        "--parallel": "runner.runs",
        "--require-isolation": "sandbox.require",
        "--allow-unsandboxed": "sandbox.require",
    }
    for words in (["--parallel", "2"], ["--require-isolation", "weak"], ["--allow-unsandboxed"]):
        code, out, err = say(str(file), *words)
        assert (code, out, own[words[0]] in err) == (2, "", True)


def test_steering_a_batch_that_is_not_there_is_one_sentence(evolve: Say) -> None:
    for named, code in (("bat_ffffffff", 3), ("bat_/../keys", 3), ("bat_", 3)):
        found, out, err = evolve("cancel", named)
        assert (found, out, len(err.splitlines())) == (code, "", 1)


def test_a_file_of_that_name_is_what_is_submitted(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("last", "bat_0190cccc"):
        (tmp_path / name).write_text("name = 3\n")
        code, _, err = say(name)
        assert (code, "name: " in err) == (2, True)


@pytest.mark.parametrize(
    "document",
    [
        'sweep = { problem = "", seeds = [1] }',
        'sweep = { problems = ["toy", " "], seeds = [1] }',
        'runs = [{ problem = "toy" }, { problem = "\\t" }]',
    ],
)
def test_a_problem_without_a_name_is_not_the_folder_of_the_file(
    service: Service, client: Client, say: Say, document: str
) -> None:
    file = service.folder / "sweep.toml"  # were it sent, it would be a problem
    file.write_text(f'name = "b"\n{document}\n')
    before = [batch.id for batch in client.send(calls.list_batches(limit=1)).items]  # which may still be ending
    code, out, err = say(str(file))
    file.unlink()
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "name a folder beside the file (. is the file's own), or a problem of the service" in err
    assert [batch.id for batch in client.send(calls.list_batches(limit=1)).items] == before


def test_a_batch_without_a_name_is_told_so(say: Say, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text('name = " "\n[sweep]\nproblem = "toy"\nseeds = [1]\n')
    code, _, err = say(str(file))
    assert (code, "name: must not be blank" in err) == (2, True)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("bat_ffffffff", "there is no batch bat_ffffffff"),
        ("bat_", "too short"),
        ("bat_/../keys", "there is no file bat_/../keys"),
        ("bat_" + "a" * 300, "cannot be read"),
        ("sweep.tml", "there is no file sweep.tml"),
        ("run_0190cccc", "name a batch file, or a batch id (bat_...)"),
    ],
)
def test_what_names_no_batch_is_one_sentence(say: Say, named: str, words: str) -> None:
    code, out, err = say(named)
    assert code in {2, 3}
    assert out == ""
    assert words in err
    assert len(err.splitlines()) == 1


def test_the_table_shows_a_minimised_score_as_the_lines_above_it(service: Service, say: Say, tmp_path: Path) -> None:
    problem = make_problem(tmp_path / "least", evaluations=8) / "problem.toml"
    problem.write_text(problem.read_text().replace('"value"', '"value"\ndirection = "minimize"'))
    file = tmp_path / "sweep.toml"
    file.write_text('name = "least"\n[sweep]\nproblem = "least"\nseeds = [1]\n')
    code, out, err = say(str(file))
    assert code == 0
    shown = re.search(r"best (\S+),", err)
    assert shown is not None
    best, median = map(float, out.split()[-4:-2])
    assert best == median == pytest.approx(float(shown[1]), rel=1e-4)
