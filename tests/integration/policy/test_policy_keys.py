"""No key of a policy file is dead: each changes what is sent to a server, what comes of it, or how it is asked."""

import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest

from evolve.configuration import RunConfig
from evolve.credit.policy_credit import PolicyCredit
from evolve.errors import PolicyError
from evolve.evaluation import Evaluation, Outcome
from evolve.proposal import Charge, CompletedReply, Individual, Proposal, Reply
from evolve.search.ensemble import Ensemble
from service.bootstrap.policies import ConfiguredPolicies
from service.config import PoliciesSettings
from service.errors import UsageError
from service.net.retry import Backoff
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import load_policies
from service.ports import RunPolicies
from service.problems.bundle import pack
from service.problems.folder import read_folder
from service.schemas.policies import PriceSettings
from service.usecases.plan import RunPlan
from tests.fakes import openai_server as fake
from tests.fakes.openai_server import OpenAIServer, openai_server
from tests.fakes.tiny_llama import NUMBERS, write_parrot
from tests.fakes.world import program, toy_problem
from tests.integration.policy.conftest import KEY, respond

Lines = Mapping[str, str]  # of a policy file, as they are written there
Stories = dict[str, list[object]]

PRICED = {"price.input": '"1"', "price.cached": '"0.5"', "price.output": '"2"'}
UNSAID = {
    "command": '["agent"]',
    "environment": '["HOME"]',
    "allow_hosts": '["localhost"]',
    "read": '["/usr"]',
    "path": '["/usr/bin"]',
    "max_session_cost": '"1"',
    "adapt": '["edits"]',
    "params": "{ top_k = 20 }",
    "extra_body": "{ top_k = 20 }",
    "base_url": '"http://localhost"',
    "price": '{ input = "1", output = "2" }',
}  # without a default that can be said
SLOW = {"timeout_seconds": "600.0"}
NAMED: Mapping[str, tuple[str, Lines]] = {"name": ('"other"', {}), "weight": ("9.0", {})}
SERVER: Mapping[str, tuple[str, Lines]] = {
    "name": ('"other"', {}),
    "provider": ('"openai"', {}),  # whose usual variable holds a key
    "base_url": ('"LOCALHOST"', {}),
    "model": ('"second"', {}),
    "api_key_env": ('"KEY_OF_THE_TEST"', {}),
    "api_key_file": ('"FOLDER/key"', {}),
    "concurrency": ("1", {}),
    "timeout_seconds": ("0.05", SLOW),
    "price.input": ('"3"', PRICED),
    "price.currency": ('"EUR"', PRICED),
}
WRITING: Mapping[str, tuple[str, Lines]] = {
    **SERVER,
    "price.cached": ('"0.1"', PRICED),
    "price.output": ('"3"', PRICED),
    "temperature": ("0.5", {}),
    "top_p": ("0.5", {}),
    "max_tokens": ("100", {}),
    "context_tokens": ("2048", {}),
    "reasoning_effort": ('"low"', {}),
    "params": ("{ top_k = 20 }", {}),
    "extra_body": ("{ user = 'somebody' }", {}),
}
SHARE: Mapping[str, tuple[str, Lines]] = {"weight": ("9.0", {}), "escalate_after": ("5", {})}
SHAPED: Mapping[str, tuple[str, Lines]] = {"format": ('"fences"', {}), "answers": ("2", {}), "samples": ("1", {})}
READ = '["FOLDER/agent"]'
# Tells what it finds, asks its model twice, and edits.
AGENT = """
import json, os, sys, time, urllib.error, urllib.request

print(os.environ.get("HTTPS_PROXY"))
print(sys.argv[1], os.environ.get("KEY_OF_THE_TEST"), "/bin:" in os.environ["PATH"].partition(":/usr")[0] + ":")
try:
    print(open(os.path.join(os.path.dirname(__file__), "..", "key")).read(1))
except OSError:
    print("no key")
for _ in range(2):
    body = {"model": sys.argv[1], "n": 1, "seed": 1, "messages": [{"role": "user", "content": "hello " * 50}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    try:
        request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            reply.read()
            print(reply.status)
    except urllib.error.HTTPError as error:
        print(error.code)
    time.sleep(0.2)  # a reply is counted when it has ended
for top, folders, names in os.walk("."):
    for name in names:
        if name == "x.py":
            open(os.path.join(top, name), "w").write("x = 5.0\\n")
"""
# What each is without its keys, and of each key another value, and what else must be said for it to matter.
KINDS: Mapping[str, tuple[Lines, Mapping[str, tuple[str, Lines]]]] = {
    "author": ({}, {**WRITING, **SHAPED, "edits": ('"diff"', {}), "adapt": ("[]", {}), **SHARE}),
    "critic": ({"role": '"critic"'}, WRITING),
    # It writes nothing, and servers tell of no cache: the other prices are of tokens that it has none of.
    "embedder": ({"role": '"embedder"'}, SERVER),
    # What is sent is LiteLLM's to say; it goes to the same server, of whose cache it does not tell.
    "litellm": (
        {"kind": '"litellm"', "model": '"openai/fake"'},
        {
            **{key: case for key, case in WRITING.items() if key not in ("provider", "model", "price.cached")},
            **SHAPED,
            "model": ('"openai/second"', {}),
            # LiteLLM itself reads the usual variable, which holds the key of the others.
            "api_key_env": ('"ANOTHER_KEY_OF_THE_TEST"', {}),
            "api_key_file": ('"FOLDER/another_key"', {}),
            "extra_body": ("{ top_k = 20 }", {}),
            "edits": ('"diff"', {}),
            "adapt": ("[]", {}),
            **SHARE,
        },
    ),
    "agent": (
        {"kind": '"agent"', "command": f'["{sys.executable}", "FOLDER/agent/agent.py", "{{model}}"]', "read": READ},
        {
            **NAMED,
            **{key: case for key, case in SERVER.items() if key != "timeout_seconds"},
            "price.output": ('"3"', PRICED),
            "price.cached": ('"0.1"', PRICED),
            **SHARE,
            "answers": ("2", {}),
            "samples": ("2", {}),
            "concurrency": ("2", {}),
            "context_tokens": ("256", {}),
            "timeout_seconds": ("0.01", {}),
            "command": (f'["{sys.executable}", "FOLDER/agent/agent.py", "other"]', {}),
            "environment": ('["KEY_OF_THE_TEST"]', {}),
            "read": ('["FOLDER/agent", "FOLDER/key"]', {}),
            "path": ('["FOLDER/bin"]', {}),
            "allow_hosts": ('["localhost"]', {}),
            "max_session_tokens": ("1", {}),
            "max_session_cost": ('"0.000001"', PRICED),
        },
    ),
    "syntax": ({"kind": '"syntax"'}, {**NAMED, "answers": ("3", {})}),
    "bundled": (
        {"kind": '"bundled"', "model": '"FOLDER/parrot"'},
        {
            **NAMED,
            **SHAPED,
            "model": ('"FOLDER/another"', {}),
            "temperature": ("0.0", {}),
            "top_p": ("0.2", {"samples": "8"}),
            "max_tokens": ("2", {}),
            "concurrency": ("2", {}),
        },
    ),
}
CASES = [(kind, key) for kind, (_, keys) in KINDS.items() for key in keys]
SERVED = ("author", "critic", "embedder", "litellm", "agent")
TELLING = {"kind", "role"}  # each kind and role is told of here


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    def embed(text: str) -> list[float]:
        return [1.0 + text.count(letter) for letter in "axy="]

    with openai_server(respond, models=("fake", "second"), context_tokens=None, embed=embed) as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key, two models, and something to take for a problem's folder."""
    base = tmp_path_factory.mktemp("policies")
    (base / "key").write_text(KEY)
    (base / "another_key").write_text(f"{KEY}-of-another")
    for name, numbers in (("parrot", NUMBERS[:6]), ("another", NUMBERS[4:])):
        write_parrot(base / name, f"<answer_1> {'|'.join(numbers)} </answer_1>", max_position_embeddings=4096)
    for name in ("problem", "agent", "bin"):
        (base / name).mkdir()
    (base / "agent" / "agent.py").write_text(AGENT)
    (base / "problem" / "p.py").write_text("x = 2.0\n")
    return base


