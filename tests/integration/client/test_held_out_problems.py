"""Held-out problems of a flywheel that leave too little for its gate: it ends, and more problems continue it."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.evolving import EvolveHere
from tests.fakes.adapter_server import AdapterServer, adapter_server
from tests.fakes.held_out_flywheel import ENOUGH
from tests.integration.client.test_registered_adapters import adapter
from tests.patience import PATIENCE_SECONDS
from tests.training.problem import make_point, point

ROOT = Path(__file__).parents[3]
FORM = 'answers = 1\nedits = "rewrite"\nsamples = 1\nconcurrency = 1\n'


@pytest.fixture
def server() -> Iterator[AdapterServer]:
    numbers = count()

    def written(_: Mapping[str, Any]) -> list[str]:
        number = next(numbers)
        return [f"<answer_1>\n{point(number % 37 / 37, number % 23 / 23)}\n</answer_1>"]

    with adapter_server(respond=written) as found:
        yield found


class Place:
    """A policy of a served adapter, two problems that are searched, and those that are held out."""

    def __init__(self, home: Path, server: AdapterServer) -> None:
        self.evolve, self.home, self.server = EvolveHere(home), home, server
        for group, name in (("searched", "one"), ("searched", "two"), ("held", "three")):
            self.add(group, name)
        folder = adapter(home / "adapter", "weights")
        (home / "adapter" / "evolve.toml").write_text(FORM)
        self.evolve.call("policy", "add", "writer", folder, "--served", server.url)
        self.evolve.call("policy", "promote", "writer@1")

    def add(self, group: str, name: str) -> None:
        (self.home / group).mkdir(exist_ok=True)
        text = (make_point(self.home / group / name) / "problem.toml").read_text()
        text = text.replace('"point"', f'"{name}"', 1) + "selection = { uniform = 1.0 }\n"
        (self.home / group / name / "problem.toml").write_text(text)

    def said(self, name: str = "programs", *, evaluations: int = 2, held: bool = True) -> tuple[int, str]:
        words = json.dumps({"name": name, "evaluations": evaluations, "held": held})
        command = [sys.executable, "-m", "tests.fakes.held_out_flywheel", self.evolve.url, str(self.home)]
        ended = subprocess.run(
            [*command, self.server.url, words], cwd=ROOT, env=self.evolve.environment | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        assert "Traceback" not in ended.stderr
        return ended.returncode, ended.stdout + ended.stderr

    def problems(self) -> list[str]:
        """Of all runs."""
        return sorted(run["problem_name"] for run in self.evolve.lines("runs", "--json"))

    def jobs(self) -> list[dict[str, Any]]:
        return self.evolve.lines("training", "list", "--json")


@pytest.fixture
def place(tmp_path: Path, server: AdapterServer) -> Place:
    return Place(tmp_path, server)


def test_more_held_out_problems_continue_a_flywheel_whose_gate_could_not_decide(place: Place) -> None:
    for _ in range(2):  # a repetition searches nothing
        code, said = place.said()
        assert (code, "the held-out problems have 1 parent with prompts, and the gate needs at least 6" in said) == (
            1,
            True,
        ), said
        assert "add problems to the folder of --held-out, or raise --evaluations, and repeat the command" in said
        assert place.problems() == ["three"]
    more = ["four", "five", "six", "seven", "eight"]
    for name in more:
        place.add("held", name)
    code, said = place.said()
    assert (code, ENOUGH in said) == (1, True), said
    assert "searching 5 held-out problems" in said
    assert place.problems() == sorted(["one", "two", "three", *more])
    (job,) = place.jobs()
    held = {run["run_id"] for run in place.evolve.lines("runs", "--label", "held-out-of=programs", "--json")}
    assert (len(held), set(job["request"]["test_runs"])) == (6, held)
    # Once something is trained, the rounds are compared on the same problems.
    place.add("held", "nine")
    code, said = place.said()
    assert (code, "begun with held-out problems 6, not 7" in said) == (5, True), said


def test_a_larger_budget_searches_the_held_out_problems_again(place: Place) -> None:
    assert place.said()[0] == 1
    code, said = place.said(evaluations=40)
    assert (code, ENOUGH in said) == (1, True), said
    assert place.problems() == ["one", "three", "three", "two"]
    (job,) = place.jobs()
    assert len(job["request"]["test_runs"]) == 1


def test_searched_problems_with_too_few_parents_are_not_trained_on_before_others_are_held_out(place: Place) -> None:
    code, said = place.said(held=False)
    assert (code, "the searched problems have 1 parent with prompts, and the gate needs at least 18" in said) == (
        1,
        True,
    ), said
    assert "repeat the command with --held-out FOLDER" in said
    assert place.jobs() == []
    for name in ("four", "five", "six", "seven", "eight"):
        place.add("held", name)
    code, said = place.said()
    assert (code, ENOUGH in said) == (1, True), said
    assert place.problems() == sorted(["one", "two", "three", "four", "five", "six", "seven", "eight"])


def test_a_held_out_problem_that_was_changed_is_refused(place: Place) -> None:
    assert place.said()[0] == 1
    (place.home / "held" / "three" / "program.py").write_text("def point():\n    return [0.10, 0.00]\n")
    code, said = place.said()
    assert (code, "holds out was changed or removed" in said) == (5, True), said
