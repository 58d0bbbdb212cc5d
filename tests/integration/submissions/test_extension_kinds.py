"""Policy kinds and runtimes of extensions over the API: those alone that the operator installed and allowed."""

import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Problem
from evolve.program import Program
from service.bootstrap.evaluators import open_sandbox
from service.bootstrap.policies import ConfiguredPolicies
from service.bootstrap.submissions import make_submissions
from service.config import ExtensionsSettings, PoliciesSettings, SandboxSettings, Settings
from service.errors import InvalidProblemError, RefusedError, UsageError
from service.policy.access import way_to
from service.policy_settings.settings import DEFAULT_KEY_ENV
from service.policy_settings.sources import read_policy
from service.ports import EvaluatorRequest, OpenedEvaluator, RunRecord, RunRequest, Upload
from service.problems.upload import load_upload
from service.usecases.plan import plan_again
from service.usecases.run_jobs import StoredJobs
from tests.fakes.plugin import ENTRY_POINTS, MODULE, SOURCE, install
from tests.integration.submissions.conftest import OPERATOR, TENANT, Build, House
from tests.unit.problems.folders import NATIVE

KIND = '[[policies]]\nname = "theirs"\nkind = "doubler"\n'
SQUARE = "{ print $1 * $1 }\n"
SCORE = "def inputs(): return [3]\ndef score(outputs, program): return {'gain': outputs[0]['value']}\n"


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = f"{SOURCE}\n\ndef run_open(context):\n    return RuntimeCommand(command=('cat',), read=('/srv/data',))\n"
    points = {**ENTRY_POINTS, "evolve.runtimes": {"awk": f"{MODULE}:run_awk", "open": f"{MODULE}:run_open"}}
    install(tmp_path, monkeypatch, source=opening, entry_points=points)


def allowing(house: House, *allow: str) -> Settings:
    return house.settings.model_copy(update={"extensions": ExtensionsSettings(allow=allow)})


class UnusedEvaluators:
    """The port EvaluatorFactory, of which nothing may be asked."""

    def open(self, request: EvaluatorRequest) -> AbstractAsyncContextManager[OpenedEvaluator]:
        pytest.fail(f"{request.problem.name} is evaluated")

    def refuse_unpermitted(self, problem: Problem) -> None:
        pytest.fail(f"{problem.name} is looked at")


def submit(house: House, allow: Sequence[str] = (), **words: Any) -> RunRecord:
    submissions = make_submissions(allowing(house, *allow), house.stores)
    return submissions.submit(TENANT, RunRequest(problem="p", **words))


def problem_with(runtime: str) -> dict[str, bytes]:
    document = NATIVE.replace('entry = "solve"', f'runtime = "{runtime}"').replace("seed.py", "seed.awk")
    return {"problem.toml": document.encode(), "seed.awk": SQUARE.encode(), "evaluator.py": SCORE.encode()}


@pytest.mark.parametrize("kind", ["doubler", f"{MODULE}:Doubler", "os:system"])
def test_a_policy_kind_that_is_not_allowed_is_refused_and_not_imported(build: Build, kind: str) -> None:
    house = build()
    house.problem()
    sentence = f"the policy kind '{kind}' is not allowed: ask the operator to add it to the setting extensions.allow"
    for policy in ({"kind": kind}, ["syntax", {"name": "other", "kind": kind}]):
        with pytest.raises(RefusedError, match=sentence):
            submit(house, ["another"], policy=policy)
    assert MODULE not in sys.modules
    with pytest.raises(UsageError, match=r"'dubler' is not known: name one of openai, .*bundled, agent, doubler"):
        submit(house, policy={"kind": "dubler"})


def test_a_policy_kind_in_the_operators_file_needs_the_setting_as_well(build: Build) -> None:
    house = build(operator=OPERATOR + KIND)
    house.problem()
    with pytest.raises(RefusedError, match="the policy kind 'doubler' is not allowed: ask the operator"):
        submit(house, policy="theirs")
    assert submit(house, ["doubler"], policy="theirs").policies[0]["kind"] == "doubler"


async def test_an_allowed_policy_kind_answers_without_a_key(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEFAULT_KEY_ENV, "sk-of-the-operator")
    house = build()
    house.problem()
    described = {"kind": "doubler", "name": "mine", "params": {"factor": 5}}
    run = submit(house, ["doubler"], policy=described)
    assert run.policies == [{**run.policies[0], "kind": "doubler", "params": {"factor": 5}}]
    policy = read_policy(run.policies[0], "the run")
    assert way_to(policy, run.source, house.settings.policies).key is None
    own = read_policy({"kind": "doubler"}, "the script")
    key = way_to(own, "/srv/problems/mine", house.settings.policies).key
    assert key is not None
    assert key.get_secret_value() == "sk-of-the-operator"
    async with ConfiguredPolicies(house.settings.policies).open(plan_again(run.id, house.storage, None)) as answered:
        [member] = answered.members
        assert (member.policy.name, member.policy.answers) == ("mine", 1)