@pytest.fixture(scope="module")
def usual() -> Stories:
    """Stories that several keys are compared with, each told once."""
    return {}


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment, and nobody who waits and asks again."""
    monkeypatch.setenv("KEY_OF_THE_TEST", KEY)
    monkeypatch.setenv("ANOTHER_KEY_OF_THE_TEST", f"{KEY}-of-another")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("service.policy.connection.Backoff", partial(Backoff, attempts=1))


def written(folder: Path, server: OpenAIServer, kind: str, lines: Lines) -> Path:
    """A policy file with the policy and another author."""
    address = {"base_url": f'"{server.url}"', "model": '"fake"'} if kind in SERVED else {}
    told = {"name": '"asked"', **address, **KINDS[kind][0], **lines}
    other = f'base_url = "{server.url}"\nmodel = "fake"' if kind == "critic" else 'kind = "syntax"'
    text = "\n".join(["[[policies]]", *(f"{key} = {value}" for key, value in told.items())])
    text = text.replace("FOLDER", str(folder)).replace("LOCALHOST", server.url.replace("127.0.0.1", "localhost"))
    (folder / "policies.toml").write_text(f'{text}\n[[policies]]\nname = "companion"\n{other}\n')
    return folder / "policies.toml"


async def story(folder: Path, server: OpenAIServer, kind: str, lines: Lines) -> list[object]:
    """All that asking the policies of a file once tells: what servers are sent, what comes back, and what is drawn."""
    server.requests.clear()
    policies = load_policies(str(written(folder, server, kind, lines)))
    plan = RunPlan(
        run_id="run_keys",
        problem=toy_problem(),
        bundle=pack(read_folder(folder / "problem")[0]),
        source=str(folder / "problem"),
        config=RunConfig(),
        policies=tuple(policies),
    )
    if "timeout_seconds" in lines and kind != "agent":
        (server.script_embeddings if kind == "embedder" else server.script)(fake.Reply(release=Late()))
    try:
        async with ConfiguredPolicies(PoliciesSettings()).open(plan) as opened:
            told = await asked(opened, plan.config)
    except PolicyError as error:
        told = [str(error)]
    sent = [(each.path, each.headers["host"], each.headers.get("authorization"), each.body) for each in server.requests]
    return [told, sent]


async def usually(usual: Stories, folder: Path, server: OpenAIServer, kind: str, lines: Lines) -> list[object]:
    name = f"{kind} with {lines}"
    if name not in usual:
        usual[name] = await story(folder, server, kind, lines)
    return usual[name]


class Late(threading.Event):
    """Is waited for, and comes after a while."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(min(0.3, timeout or 0.3))


