"""Only the operator's policies have keys and private addresses; what others describe has neither."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from evolve.errors import ConfigurationError, PolicyUnavailable
from evolve.program import Program
from service.bootstrap.policies import ConfiguredPolicies
from service.bootstrap.submissions import make_registry
from service.config import PoliciesSettings
from service.errors import NotFoundError, RefusedError, UnreachableError, UsageError
from service.net.transport import AddressRefused, PinnedTransport
from service.policy.access import way_to
from service.policy_settings import shipped
from service.policy_settings.settings import DEFAULT_KEY_ENV
from service.policy_settings.shipped import shipped_names
from service.policy_settings.sources import read_policy
from service.ports import RunRecord, Upload
from service.usecases.plan import plan_again
from tests.fakes.adapter_server import chatting_adapter_server
from tests.fakes.openai_server import openai_server
from tests.fakes.tiny_llama import write_model
from tests.integration.submissions.conftest import OPERATOR, PUBLIC, TENANT, Build, House
from tests.unit.problems.folders import EVALUATE, SEED

ELSEWHERE = {"name": "mine", "base_url": "https://policy.example/v1", "model": "m"}


def project(address: str, model: str = "m") -> dict[str, bytes]:
    config = f"max_iterations: 3\nllm:\n  api_base: {address}\n  api_key: ${{PATH}}\n  primary_model: {model}\n"
    return {"initial_program.py": SEED.encode(), "evaluator.py": EVALUATE.encode(), "config.yaml": config.encode()}


def policy_of(run: RunRecord) -> dict[str, Any]:
    (policy,) = run.policies
    return dict(policy)


def test_the_operators_policies_are_named_and_shown_without_their_keys(house: House) -> None:
    house.problem()
    shown = {policy["name"]: policy for policy in house.submissions.policies()}
    assert set(shown) == {"own", "syntax", "tuner", *(f"bundled:{model}" for model in shipped_names())}
    run = house.submit(problem="p", policy="own")
    assert policy_of(run) == shown["own"]
    assert policy_of(run)["base_url"] == "http://10.0.0.5:8000/v1"
    assert "OPERATORS_OWN_KEY" not in repr([run, shown])
    with pytest.raises(NotFoundError, match=r"name one of .*own, syntax"):
        house.submit(problem="p", policy="theirs")


def test_a_described_policy_may_have_a_public_address(house: House) -> None:
    house.problem()
    policy = policy_of(house.submit(problem="p", policy=ELSEWHERE))
    assert (policy["name"], policy["base_url"], policy["model"]) == ("mine", "https://policy.example/v1", "m")
    assert not {key for key in policy if "key" in key}
    assert policy_of(house.submit(problem="p", policy={"kind": "syntax", "answers": 2}))["answers"] == 2


def test_a_run_may_ask_several_policies_named_or_described(house: House) -> None:
    house.problem()
    run = house.submit(problem="p", policy=["own", {**ELSEWHERE, "weight": 3}, "syntax"])
    assert [(policy["name"], policy.get("weight", 1.0)) for policy in run.policies] == [
        ("own", 1.0), ("mine", 3.0), ("syntax", 1.0),
    ]  # fmt: skip
    assert "OPERATORS_OWN_KEY" not in repr(run)
    forked = house.submit(fork_of=house.evolved(run, Program.of({"seed.py": SEED})))
    assert [policy["name"] for policy in forked.policies] == ["own", "mine", "syntax"]


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        (["syntax", "syntax"], "two policies of the run are called syntax"),
        (["syntax", {**ELSEWHERE, "api_key_env": "PATH"}], "only the operator's have keys"),
        ([{"kind": "syntax", "name": f"s{number}"} for number in range(17)], "16 policies at most"),
    ],
)
def test_policies_that_do_not_go_together_are_refused(house: House, policies: list[Any], told: str) -> None:
    house.problem()
    with pytest.raises(UsageError, match=told):
        house.submit(problem="p", policy=policies)


CRITIC = {**ELSEWHERE, "name": "judge", "role": "critic", "model": "large"}


def test_a_run_may_have_a_critic_and_a_fork_has_it_too(house: House) -> None:
    house.problem()
    run = house.submit(problem="p", policy=["own", CRITIC])
    assert [(policy["name"], policy.get("role")) for policy in run.policies] == [("own", None), ("judge", "critic")]
    assert not {"answers", "format", "weight"} & run.policies[1].keys()
    forked = house.submit(fork_of=house.evolved(run, Program.of({"seed.py": SEED})))
    assert list(forked.policies) == list(run.policies)


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        (CRITIC, "judge is critic of the run, but a run also needs a policy that writes: name an author"),
        (["syntax", CRITIC], "nobody reads what the critic judge writes"),
        (["own", CRITIC, {**CRITIC, "name": "second"}], "judge and second both have the role critic"),
        (["own", {**CRITIC, "answers": 2}], "answers has no meaning for a critic"),
        (["own", {"kind": "syntax", "role": "critic"}], "writes programs alone"),
    ],
)
def test_critics_that_make_no_run_are_refused(house: House, policies: Any, told: str) -> None:
    house.problem()
    with pytest.raises(UsageError, match=told):
        house.submit(problem="p", policy=policies)
    assert house.storage.reader.runs() == []


async def test_a_critic_at_the_server_of_an_author_stays_a_critic(build: Build) -> None:
    house = build(
        operator=OPERATOR + OPERATOR.replace('"own"', '"judge"').replace("model =", 'role = "critic"\nmodel =')
    )
    house.problem()
    run = house.submit(problem="p", policy=["own", "judge"])
    forked = house.submit(fork_of=house.evolved(run, Program.of({"seed.py": SEED})))
    assert [(policy["name"], policy.get("role")) for policy in forked.policies] == [("own", None), ("judge", "critic")]


def test_prices_in_two_currencies_are_refused_before_anything_is_stored(house: House) -> None:
    house.problem()
    priced = [
        {**ELSEWHERE, "name": currency, "price": {"input": "1", "output": "1", "currency": currency}}
        for currency in ("USD", "EUR")
    ]
    with pytest.raises(ConfigurationError, match="priced in EUR and USD"):
        house.submit(problem="p", policy=priced)
    assert house.storage.reader.runs() == []


def test_the_models_of_a_project_are_asked_as_far_as_the_operator_allows(house: House) -> None:
    files = project("https://policy.example/v1")
    files["config.yaml"] += b"  secondary_model: second\n  secondary_model_weight: 0.25\n"
    run = house.submit(problem=house.problem("both", files))
    assert [(policy["model"], policy.get("weight", 1.0)) for policy in run.policies] == [("m", 1.0), ("second", 0.25)]


async def test_a_run_that_was_begun_is_opened_while_one_of_its_policies_can_be_reached(build: Build) -> None:
    with openai_server(lambda _: []) as server:
        house = build(private=True)
        house.problem()
        stranger = server.url.replace("127.0.0.1", "localhost")
        there, gone = {"name": "there", "base_url": stranger}, {"name": "gone", "base_url": "http://localhost:9/v1"}
        other = {**there, "name": "other", "model": "not-there"}
        run = house.submit(problem="p", policy=[there, {**gone, "weight": 2.5}, other])
        async with ConfiguredPolicies(house.settings.policies).open(plan_again(run.id, house.storage, None)) as asked:
            named = [(member.policy.name, member.weight) for member in asked.members]
            assert named == [("there", 1.0), ("gone", 2.5), ("other", 1.0)]
        alone = house.submit(problem="p", policy=[gone, {**gone, "name": "too"}])
        with pytest.raises(PolicyUnavailable):
            async with ConfiguredPolicies(house.settings.policies).open(plan_again(alone.id, house.storage, None)):
                pass


@pytest.mark.parametrize("key", ["api_key_env", "api_key_file"])
def test_a_described_policy_names_no_key(house: House, key: str) -> None:
    house.problem()
    with pytest.raises(UsageError, match="only the operator's have keys"):
        house.submit(problem="p", policy={**ELSEWHERE, key: "PATH"})


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"base_url": "http://10.0.0.5:8000/v1", "name": "own", "model": "dearer"}, "own is the operator's"),
        ({**ELSEWHERE, "api_key": "sk-123"}, "a key never stands in a file"),
        ({**ELSEWHERE, "base_url": "http://u:p@policy.example"}, "no user, password"),
        ({**ELSEWHERE, "base_url": "ftp://policy.example"}, "must be an address"),
        ({**ELSEWHERE, "base_url": "http://2130706433/v1"}, "no IP address in its usual form"),
        ({**ELSEWHERE, "tempo": 1}, "the key tempo is unknown"),
        ({"kind": "openai"}, "base_url is missing"),
        ({}, "base_url is missing"),
    ],
)
def test_a_description_that_is_off_is_refused(house: House, policy: dict[str, Any], told: str) -> None:
    house.problem()
    with pytest.raises(UsageError) as caught:
        house.submit(problem="p", policy=policy)
    assert told in str(caught.value)
    assert "sk-123" not in str(caught.value)
    assert house.storage.reader.runs() == []


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.5", "169.254.169.254", "::1", "::ffff:10.0.0.5"])
def test_a_described_policy_leads_nowhere_behind_the_service(build: Build, address: str) -> None:
    house = build(resolve=lambda *_: [address])
    house.problem()
    literal = f"[{address}]" if ":" in address else address
    for host in ("policy.example", literal):
        with pytest.raises(RefusedError, match="may not be reached"):
            house.submit(problem="p", policy={**ELSEWHERE, "base_url": f"http://{host}/v1"})


def test_the_operator_may_allow_addresses(build: Build) -> None:
    listed = build(resolve=lambda *_: ["10.0.0.9"], allow=["gpu:8000"])
    listed.problem()
    assert listed.submit(problem="p", policy={**ELSEWHERE, "base_url": "http://gpu:8000"}).state == "queued"
    with pytest.raises(RefusedError):
        listed.submit(problem="p", policy={**ELSEWHERE, "base_url": "http://gpu:9000"})
    private = build(resolve=lambda *_: ["10.0.0.9"], private=True)
    assert private.submit(problem="p", policy={**ELSEWHERE, "base_url": "http://gpu:9000"}).state == "queued"


def test_a_problem_names_a_policy_without_a_key(house: House) -> None:
    files = project("https://policy.example/v1")
    problem = house.problem("sorter", files)
    policy = policy_of(house.submit(problem=problem))
    assert (policy["base_url"], policy["model"]) == ("https://policy.example/v1", "m")
    assert "PATH" not in repr(policy)
    document = house.submissions.read_problem(Upload(name="sorter", files=files)).document
    assert document["policies"][0]["base_url"] == "https://policy.example/v1"
    assert "PATH" not in repr(document)


def test_a_problem_that_names_the_operators_address_and_model_gets_the_operators_policy(house: House) -> None:
    house.problem("a", project("http://10.0.0.5:8000/v1", "vpo"))
    assert policy_of(house.submit(problem="a"))["name"] == "own"
    house.problem("b", project("http://10.0.0.5:8000/v1", "dearer"))
    assert policy_of(house.submit(problem="b"))["kind"] == "syntax"


def test_a_problem_whose_policy_is_not_allowed_is_mutated_by_syntax(build: Build) -> None:
    house = build(resolve=lambda *_: ["10.0.0.9"])
    house.problem("sorter", project("https://policy.example/v1"))
    assert policy_of(house.submit(problem="sorter"))["kind"] == "syntax"


def test_a_fork_goes_on_with_the_policy_of_its_run(house: House) -> None:
    house.problem()
    better = Program.of({"seed.py": "def solve():\n    return 2\n"})
    for asked in ("own", ELSEWHERE, {"kind": "syntax", "answers": 2}):
        run = house.submit(problem="p", policy=asked)
        assert house.submit(fork_of=house.evolved(run, better)).policies == run.policies


def test_a_model_folder_of_the_machine_is_the_operators_to_name(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped_here = write_model(tmp_path / "models" / "tiny").parent
    monkeypatch.setattr(shipped, "_places", lambda: [shipped_here])
    own = write_model(tmp_path / "own")
    house = build(operator=f'[[policies]]\nname = "mine"\nkind = "bundled"\nmodel = "{own}"\n')
    house.problem()
    assert {policy["name"] for policy in house.submissions.policies()} == {"syntax", "tuner", "bundled:tiny", "mine"}
    for name, model in (("mine", str(own)), ("bundled:tiny", "tiny")):
        run = house.submit(problem="p", policy=name)
        assert (policy_of(run)["kind"], policy_of(run)["model"]) == ("bundled", model)
        better = Program.of({"seed.py": f"def solve():\n    return {len(name)}\n"})
        assert house.submit(fork_of=house.evolved(run, better)).policies == run.policies
    described = policy_of(house.submit(problem="p", policy={"kind": "bundled", "model": "tiny", "answers": 2}))
    assert (described["name"], described["answers"]) == ("bundled:tiny", 2)
    for path in (str(own), "../models/tiny", "~/tiny", ".", "./tiny", str(tmp_path / "absent")):
        with pytest.raises(UsageError, match="never by a path of this machine"):
            house.submit(problem="p", policy={"kind": "bundled", "model": path})
    with pytest.raises(NotFoundError, match="choose one of tiny"):
        house.submit(problem="p", policy={"kind": "bundled", "model": "other"})


def test_a_fork_of_a_run_with_a_folder_that_is_not_the_operators_is_refused(build: Build, tmp_path: Path) -> None:
    own = write_model(tmp_path / "own")
    before = build(operator=f'[[policies]]\nname = "mine"\nkind = "bundled"\nmodel = "{own}"\n')
    before.problem()
    run = before.submit(problem="p", policy="mine")
    candidate = before.evolved(run, Program.of({"seed.py": "def solve():\n    return 2\n"}))
    with pytest.raises(RefusedError, match="only the operator names those"):
        build().submit(fork_of=candidate)


async def test_a_runner_gives_the_operators_key_to_the_operators_address_alone(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPERATORS_OWN_KEY", "own-key")
    monkeypatch.setenv(DEFAULT_KEY_ENV, "default-key")
    with openai_server(lambda _: ["<answer_1>\nx\n</answer_1>"]) as server:
        house = build(
            operator=OPERATOR.replace("http://10.0.0.5:8000/v1", server.url).replace('"vpo"', '""'), private=True
        )
        house.problem()
        stranger = server.url.replace("127.0.0.1", "localhost")
        described = {"name": "theirs", "base_url": stranger}
        for asked, key in (("own", "Bearer own-key"), (described, None)):
            run = house.submit(problem="p", policy=asked)
            plan = plan_again(run.id, house.storage, None)
            async with ConfiguredPolicies(house.settings.policies).open(plan) as answered:
                (member,) = answered.members
                assert member.policy.name == run.policies[0]["name"]
            assert {request.headers.get("authorization") for request in server.requests} == {key}
            server.requests.clear()


async def test_a_runner_checks_the_address_again(build: Build) -> None:
    house = build()
    house.problem()
    run = house.submit(problem="p", policy={**ELSEWHERE, "base_url": "http://localhost:9/v1"})
    with pytest.raises(RefusedError, match=r"127\.0\.0\.1|::1"):
        async with ConfiguredPolicies(house.settings.policies).open(plan_again(run.id, house.storage, None)):
            pass


async def test_a_version_of_the_registry_is_asked_with_the_key_of_the_operators_policy_at_its_server(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPERATORS_OWN_KEY", "s3cret")
    config = b'{"peft_type": "LORA", "base_model_name_or_path": "fake"}'
    files = {"adapter_config.json": config, "adapter_model.safetensors": b"weights"}
    with chatting_adapter_server(lambda _: [], key="s3cret") as server:
        house = build(operator=OPERATOR.replace("http://10.0.0.5:8000/v1", server.url))
        house.problem()
        registry = make_registry(house.settings, house.storage)
        registry.register(TENANT, "writer", "", shared=False, by="")
        version = registry.add_version(TENANT, "writer", files, served=server.url)
        server.lora.adapters[version.settings["model"]] = "folder"
        run = house.submit(problem="p", policy="writer@1")
        assert "OPERATORS_OWN_KEY" not in repr(run)
        plan = plan_again(run.id, house.storage, None)
        policies = ConfiguredPolicies(house.settings.policies, house.storage.problems.bundle, house.storage.policies)
        async with policies.open(plan) as asked:
            assert [member.policy.name for member in asked.members] == ["writer@1"]
        # A policy that only calls itself so is not one, nor is that of another model.
        for other in ({"name": "writer@2"}, {"model": "vpo"}):
            stranger = replace(plan, policies=tuple(policy.model_copy(update=other) for policy in plan.policies))
            with pytest.raises(RefusedError, match="127"):
                async with policies.open(stranger):
                    pass


async def test_a_name_that_changes_its_mind_after_the_check_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Sequence[str]] = [[PUBLIC], ["169.254.169.254"]]
    monkeypatch.setattr("service.net.address.resolve_host", lambda *_: answers.pop(0))
    policy = read_policy(ELSEWHERE, "the test")
    way = way_to(policy, "api:p@1", PoliciesSettings())
    assert isinstance(way.transport, PinnedTransport)
    async with httpx.AsyncClient(transport=way.transport) as client:
        with pytest.raises(AddressRefused):
            await client.get("https://policy.example/v1/models")


def test_a_record_that_names_a_key_gives_nobody_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a record written by other hands would."""
    monkeypatch.setattr("service.net.address.resolve_host", lambda *_: [PUBLIC])
    monkeypatch.setenv(DEFAULT_KEY_ENV, "default-key")
    policy = read_policy({**ELSEWHERE, "api_key_env": "PATH"}, "the test")
    way = way_to(policy, "api:p@1", PoliciesSettings())
    assert way.key is None
    assert way.policy.api_key_env == ""
    mine = policy.model_copy(update={"api_key_env": DEFAULT_KEY_ENV})
    local = way_to(mine, "/elsewhere/problem", PoliciesSettings())
    assert local.key is not None
    assert local.transport is None