def test_only_public_addresses_are_given_to_an_allowed_kind(build: Build) -> None:
    house = build(resolve=lambda *_: ["10.0.0.7"])
    house.problem()
    submissions = make_submissions(allowing(house, "doubler"), house.stores, resolve=lambda *_: ["10.0.0.7"])
    policy = {"kind": "doubler", "base_url": "http://inside.example/v1"}
    with pytest.raises(RefusedError, match=r"policies\.allow"):
        submissions.submit(TENANT, RunRequest(problem="p", policy=policy))


async def test_a_run_is_not_driven_once_its_kind_is_allowed_no_longer(build: Build) -> None:
    house = build()
    house.problem()
    run = submit(house, ["doubler"], policy={"kind": "doubler"})
    jobs = StoredJobs(
        house.storage, ConfiguredPolicies(PoliciesSettings()), UnusedEvaluators(), house.settings.extensions
    )
    with pytest.raises(RefusedError, match="the policy kind 'doubler' is not allowed: ask the operator"):
        async with jobs.open(run):
            pytest.fail("it was opened")
    assert MODULE not in sys.modules


@pytest.mark.parametrize("queue", [None, "redis://127.0.0.1:1/0"], ids=["here", "workers"])
@pytest.mark.parametrize("runtime", ["awk", f"{MODULE}:run_awk", "os:system"])
async def test_a_runtime_that_is_not_allowed_is_refused_and_not_imported(
    build: Build, queue: str | None, runtime: str
) -> None:
    house = build()
    submissions = make_submissions(house.settings, house.stores, queue=queue)
    files = problem_with(runtime)
    sentence = f"the runtime '{runtime}' is not allowed: ask the operator to add it to the setting extensions.allow"
    with pytest.raises(RefusedError, match=sentence):
        await submissions.check_problem(Upload(name="", files=files))
    house.problem(files=files)
    with pytest.raises(RefusedError, match=sentence):
        submissions.submit(TENANT, RunRequest(problem="p"))
    loaded = load_upload(Upload(name="", files=files))
    with pytest.raises(RefusedError, match=sentence):  # as a worker opens it
        async with open_sandbox(loaded.problem, loaded.bundle, SandboxSettings(), slots=1, others=True):
            pytest.fail("it was opened")
    assert MODULE not in sys.modules


async def test_an_allowed_runtime_runs_the_programs_of_a_problem(build: Build) -> None:
    house = build()
    submissions = make_submissions(allowing(house, "awk"), house.stores)
    report = await submissions.check_problem(Upload(name="", files=problem_with("awk")))
    assert report.complaints == ()
    assert [seed.evaluation.scores for seed in report.seeds] == [{"gain": 9.0}]


async def test_a_runtime_opens_no_path_that_the_operator_does_not_grant(build: Build) -> None:
    house = build()
    submissions = make_submissions(allowing(house, "open"), house.stores)
    with pytest.raises(RefusedError, match=r"asks for evaluator\.read = '/srv/data', which is not permitted here"):
        await submissions.check_problem(Upload(name="", files=problem_with("open")))


async def test_a_runtime_that_is_not_there_or_fails_has_one_sentence() -> None:
    for runtime, sentence in (
        (f"{MODULE}:nothing", f"the runtime {MODULE}:nothing is not there: the module {MODULE} has no nothing"),
        (f"{MODULE}:Greedy", f"the runtime {MODULE}:Greedy failed: TypeError"),
    ):
        loaded = load_upload(Upload(name="", files=problem_with(runtime)))
        with pytest.raises(InvalidProblemError, match=sentence):
            async with open_sandbox(loaded.problem, loaded.bundle, SandboxSettings(), slots=1):
                pytest.fail("it was opened")


async def test_the_sandbox_around_a_runtime_is_that_around_any_command() -> None:
    """What a runtime names is started inside: it reads no file that programs may not read."""
    secret = Path.home() / ".evolve-secret-of-a-test"
    files = problem_with("bash")
    files["problem.toml"] = files["problem.toml"].replace(b"seed.awk", b"seed.sh")
    files["seed.sh"] = files.pop("seed.awk")
    loaded = load_upload(Upload(name="", files=files))
    secret.write_text("7")
    try:
        async with open_sandbox(loaded.problem, loaded.bundle, SandboxSettings(), slots=1, others=True) as evaluator:
            steals = Program.of({"seed.sh": f"cat {secret}\n"})
            good = Program.of({"seed.sh": "echo 7\n"})
            assert (await evaluator.evaluate(good, "evl_1")).scores == {"gain": 7.0}
            assert (await evaluator.evaluate(steals, "evl_2")).outcome is Outcome.ERROR
    finally:
        secret.unlink()