async def asked(opened: RunPolicies, config: RunConfig) -> list[object]:
    ensemble = Ensemble([member.policy_request for member in opened.members], config, PolicyCredit())
    drawn = [ensemble.draw(number) for number in range(20)]
    policy = opened.members[0].policy
    replies = [timeless(reply) async for reply in policy.propose(proposal(policy.answers, policy.samples))]
    embedded = await opened.embedder.embed([program(2.0)]) if opened.embedder else None
    charge = embedded and unhurried(embedded.charge)
    return [drawn, replies, charge, policy.concurrency, opened.health()]


def proposal(answers: int, samples: int) -> Proposal:
    evaluation = Evaluation(outcome=Outcome.OK, scores={"closeness": -1.0})
    parent = Individual(candidate_id="cnd_1", program=program(2.0), evaluation=evaluation, fitness=-1.0, measures={})
    return Proposal(
        id="prp_1", number=1, island=0, operator="mutate", parent=parent, seed=7,
        answers=answers, samples=samples, limit=answers * samples,
    )  # fmt: skip


def timeless(reply: Reply) -> Reply:
    if not isinstance(reply, CompletedReply):
        return reply
    return replace(reply, seconds=0.0, charges=tuple(map(unhurried, reply.charges)))


def unhurried(charge: Charge) -> Charge:
    return replace(charge, seconds=0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_that_a_policy_may_have_is_tried(folder: Path, server: OpenAIServer, kind: str) -> None:
    tried = {key.partition(".")[0] for key in KINDS[kind][1]}
    for key, entry in PolicySettings.model_fields.items():
        if key not in tried | TELLING:
            value = UNSAID.get(key) or repr(entry.default)
            with pytest.raises(UsageError, match=f"{key} has no meaning"):
                load_policies(str(written(folder, server, kind, {key: value})))


def test_every_key_of_a_price_is_tried() -> None:
    assert {f"price.{key}" for key in PriceSettings.model_fields} == {key for key in WRITING if "." in key}


async def test_a_story_is_told_twice_alike_and_otherwise_by_each_kind(
    folder: Path, server: OpenAIServer, usual: Stories
) -> None:
    stories = [await usually(usual, folder, server, kind, {}) for kind in KINDS]
    assert stories == [await story(folder, server, kind, {}) for kind in KINDS]
    assert all(one != other for one, other in combinations(stories, 2))


@pytest.mark.parametrize(("kind", "key"), CASES)
async def test_a_key_of_a_policy_changes_the_story(
    folder: Path, server: OpenAIServer, usual: Stories, kind: str, key: str
) -> None:
    value, others = KINDS[kind][1][key]
    changed = await story(folder, server, kind, {**others, key: value})
    assert changed != await usually(usual, folder, server, kind, others)
