"""What a run submitted over the API is stored as, and what is refused before anything is stored."""

from dataclasses import replace
from typing import Any

import pytest

from evolve.errors import ConfigurationError
from evolve.program import Program
from service.config import SandboxSettings
from service.db.accounts import SqlAccounts
from service.db.problems import SqlProblemStore
from service.errors import NotFoundError, QuotaError, RefusedError, UsageError
from service.ports import Quotas, RunRequest, Upload
from service.usecases.plan import plan_again
from tests.integration.submissions.conftest import FILES, TENANT, House
from tests.unit.problems.folders import NATIVE

BETTER = Program.of({"seed.py": "def solve():\n    return 2\n"})
SEARCH = NATIVE + "[search]\nislands = 3\nbudget = { evaluations = 50, patience = 9 }\n"


def test_a_run_is_stored_queued_with_everything_that_was_asked_for(house: House) -> None:
    problem = house.problem()
    run = house.submit(problem=problem, config={"islands": 2}, labels={"team": "a"}, batch_id="")
    assert (run.tenant, run.state, run.problem_id, run.problem_name) == (TENANT, "queued", problem, "p")
    assert (run.labels, run.isolation, run.source) == ({"team": "a"}, "workers", "api:p@1")
    assert run.config["islands"] == 2
    assert run.policies == [{"name": "syntax", "kind": "syntax", "answers": 4}]
    plan = plan_again(run.id, house.storage, None)
    assert plan.problem.name == "p"
    assert plan.config.islands == 2


@pytest.mark.parametrize("words", ["p", "p@1"])
def test_a_problem_is_asked_for_by_name_and_version(house: House, words: str) -> None:
    first = house.problem()
    second = house.problem(files={**FILES, "more.txt": b"x"})
    assert house.submit(problem=words).problem_id == (second if words == "p" else first)


def test_what_the_request_does_not_say_the_problem_says(house: House) -> None:
    house.problem(files={**FILES, "problem.toml": SEARCH.encode()})
    config = house.submit(problem="p", config={"budget": {"evaluations": 7}}).config
    assert (config["islands"], config["budget"]["evaluations"], config["budget"]["patience"]) == (3, 7, 9)
    assert house.submit(problem="p", config={"budget": {"patience": None}}).config["budget"]["patience"] is None


def nested(depth: int) -> Any:
    return {"archive": nested(depth - 1)} if depth else 1


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"islnds": 2}, "the request: unknown key 'islnds'"),
        ({"islands": "2"}, "the request: islands must be a whole number"),
        ({"islands": True}, "islands must be a whole number"),
        ({"islands": -1}, "the request: islands must be at least 0"),
        ({"budget": 5}, "budget is a table"),
        ({"migration_rate": float("nan")}, "migration_rate must be a number"),
        ({"prompt": {"system": "a\0"}}, "cannot be stored"),
        ({"prompt": {"system": "\ud800"}}, "cannot be stored"),
        ({"selection": nested(900)}, "nested too deeply"),
        ({"prompt": {"template_dir": "/etc"}}, "outside of the problem's folder"),
        ({"prompt": {"template_dir": ".."}}, "outside of the problem's folder"),
        ({"prompt": {"template_dir": "a/../../b"}}, "outside of the problem's folder"),
        ({"prompt": {"template_dir": "~"}}, "outside of the problem's folder"),
        ({"prompt": {"template_dir": "~root/x"}}, "outside of the problem's folder"),
        ({"policies": [{"name": "x"}]}, "policies are not part of the configuration"),
    ],
)
def test_a_configuration_that_cannot_be_honoured_is_refused_as_ever(house: House, config: Any, told: str) -> None:
    house.problem()
    with pytest.raises(ConfigurationError) as caught:
        house.submit(problem="p", config=config)
    assert told in str(caught.value)
    assert house.storage.reader.runs() == []


def test_templates_lie_in_the_problem(house: House) -> None:
    house.problem(files={**FILES, "texts/system.txt": b"Be brief.", "odd/nonsense.txt": b"x"})
    assert house.submit(problem="p", config={"prompt": {"template_dir": "texts"}}).state == "queued"
    with pytest.raises(UsageError, match="the problem has no folder 'tests'"):
        house.submit(problem="p", config={"prompt": {"template_dir": "tests"}})
    with pytest.raises(ConfigurationError, match="nonsense"):
        house.submit(problem="p", config={"prompt": {"template_dir": "odd"}})


@pytest.mark.parametrize("problem", ["", "q", "p@2", "p@", "prb_00000000000000000000000000000000", "a\0", "\ud800"])
def test_a_problem_that_is_not_there_is_not_found(house: House, problem: str) -> None:
    house.problem()
    with pytest.raises(NotFoundError):
        house.submit(problem=problem)


