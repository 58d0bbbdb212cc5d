"""`evolve hint` and `evolve insert`: what people change of a run, and what its next runner makes of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.evolving import SEED, EvolveHere, make_problem

BETTER = SEED.replace("1.5", "4.5")


@pytest.fixture(scope="module")
def evolve(tmp_path_factory: pytest.TempPathFactory) -> EvolveHere:
    """The command, with a run that was extended and waits for its runner, and before it one that has ended."""
    home = tmp_path_factory.mktemp("steered")
    evolve = EvolveHere(home)
    for name in ("over", "waiting"):
        evolve.call("run", str(make_problem(home / name, evaluations=6)), "--seed", "3", "-q")
    evolve.call("extend", "last", "--evaluations", "30")
    (home / "better.py").write_text(BETTER)
    (home / "broken.py").write_text("def give(:\n")
    (home / "long.py").write_text("#" * 10_000_000)
    (home / "bytes.py").write_bytes(b"\xff\xfe\x00")
    return evolve


def here(evolve: EvolveHere, name: str) -> str:
    return str(Path(evolve.environment["HOME"]) / name)


def events(evolve: EvolveHere) -> list[dict[str, Any]]:
    return [json.loads(line) for line in evolve.call("export", "last", "--format", "events", "-o", "-").splitlines()]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("hint", "last", "x" * 2001), 2, "a hint has at most 2000 characters"),
        (("hint", "last", "a\x1b[31m"), 2, "no control characters"),
        (("hint", "last", "rings", "--proposals", "0"), 2, "--proposals"),
        (("hint", "run_0190ffff", "rings"), 3, "there is no run"),
        (("hint", "OVER", "rings"), 5, "has ended, it is succeeded"),
        (("insert", "last", "long.py"), 2, "more than the 1,000,000 characters"),
        (("insert", "last", "broken.py"), 2, "not valid Python"),
        (("insert", "last", "bytes.py"), 2, "cannot be read as text"),
        (("insert", "last", "nothing.py"), 3, "there is no file"),
        (("insert", "last", "waiting/program.py"), 2, "equals its parent"),
        (("insert", "last", "better.py", "--parent", "99.0"), 3, "has no candidate 99.0"),
        (("insert", "last", "better.py", "--parent", "OVER.0.0"), 3, "has no candidate"),
        (("insert", "last", "better.py", "--island", "2"), 2, "has no island 2: give a number from 0 to 1"),
        (("ban", "last", "99.0"), 3, "99.0"),
        (("ban", "last", "0.0", "--lift"), 5, "has no ban of its own"),
        (("ban", "last", "0.0", "--lift", "--descendants"), 2, "lifting a ban lifts all of it"),
        (("ban", "OVER", "0.0"), 5, "has ended, it is succeeded"),
        (("priority", "last", "99.0"), 3, "99.0"),
        (("priority", "last", "0.0", "--lift"), 5, "has no priority"),
        (("priority", "last", "0.0", "--lift", "--proposals", "3"), 2, "lifting a priority ends it"),
        (("priority", "last", "0.0", "--proposals", "0"), 2, "--proposals"),
        (("priority", "OVER", "0.0"), 5, "has ended, it is succeeded"),
        (("change", "last", "seed=2"), 2, "You can change selection, operators"),
        (("change", "last", "topology"), 2, "write key=value"),
        (("change", "last", "migration_rate=nan"), 2, "must be a finite number"),
        (("change", "last", "topology=full", "budget.evaluations=9"), 2, "with a command each"),
        (("change", "OVER", "topology=full"), 5, "has ended, it is succeeded"),
        (("insert", "run_0190ffff", "better.py"), 3, "there is no run"),
        (("insert", "OVER", "better.py"), 5, "has ended, it is succeeded"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    evolve: EvolveHere, words: tuple[str, ...], code: int, sentence: str
) -> None:
    over = evolve.call("runs", "--json").splitlines()[1]
    name = json.loads(over)["run_id"]
    said = evolve.said(*(here(evolve, word) if word.endswith(".py") else word.replace("OVER", name) for word in words))
    assert (said.code, said.out) == (code, "")
    assert sentence in said.err
    assert "Traceback" not in said.err


def test_a_hint_and_a_program_wait_for_the_runner_of_the_run(evolve: EvolveHere) -> None:
    told = evolve.call("hint", "last", " try larger numbers ", "--proposals", "3")
    assert "gets the hint in the next 3 proposals" in told
    told = evolve.call("insert", "last", here(evolve, "better.py"), "--parent", "0.0", "--island", "1")
    assert "gets the program as a child of 0.0" in told
    assert evolve.json("insert", "last", here(evolve, "better.py"))["state"] == "queued"
    assert evolve.json("hint", "last", "")["state"] == "queued"
    evolve.call("run", "--resume", "last", "-q")
    told_events = events(evolve)
    given = [event for event in told_events if event["kind"] == "hint.given"]
    assert [(event["text"], event["proposals"], event["by"]) for event in given] == [
        ("try larger numbers", 3, "command line"),
        ("", 10, "command line"),
    ]
    first, second = (event for event in told_events if event["kind"] == "program.inserted")
    assert (first["island"], second["island"], first["by"]) == (1, 0, "command line")
    manual = [event for event in told_events if event["kind"] == "proposal.created" and "change" in event]
    assert [event["operator"] for event in manual] == ["manual", "manual"]
    number = manual[0]["proposal_number"]
    candidate = evolve.json("show", "last", f"{number}.0")
    assert (candidate["operator"], candidate["scores"]["value"]) == ("manual", pytest.approx(4.5 * 2.5 - 0.25))
    assert candidate["changed"] == "constants"
    assert [parent["role"] for parent in candidate["parents"]] == ["parent"]
    again = evolve.json("show", "last", f"{manual[1]['proposal_number']}.0")
    assert again["status"] == "duplicate"
    assert sum(event["kind"] == "candidate.evaluated" for event in told_events) == 30


def test_a_ban_and_settings_hold_for_the_next_runner_of_the_run(evolve: EvolveHere) -> None:
    evolve.call("extend", "last", "--evaluations", "45")
    told = evolve.call("ban", "last", "0.0")
    assert "does not use 0.0 any more" in told
    told = evolve.call("change", "last", "selection.tournament=1", "inspirations.top=0")
    assert "gets selection.tournament=1, inspirations.top=0" in told
    assert evolve.json("change", "last", "budget.evaluations=46")["state"] == "queued"
    evolve.call("run", "--resume", "last", "-q")
    told_events = events(evolve)
    at, banned = next((at, one) for at, one in enumerate(told_events) if one["kind"] == "candidate.banned")
    [changed] = [event for event in told_events if event["kind"] == "settings.changed"]
    assert changed["settings"] == {"selection": {"tournament": 1.0}, "inspirations.top": 0}
    asked = [event for event in told_events[at:] if event["kind"] == "proposal.created"]
    assert {event["selection"] for event in asked[1:]} <= {"tournament", ""}
    assert banned["candidate_id"] not in {one for event in asked for one, _ in event["parents"]}
    assert sum(event["kind"] == "candidate.evaluated" for event in told_events) == 46


def test_a_priority_holds_for_the_next_runner_of_the_run(evolve: EvolveHere) -> None:
    evolve.call("extend", "last", "--evaluations", "70")
    lines = evolve.call("export", "last", "--format", "jsonl", "-o", "-").splitlines()
    valid = [one for one in map(json.loads, lines) if one["outcome"] == "ok" and one["proposal_number"]]
    worst, *_, best = sorted(valid, key=lambda one: float(one["fitness"]))
    told = evolve.call("priority", "last", worst["candidate_id"], "--proposals", "4")
    assert "starts its next 4 proposals from" in told
    assert evolve.json("priority", "last", best["name"])["state"] == "queued"
    assert "no priority any more" in evolve.call("priority", "last", best["name"], "--lift")
    evolve.call("run", "--resume", "last", "-q")
    told_events = events(evolve)
    given = [one for one in told_events if one["kind"] == "priority.given"]
    assert [(one["candidate_id"], one["proposals"], one["by"]) for one in given] == [
        (worst["candidate_id"], 4, "command line"),
        (best["candidate_id"], 10, "command line"),
    ]
    asked = [one for one in told_events if one["kind"] == "proposal.created" and "priority" in one]
    assert [(one["priority"], one["parents"][0][0]) for one in asked] == [
        (given[0]["change_id"], worst["candidate_id"])
    ] * 4
    assert "change.refused" not in {one["kind"] for one in told_events}
