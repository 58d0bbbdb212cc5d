"""The command on a real instruct model."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tests.vllm.real_model import RealRun, assert_ended, perform, real_server
from tests.vllm.server import VllmServer

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

# Shares of the completions of a run. They leave a margin for the seed and the machine. A program is valid when it is
# Python: a model of this size seldom writes what the evaluator can call.
MIN_PARSED = 0.2
MIN_VALID_AND_NEW = 0.04


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with real_server(tmp_path_factory.mktemp("real")) as served:
        yield served


@pytest.fixture(scope="module", params=["openevolve_function", "function_minimisation"])
def run(request: pytest.FixtureRequest, server: VllmServer, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    return perform(server, tmp_path_factory.mktemp("run"), request.param)


def test_every_completion_is_taken_or_dropped_and_its_tokens_are_counted(run: RealRun) -> None:
    assert run.answered
    asked = run.asked
    assert all(event["answers"] + event["dropped"] >= asked[event["proposal_number"]] for event in run.answered)
    assert all(event["tokens"]["output"] > asked[event["proposal_number"]] for event in run.answered)
    assert run.summary["tokens"]["output"] >= sum(event["tokens"]["output"] for event in run.answered)
    assert run.summary["tokens"]["input"] > run.summary["tokens"]["cached"] > 0


def test_a_run_ends_with_children_or_with_a_reason_and_another_exit_code(run: RealRun) -> None:
    assert_ended(run)


def test_enough_of_what_is_written_parses_and_is_valid_and_new(run: RealRun) -> None:
    parsed = sum(event["answers"] for event in run.answered)
    assert parsed >= MIN_PARSED * run.completions
    valid = {child["program_id"] for child in run.children if child["program_id"]}
    assert len(valid) >= MIN_VALID_AND_NEW * run.completions


def test_an_answer_is_read_seconds_before_its_proposal_is_complete(run: RealRun) -> None:
    complete = {event["proposal_number"]: datetime.fromisoformat(event["at"]) for event in run.answered}
    read = [event for event in run.events if event["kind"] in ("candidate.created", "candidate.rejected")]
    leads = [
        complete[event["proposal_number"]] - datetime.fromisoformat(event["at"])
        for event in read
        if event["proposal_number"] in complete
    ]
    assert max(leads) > timedelta(seconds=1)