def test_an_address_that_does_not_resolve_is_told(build: Build) -> None:
    def nowhere(host: str, port: int) -> Sequence[str]:
        raise UnreachableError(f"the name {host} does not resolve")

    house = build(resolve=nowhere)
    house.problem()
    with pytest.raises(UnreachableError, match=r"policy\.example does not resolve"):
        house.submit(problem="p", policy=ELSEWHERE)


@pytest.mark.parametrize("operator", ["[[policies]]\nname = 'x'\n", "nonsense", "[other]\n"])
def test_a_policy_file_that_is_off_is_told_at_the_start(build: Build, operator: str) -> None:
    with pytest.raises(UsageError, match=r"policies\.toml"):
        build(operator=operator)


LIBRARY = {"name": "claude", "kind": "litellm", "model": "anthropic/claude-sonnet-4-5"}


def test_only_the_operator_may_name_a_policy_behind_the_library(build: Build) -> None:
    table = "".join(f'{key} = "{value}"\n' for key, value in LIBRARY.items())
    house = build(operator=f"[[policies]]\n{table}")
    house.problem()
    with pytest.raises(RefusedError, match="only the operator's policies are asked through LiteLLM"):
        house.submit(problem="p", policy={**LIBRARY, "name": "mine"})
    run = house.submit(problem="p", policy="claude")
    assert [policy["model"] for policy in run.policies] == [LIBRARY["model"]]
    other = read_policy({**LIBRARY, "model": "anthropic/another"}, "the test")
    with pytest.raises(RefusedError, match="only the operator's policies"):
        way_to(other, "api:p", PoliciesSettings())


