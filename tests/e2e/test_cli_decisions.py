"""Commands that change an active run wait until its search has decided, and say what it decided."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.evolving import SEED, EvolveHere, make_problem
from tests.integration.client.served import Service
from tests.patience import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def evolve(tmp_path_factory: pytest.TempPathFactory) -> EvolveHere:
    home = tmp_path_factory.mktemp("decided")
    make_problem(home / "long", evaluations=100_000)
    (home / "better.py").write_text(SEED.replace("1.5", "4.5"))
    return EvolveHere(home)


@pytest.fixture(scope="module")
def running(evolve: EvolveHere) -> Iterator[subprocess.Popen[str]]:
    """`evolve run` at work, in a process of its own."""
    process = evolve.start("run", str(Path(evolve.environment["HOME"]) / "long"), "-q")
    until(lambda: evolve.said("show", "last", "20.0").code == 0)
    yield process
    process.kill()
    process.communicate()


def until(holds: Any) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def changes(evolve: EvolveHere) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = evolve.json("changes", "last")["items"]
    return items


def change_and_row(evolve: EvolveHere, text: str) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """The newest change, its row in the table, and the change once more."""
    before = changes(evolve)[0]
    [row] = [line for line in evolve.call("changes", "last").splitlines() if text in line]
    return before, row, changes(evolve)[0]


def test_an_active_run_accepts_or_refuses_and_the_command_says_which(
    evolve: EvolveHere, running: subprocess.Popen[str]
) -> None:
    told = evolve.call("hint", "last", "try larger numbers", "--proposals", "3", "--island", "1")
    assert told.endswith("gets the hint in the next 3 proposals of island 1: accepted\n")
    told = evolve.json("insert", "last", str(Path(evolve.environment["HOME"]) / "better.py"))
    assert (told["change"]["state"], told["change"]["kind"]) == ("accepted", "program.inserted")
    assert evolve.call("change", "last", "inspirations.top=0").endswith("gets inspirations.top=0: accepted\n")
    refused = evolve.said("ban", "last", "0.0", "--descendants")
    assert (refused.code, refused.out) == (5, "")
    assert "refused the change: without cnd_" in refused.err
    assert "leave it one" in refused.err
    said = evolve.said("ban", "last", "0.0", "--descendants", "--json")
    assert (said.code, json.loads(said.out or said.err)["error"]["code"]) == (5, "conflict")
    until(lambda: changes(evolve)[-1]["proposals"] == 3)
    kinds = [one["kind"] for one in changes(evolve)]
    assert kinds == ["change.refused"] * 2 + ["settings.changed", "program.inserted", "hint.given"]


def test_changes_are_listed_with_the_yield_before_and_after(evolve: EvolveHere, running: subprocess.Popen[str]) -> None:
    evolve.call("hint", "last", "try a product", "--proposals", "4")
    until(lambda: changes(evolve)[0]["evaluations"] >= 3)
    hint, row, later = change_and_row(evolve, "try a product")
    while hint != later:  # the run goes on, and its counts may grow while they are read
        hint, row, later = change_and_row(evolve, "try a product")
    assert hint["evaluations_before"] >= 3
    counts = [f"{hint['proposals']} of 4", f"{hint['valid']} of {hint['evaluations']}"]
    cells = "  ".join([*counts, f"{hint['valid_before']} of {hint['evaluations_before']}"])
    assert " ".join(cells.split()) in " ".join(row.split())


def test_a_run_that_is_not_active_takes_the_change_later_and_one_without_a_process_never_answers(
    evolve: EvolveHere, running: subprocess.Popen[str]
) -> None:
    running.kill()
    running.communicate()
    began = time.monotonic()
    silent = evolve.said("hint", "last", "try rings", "--wait", "1")
    assert time.monotonic() - began < PATIENCE_SECONDS / 2
    assert (silent.code, silent.out) == (6, "")
    assert "has not decided on the change within 1 s: the change waits for it" in silent.err
    assert evolve.call("hint", "last", "try rings", "--wait", "0").endswith("proposals: asked for\n")
    evolve.call("pause", "last")
    told = evolve.call("hint", "last", "try rings")
    assert told.endswith("proposals: waits, because the run is paused\n")
    assert changes(evolve)[0]["at"] is None
    resumed = evolve.start("run", "--resume", "last", "-q")
    until(lambda: changes(evolve)[0]["at"] is not None)
    resumed.send_signal(signal.SIGINT)
    resumed.communicate(timeout=PATIENCE_SECONDS)


def test_with_a_service_the_command_waits_too(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.start()
    try:
        with service.client() as client:
            run = service.run(client, 100_000, islands=2)
        name = run.id  # still in the queue, from which a runner takes it
        assert service.evolve.call("hint", name, "try rings", *service.words()).endswith("proposals: accepted\n")
        until(lambda: service.evolve.said("show", name, "9.0", *service.words()).code == 0)  # the seed has a score
        refused = service.evolve.said("ban", name, "0.0", "--descendants", *service.words())
        assert refused.code == 5
        assert "refused the change" in refused.err
        found = service.evolve.json("changes", name, *service.words())["items"]
        assert [one["kind"] for one in found] == ["change.refused", "hint.given"]
        service.evolve.call("pause", name, *service.words())
        until(lambda: service.evolve.json("show", name, *service.words())["state"] == "paused")
        told = service.evolve.call("hint", name, "try stars", *service.words())
        assert told.endswith("proposals: waits, because the run is paused\n")
    finally:
        service.stop()
