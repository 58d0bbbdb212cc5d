"""`evolve run` as a process: its stream, its signals, and going on after them."""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import EVOLVE, Said, call_here
from tests.patience import PATIENCE_SECONDS

Environment = dict[str, str]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A user with a problem of their own in the folder `problem`."""
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    environment = kept | {"HOME": str(tmp_path)}
    assert call_here(["problem", "init", str(tmp_path / "problem")], environment).code == 0
    return environment


def evolve(environment: Environment, *words: str) -> Said:
    return call_here(words, environment)


def start(environment: Environment, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [EVOLVE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def problem(environment: Environment) -> str:
    return f"{environment['HOME']}/problem"


def read(text: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The events of a stream, and the summary that ends it."""
    *events, summary = map(json.loads, text.splitlines())
    return events, summary


def test_the_stream_holds_every_event_and_ends_with_the_summary(environment: Environment) -> None:
    process = start(environment, "run", problem(environment), "--evaluations", "25", "--json")
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, err
    events, summary = read(out)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["kind"], events[-1]["kind"], summary["kind"]) == ("run.created", "run.finished", "run.summary")
    kinds = Counter(event["kind"] for event in events)
    assert summary["evaluations"] == kinds["candidate.evaluated"] == 25
    assert summary["best"]["fitness"] == max(
        event["fitness"] for event in events if event["kind"] == "candidate.evaluated" and event["fitness"] is not None
    )
    assert all(event["schema"] == 1 and event["run_id"] == summary["run_id"] for event in events)


def test_a_run_has_a_name_and_labels_by_which_it_is_found(environment: Environment) -> None:
    words = ["run", problem(environment), "--evaluations", "3", "--json"]
    assert evolve(environment, *words, "--name", "first try", "--label", "team=blue", "--label", "by=me").code == 0
    assert evolve(environment, *words).code == 0
    shown = evolve(environment, "runs", "--label", "team=blue", "--label", "by=me", "--json").lines
    assert [line["labels"] for line in shown] == [{"team": "blue", "by": "me", "name": "first try"}]
    assert evolve(environment, "runs", "--label", "name=first try").out.count("first try") == 1
    rows = [line.split(maxsplit=1) for line in evolve(environment, "show", shown[0]["run_id"]).out.splitlines()]
    assert ["name", "first try"] in [[word.strip() for word in row] for row in rows]
    assert ["labels", "team=blue, by=me"] in [[word.strip() for word in row] for row in rows]
    nothing = evolve(environment, "runs", "--label", "team=red")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "no run has the labels team=red\n")
    fork = evolve(environment, "fork", shown[0]["run_id"], "--name", "copy", "--json").lines
    assert fork[0]["labels"] == {"name": "copy"}
    refused = evolve(environment, "run", "--resume", shown[0]["run_id"], "--name", "other")
    assert (refused.code, "leave out --name, --label" in refused.err) == (2, True)


def test_a_run_ends_with_scores_place_and_next_commands(environment: Environment) -> None:
    environment["PATH"] = f"{Path(EVOLVE).parent}:{environment['PATH']}"
    done = evolve(environment, "run", problem(environment), "--evaluations", "25")
    assert done.code == 0
    assert "No model was used" in done.out
    commands = [line.split()[1:] for line in done.out.splitlines() if line.startswith("  evolve ")]
    assert [command[0] for command in commands] == ["best", "lineage", "diff", "apply"]
    for command in commands:
        target = [f"{environment['HOME']}/best.py" if word == "best.py" else word for word in command]
        assert evolve(environment, *target).code == 0
    assert (Path(environment["HOME"]) / "best.py").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_and_evaluates_nothing_twice(environment: Environment, number: int) -> None:
    process = start(environment, "run", problem(environment), "--evaluations", "1000000", "--json")
    assert process.stdout is not None
    lines: list[str] = []
    while sum('"candidate.evaluated"' in line for line in lines) < 10:
        lines.append(process.stdout.readline())
    process.send_signal(number)
    # Not communicate(): it reads past what readline() has already buffered.
    rest, said = process.stdout.read(), process.stderr.read() if process.stderr else ""
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, said
    events, summary = read("".join(lines) + rest)
    assert summary["state"] == "paused"
    assert f"evolve run --resume {summary['run_id'][:17]}" in said
    refused = evolve(environment, "extend", "last", "--evaluations", "9")
    used = f"has used {summary['evaluations']} of budget.evaluations already, and 9 is less"
    assert (refused.code, used in refused.err, len(refused.err.splitlines())) == (5, True, 1)
    whole = summary["evaluations"] + 100
    assert evolve(environment, "extend", "last", "--evaluations", str(whole)).code == 0
    again = evolve(environment, "run", "--resume", "last", "--json")
    assert again.code == 0, again.err
    more, end = read(again.out)
    assert (end["run_id"], end["state"], end["evaluations"]) == (summary["run_id"], "succeeded", whole)
    assert more[0]["sequence"] == events[-1]["sequence"] + 1
    scored = [
        event["candidate_id"]
        for event in (*events, *more)
        if event["kind"] == "candidate.evaluated" and event["outcome"] != "cancelled"
    ]
    assert len(scored) == len(set(scored)) == whole
    ended = evolve(environment, "run", "--resume", "last")
    assert (ended.code, len(ended.err.splitlines())) == (5, 1)


def test_a_reader_that_leaves_pauses_the_run(environment: Environment) -> None:
    process = start(environment, "run", problem(environment), "--evaluations", "1000000", "--json")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(PATIENCE_SECONDS) == 130
    assert "Traceback" not in said
    assert json.loads(evolve(environment, "show", "last", "--json").out)["state"] == "paused"


def test_a_target_that_is_required_and_missed_is_exit_seven(environment: Environment) -> None:
    done = evolve(environment, "run", problem(environment), "--evaluations", "3", "--require-target")
    assert done.code == 7
    assert "No model was used" in done.out


def test_a_deterministic_run_is_repeated(environment: Environment) -> None:
    words = ("run", problem(environment), "--evaluations", "40", "--seed", "7", "--deterministic", "--json")
    first, second = (read(evolve(environment, *words, "--workers", workers).out)[0] for workers in ("1", "3"))
    scores = [
        [(event["fitness"], event["outcome"]) for event in events if event["kind"] == "candidate.evaluated"]
        for events in (first, second)
    ]
    assert scores[0] == scores[1]
    assert len(scores[0]) == 40


def test_a_failing_seed_is_one_sentence_with_its_reason(environment: Environment) -> None:
    (Path(problem(environment)) / "initial_program.py").write_text("def solve():\n    raise ValueError('no luck')\n")
    done = evolve(environment, "run", problem(environment), "-q")
    assert done.code == 8
    assert "no seed" in done.err
    assert "no luck" in done.err
    assert "Traceback" not in done.err


def test_a_folder_with_a_space_is_quoted_in_the_command_to_type_next(
    environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "my problem"
    made = call_here(["problem", "init", str(folder)], environment)
    checked = call_here(["problem", "check", str(folder)], environment)
    assert f"run '{folder}'" in " ".join(made.err.split())
    assert f"run '{folder}'" in " ".join(checked.err.split())