COMMAND = {"name": "agent", "kind": "agent", "command": ["/usr/bin/true"]}
OPERATORS = """
[[policies]]
name = "agent"
kind = "agent"
command = ["/usr/bin/true"]
environment = ["HOME"]
read = ["/usr/share"]
"""


def test_only_the_operator_may_name_a_command(build: Build, tmp_path: Path) -> None:
    house = build(operator=OPERATORS)
    house.problem()
    with pytest.raises(RefusedError, match="only the operator's agents are started"):
        house.submit(problem="p", policy={**COMMAND, "name": "mine"})
    run = house.submit(problem="p", policy="agent")
    assert [policy["kind"] for policy in run.policies] == ["agent"]
    with pytest.raises(RefusedError, match="only the operator's agents are started"):
        way_to(read_policy(COMMAND, "the test"), "api:p", PoliciesSettings())
    (tmp_path / "operators.toml").write_text(OPERATORS)
    settings = PoliciesSettings(file=tmp_path / "operators.toml")
    bold = read_policy({**COMMAND, "environment": ["SECRET"], "read": ["/etc"]}, "the test")
    assert way_to(bold, "api:p", settings).policy.environment == ("HOME",)
    assert way_to(bold, "api:p", settings).policy.read == ("/usr/share",)
    other = read_policy({**COMMAND, "command": ["/usr/bin/false"]}, "the test")
    with pytest.raises(RefusedError, match="only the operator's agents are started"):
        way_to(other, "api:p", settings)
