"""`evolve run --policy` against a real HTTP server that speaks the OpenAI protocol."""

import itertools
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.command_line import EVOLVE, Said, call_here
from tests.fakes.openai_server import OpenAIServer, Reply, chain, openai_server
from tests.patience import PATIENCE_SECONDS

KEY = "sk-of-a-test"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    environment = kept | {"HOME": str(tmp_path)}
    assert evolve(environment, "problem", "init", str(tmp_path / "problem")).code == 0
    return environment


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A server whose answers are programs, each a new one."""
    numbers = itertools.count()

    def respond(body: Mapping[str, Any]) -> list[str]:
        return [chain(*(answer(next(numbers)) for _ in range(3))) for _ in range(body["n"])]

    with openai_server(respond, key=KEY) as server:
        yield server


def answer(number: int) -> str:
    """A point within the bounds of the problem, however many answers a run asks for."""
    return (
        "def solve():\n    # EVOLVE-BLOCK-START\n"
        f"    x = {-number / 100}\n    y = -1.0\n    # EVOLVE-BLOCK-END\n    return [x, y]"
    )


def evolve(environment: dict[str, str], *words: str) -> Said:
    return call_here(words, environment)


def run(environment: dict[str, str], server: OpenAIServer, *words: str) -> Said:
    words = ("--evaluations", "13", "--answers", "3", "--samples", "2", *words)
    keyed = environment | {"EVOLVE_POLICY_API_KEY": KEY}
    return evolve(keyed, "run", f"{environment['HOME']}/problem", "--policy", server.url, *words)


def test_every_answer_of_every_chain_becomes_a_child(environment: dict[str, str], server: OpenAIServer) -> None:
    done = run(environment, server, "--json", "--islands", "1", "--set", "concurrency.policy=1")
    assert done.code == 0, done.err
    summary = json.loads(done.out.splitlines()[-1])
    assert (summary["evaluations"], summary["answers"], summary["valid"]) == (13, 12, 13)
    assert summary["tokens"]["output"] > 0
    children = [json.loads(line) for line in evolve(environment, "export", "last").out.splitlines()][1:]
    assert {(child["proposal_number"], child["position"]) for child in children} == {
        (number, position) for number in (1, 2) for position in range(6)
    }
    assert {child["policy"] for child in children} == {urlsplit(server.url).netloc}
    assert all(child["parents"] for child in children)
    shown = evolve(environment, "show", children[0]["candidate_id"], "--prompt").out
    assert "completion 2" in shown


def test_the_key_is_nowhere_to_be_found(environment: dict[str, str], server: OpenAIServer) -> None:
    done = run(environment, server, "-v")
    assert done.code == 0, done.err
    assert "No model was used" not in done.out
    assert KEY not in done.out + done.err
    home = Path(environment["HOME"])
    assert not [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("key", "words", "code"), [("sk-wrong", (), 4), (KEY, ("--model", "unknown"), 4)], ids=["key", "model"]
)
def test_what_the_server_refuses_is_one_sentence_and_no_run(
    environment: dict[str, str], server: OpenAIServer, key: str, words: tuple[str, ...], code: int
) -> None:
    keyed = environment | {"EVOLVE_POLICY_API_KEY": key}
    done = evolve(keyed, "run", f"{environment['HOME']}/problem", "--policy", server.url, *words)
    assert (done.code, done.out, len(done.err.splitlines())) == (code, "", 1)
    assert key not in done.err
    assert evolve(environment, "runs", "--json").out == ""


def test_a_server_that_fails_for_a_while_costs_no_budget(environment: dict[str, str], server: OpenAIServer) -> None:
    server.script(*(Reply(status=503, headers={"retry-after": "0"}) for _ in range(2)))
    done = run(environment, server, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out.splitlines()[-1])["evaluations"] == 13


def test_the_users_own_words_reach_the_model(environment: dict[str, str], server: OpenAIServer) -> None:
    templates = Path(environment["HOME"]) / "problem" / "prompts"
    templates.mkdir()
    (templates / "system.txt").write_text("Write like a pirate.\n")
    done = run(environment, server, "--set", "prompt.template_dir=prompts", "-q")
    assert done.code == 0, done.err
    assert server.chats[0].body["messages"][0]["content"].strip() == "Write like a pirate."
    (templates / "sistem.txt").write_text("x")
    refused = run(environment, server, "--set", "prompt.template_dir=prompts", "-q")
    assert (refused.code, "sistem" in refused.err) == (2, True)


def test_a_run_goes_on_with_the_problem_as_it_was(environment: dict[str, str], server: OpenAIServer) -> None:
    held = 5
    process = subprocess.Popen(
        [EVOLVE, "run", f"{environment['HOME']}/problem", "--policy", server.url, "--evaluations", "40", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment | {"EVOLVE_POLICY_API_KEY": KEY},
    )
    assert process.stdout is not None
    seen = 0
    while seen < held:
        seen += '"candidate.evaluated"' in process.stdout.readline()
    process.terminate()
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    (Path(environment["HOME"]) / "problem" / "evaluator.py").write_text("raise RuntimeError\n")
    done = evolve(environment | {"EVOLVE_POLICY_API_KEY": KEY}, "run", "--resume", "last", "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out.splitlines()[-1])
    assert (summary["evaluations"], summary["failed"]) == (40, 0), summary["failures"]


PRICED = """
[[policies]]
name = "priced"
base_url = "{}"
answers = 3
samples = 2
price = {{ input = "0.15", cached = "0.075", output = "0.6", currency = "EUR" }}
"""


def test_a_run_ends_by_money_and_says_what_it_spent(
    environment: dict[str, str], server: OpenAIServer, tmp_path: Path
) -> None:
    policy = tmp_path / "policies.toml"
    policy.write_text(PRICED.format(server.url))
    keyed = environment | {"EVOLVE_POLICY_API_KEY": KEY}
    begin = ("run", f"{environment['HOME']}/problem", "--policy", str(policy), "--set", "budget.evaluations=none")
    done = evolve(keyed, *begin, "--money", "0.0005 EUR", "--json")
    assert done.code == 0, done.err
    *events, summary = [json.loads(line) for line in done.out.splitlines()]
    assert (summary["state"], summary["reason"]) == ("succeeded", "money")
    # The price of what the server told, by hand: millionths of a euro.
    tokens = summary["tokens"]
    fresh = tokens["input"] - tokens["cached"]
    exact = Decimal(fresh) * 15 / 100 + Decimal(tokens["cached"]) * 75 / 1000 + Decimal(tokens["output"]) * 6 / 10
    amount, currency = summary["cost"].split()
    assert (Decimal(amount) * 10**6, currency) == (exact, "EUR")
    assert Decimal(amount) >= Decimal("0.0005")
    answered = [event["cost"].split()[0] for event in events if event["kind"] == "proposal.answered"]
    assert sum(map(Decimal, answered)) == Decimal(amount)
    shown = evolve(environment, "show", "last").out
    assert f"{summary['cost']}" in shown
    other = evolve(keyed, *begin, "--money", "5 USD")
    assert (other.code, "budget.money is in USD and the policy's price in EUR" in other.err) == (2, True)
    unpriced = run(environment, server, "--money", "5")
    assert "give the policy a price" in unpriced.err
    assert unpriced.code == 2