def test_what_the_operator_does_not_permit_is_refused(house: House) -> None:
    assert house.settings.sandbox == SandboxSettings()
    house.problem(files={**FILES, "problem.toml": (NATIVE + "[limits]\nnetwork = true\n").encode()})
    with pytest.raises(RefusedError, match=r"limits\.network"):
        house.submit(problem="p")


@pytest.mark.parametrize("labels", [{str(number): "" for number in range(17)}, {"a": "x" * 257}, {"a\0": ""}])
def test_labels_have_bounds(house: House, labels: dict[str, str]) -> None:
    house.problem()
    with pytest.raises(UsageError):
        house.submit(problem="p", labels=labels)


def test_the_quota_of_runs_at_once_holds(house: House) -> None:
    house.problem()
    accounts = SqlAccounts(house.storage.database)
    accounts.set_quotas(TENANT, Quotas(active_runs=2))
    house.submit(problem="p")
    house.submit(problem="p")
    with pytest.raises(QuotaError, match="has used 2 of 2 runs at once"):
        house.submit(problem="p")
    accounts.set_quotas(TENANT, Quotas())
    assert house.submit(problem="p").state == "queued"


def test_the_quota_of_evaluations_is_that_of_24_hours(house: House) -> None:
    house.problem()
    house.evolved(house.submit(problem="p"), BETTER)
    SqlAccounts(house.storage.database).set_quotas(TENANT, Quotas(evaluations_per_day=1, tokens_per_day=5))
    house.clock.advance(3600)
    with pytest.raises(QuotaError, match="has used 1 of 1 evaluations in 24 hours"):
        house.submit(problem="p")
    house.clock.advance(24 * 3600)
    assert house.submit(problem="p").state == "queued"


def test_a_fork_starts_from_the_candidate_alone(house: House) -> None:
    house.problem(files={**FILES, "problem.toml": SEARCH.encode()})
    parent = house.submit(problem="p", config={"islands": 5, "migration_rate": 0.5})
    candidate = house.evolved(parent, BETTER)
    fork = house.submit(fork_of=candidate, config={"migration_rate": 0.25})
    assert (fork.fork_of, fork.problem_name, fork.source) == (candidate, "p", f"api:{candidate}")
    assert fork.bundle_hash != parent.bundle_hash
    assert SqlProblemStore(house.storage.database).get(TENANT, fork.problem_id).document["fork_of"] == candidate
    assert (fork.config["islands"], fork.config["migration_rate"], fork.config["budget"]["patience"]) == (5, 0.25, 9)
    plan = plan_again(fork.id, house.storage, None)
    assert plan.problem.seeds == (BETTER,)
    assert plan.problem.name == "p"
    again = house.submit(fork_of=house.evolved(fork, BETTER))
    assert plan_again(again.id, house.storage, None).problem.seeds == (BETTER,)


def test_a_fork_needs_a_candidate_and_no_problem(house: House) -> None:
    house.problem()
    candidate = house.evolved(house.submit(problem="p"), BETTER)
    with pytest.raises(UsageError, match="leave out problem"):
        house.submit(fork_of=candidate, problem="p")
    with pytest.raises(NotFoundError):
        house.submit(fork_of="cnd_" + "0" * 32)


def test_tenants_cannot_fork_and_run_what_is_not_theirs(house: House) -> None:
    house.problem()
    candidate = house.evolved(house.submit(problem="p"), BETTER)
    with house.storage.database.write() as connection:
        connection.exec_driver_sql("insert into tenants (id, quotas, created_at) values ('other', '{}', '2026-01-01')")
    for request in (RunRequest(problem="p"), RunRequest(fork_of=candidate)):
        with pytest.raises(NotFoundError):
            house.submissions.submit("other", request)
    assert SqlProblemStore(house.storage.database).problems("other") == []


def test_only_the_operator_names_the_model_that_a_trainer_reads(house: House) -> None:
    new = house.submissions.read_problem(Upload(name="", files=FILES))
    with house.storage.database.write() as connection:
        connection.exec_driver_sql("insert into tenants (id, quotas, created_at) values ('other', '{}', '2026-01-01')")
    for tenant in (TENANT, "other"):
        house.storage.problems.add(replace(new, tenant=tenant))
    request = RunRequest(problem="p", policy="own", config={"learning": {"every": 4, "model": "/models/tiny"}})
    assert house.submissions.submit(TENANT, request).config["learning"]["model"] == "/models/tiny"
    with pytest.raises(RefusedError, match=r"only the tenant default names learning\.model"):
        house.submissions.submit("other", request)
    with pytest.raises(ConfigurationError, match=r"its name on the hub, in learning\.model"):
        house.submit(problem="p", policy="own", config={"learning": {"every": 4}})
