"""Problems and runs are submitted to stores in memory as to a database."""

import pytest

from evolve.evaluation import Evaluation
from service.errors import NotFoundError, QuotaError, RefusedError
from service.ports import WORKERS, Quotas, RunRequest, Upload
from service.problems.load import load_bundle
from tests.unit.usecases.conftest import FILES, TENANT, Installation


def test_a_submitted_run_waits_for_a_runner(installation: Installation) -> None:
    run = installation.submitted()
    assert (run.state, run.desired_state, run.isolation) == ("queued", "running", WORKERS)
    assert (run.problem_name, run.created_by) == ("p", "laptop")
    assert [one.id for one in installation.storage.readers.of(TENANT).runs()] == [run.id]
    assert installation.evaluators.requests == []  # nothing is evaluated before a runner has it


def test_a_prepared_run_is_not_stored(installation: Installation) -> None:
    (run,) = installation.submissions().prepare(TENANT, [RunRequest(problem=installation.problem())])
    with pytest.raises(NotFoundError):
        installation.storage.reader.run(run.id)


def test_a_problem_of_another_tenant_is_not_there(installation: Installation) -> None:
    problem = installation.problem()
    with pytest.raises(NotFoundError, match="there is no problem"):
        installation.submissions().prepare("lab", [RunRequest(problem=problem)])


def test_what_evaluates_here_says_which_problems_are_permitted(installation: Installation) -> None:
    problem = installation.problem()
    installation.evaluators.refused = ("p",)
    with pytest.raises(RefusedError, match="p is not permitted here"):
        installation.submissions().submit(TENANT, RunRequest(problem=problem))
    assert installation.storage.reader.runs() == []


def test_runs_beyond_a_quota_are_refused_and_none_of_them_is_stored(installation: Installation) -> None:
    submissions, problem = installation.submissions(), installation.problem()
    installation.storage.accounts.set_quotas(TENANT, Quotas(active_runs=2))
    submissions.submit(TENANT, RunRequest(problem=problem))
    runs = submissions.prepare(TENANT, [RunRequest(problem=problem)] * 2)
    with pytest.raises(QuotaError, match="has used 1 of 2 runs at once and asks for 2 more"):
        submissions.store_all(runs)
    assert len(installation.storage.reader.runs()) == 1


async def test_a_check_scores_the_seeds_and_stores_nothing(installation: Installation) -> None:
    report = await installation.submissions().check_problem(Upload(name="", files=FILES))
    assert report.complaints == ()
    assert [seed.evaluation.scores for seed in report.seeds] == [{"gain": 1.0}]
    (request,) = installation.evaluators.requests
    assert (request.problem.name, request.slots, request.others) == ("p", 1, True)
    assert installation.storage.problems.records == []


async def test_a_check_tells_how_a_seed_failed(installation: Installation) -> None:
    files = {**FILES, "seed.py": b"def solve():\n    pass\n"}
    report = await installation.submissions().check_problem(Upload(name="", files=files))
    (evaluation,) = [seed.evaluation for seed in report.seeds]
    assert isinstance(evaluation, Evaluation)
    assert evaluation.reason == "it returns no number"


def test_the_bundle_of_a_run_is_that_of_its_problem(installation: Installation) -> None:
    run = installation.submitted()
    loaded = load_bundle(installation.storage.log.bundle(run.id), "p")
    assert [seed.text for seed in loaded.problem.seeds] == [FILES["seed.py"].decode()]
