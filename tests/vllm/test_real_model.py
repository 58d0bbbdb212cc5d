"""The command on a real instruct model of 135M parameters, which writes what no scripted server sends."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import VLLM_PYTHON
from tests.e2e.evolving import Evolve
from tests.vllm.server import REAL, VllmServer, vllm_server

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL = "EVOLVE_TEST_REAL_MODEL"
SAMPLES = 8
RUN_SECONDS = 100
# Shares of the completions of a run. They leave a margin for the seed and the machine. A program is valid when it is
# Python: a model of this size seldom writes what the evaluator can call.
MIN_PARSED = 0.2
MIN_VALID_AND_NEW = 0.04
# Of the completions, where the model goes on from the parent's first lines.
MIN_VALID_AND_NEW_BEGUN = 0.2
CONTINUE = 'edits = "continue"\n'
# Higher temperatures make a model of this size write nonsense.
POLICY = """
[[policies]]
name = "small"
base_url = "{url}"
answers = 1
samples = {samples}
temperature = 0.5
max_tokens = 600
concurrency = 2
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    model = Path(os.environ.get(MODEL, python.parent.parent / "smollm2-135m-instruct"))
    with vllm_server(python, tmp_path_factory.mktemp("real"), "key-of-a-model", model=model, options=REAL) as served:
        yield served


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRun:
    """A whole run of the command: its exit code, its events and summary, and the candidates it stored."""

    code: int
    events: list[dict[str, Any]]
    summary: dict[str, Any]
    children: list[dict[str, Any]]

    @property
    def answered(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == "proposal.answered"]

    @property
    def asked(self) -> dict[int, int]:
        """Completions asked for, by the number of each proposal that was answered: one holds one answer."""
        answered = {event["proposal_number"] for event in self.answered}
        created = [event for event in self.events if event["kind"] == "proposal.created"]
        return {event["proposal_number"]: event["limit"] for event in created if event["proposal_number"] in answered}

    @property
    def completions(self) -> int:
        return sum(self.asked.values())


@pytest.fixture(scope="module", params=["openevolve_function", "function_minimisation"])
def run(request: pytest.FixtureRequest, server: VllmServer, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    return perform(server, tmp_path_factory.mktemp("run"), request.param)


def perform(server: VllmServer, home: Path, example: str, more: str = "") -> RealRun:
    """A whole run on an example, by a policy file with further lines."""
    evolve = Evolve(home)
    (home / "key").write_text(server.key)
    evolve.environment["EVOLVE_POLICY_API_KEY_FILE"] = str(home / "key")
    (home / "policy.toml").write_text(POLICY.format(url=server.url, samples=SAMPLES) + more)
    words = ["--policy", str(home / "policy.toml"), "--evaluations", "40", "--seed", "1", "--json"]
    said = evolve.said("run", str(EXAMPLES / example), *words, "--set", f"budget.wall_seconds={RUN_SECONDS}")
    assert "Traceback" not in said.err
    *events, summary = said.lines
    stored = evolve.lines("export", summary["run_id"])
    children = [candidate for candidate in stored if candidate["proposal_number"]]
    return RealRun(code=said.code, events=events, summary=summary, children=children)


def test_every_completion_is_taken_or_dropped_and_its_tokens_are_counted(run: RealRun) -> None:
    assert run.answered
    asked = run.asked
    assert all(event["answers"] + event["dropped"] >= asked[event["proposal_number"]] for event in run.answered)
    assert all(event["tokens"]["output"] > asked[event["proposal_number"]] for event in run.answered)
    assert run.summary["tokens"]["output"] >= sum(event["tokens"]["output"] for event in run.answered)
    assert run.summary["tokens"]["input"] > run.summary["tokens"]["cached"] > 0


def test_a_run_ends_with_children_or_with_a_reason_and_another_exit_code(run: RealRun) -> None:
    if run.summary["state"] == "succeeded":
        assert run.code == 0
        assert run.children
    else:
        assert run.summary["state"] == "failed"
        assert run.code != 0
        assert run.summary["reason"]


def test_enough_of_what_is_written_parses_and_is_valid_and_new(run: RealRun) -> None:
    parsed = sum(event["answers"] for event in run.answered)
    assert parsed >= MIN_PARSED * run.completions
    valid = {child["program_id"] for child in run.children if child["program_id"]}
    assert len(valid) >= MIN_VALID_AND_NEW * run.completions


def test_replies_that_are_begun_are_far_more_often_valid_and_new(server: VllmServer, tmp_path: Path) -> None:
    run = perform(server, tmp_path, "function_minimisation", CONTINUE)
    test_a_run_ends_with_children_or_with_a_reason_and_another_exit_code(run)
    valid = {child["program_id"] for child in run.children if child["program_id"]}
    assert len(valid) >= MIN_VALID_AND_NEW_BEGUN * run.completions > 0


def test_an_answer_is_read_seconds_before_its_proposal_is_complete(run: RealRun) -> None:
    complete = {event["proposal_number"]: datetime.fromisoformat(event["at"]) for event in run.answered}
    read = [event for event in run.events if event["kind"] in ("candidate.created", "candidate.rejected")]
    leads = [
        complete[event["proposal_number"]] - datetime.fromisoformat(event["at"])
        for event in read
        if event["proposal_number"] in complete
    ]
    assert max(leads) > timedelta(seconds=1)
