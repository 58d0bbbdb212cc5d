"""`evolve run` against servers that give nothing usable: it fails with one sentence, wherever the run is shown."""

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Said, call_here
from tests.fakes.openai_server import OpenAIServer, Reply, openai_server

PROGRAM = (
    "<answer_1>\ndef solve():\n    # EVOLVE-BLOCK-START\n"
    "    x = {x}\n    y = -1.0\n    # EVOLVE-BLOCK-END\n    return [x, y]\n</answer_1>"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert evolve(tmp_path, "problem", "init", str(tmp_path / "problem")).code == 0
    return tmp_path


def evolve(home: Path, *words: str) -> Said:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return call_here(words, kept | {"HOME": str(home)})


def run(home: Path, server: OpenAIServer, *words: str) -> Said:
    words = ("--evaluations", "12", "--answers", "1", "--samples", "2", *words)
    return evolve(home, "run", str(home / "problem"), "--policy", server.url, *words)


def constant(text: str) -> Callable[[Mapping[str, Any]], list[str]]:
    return lambda body: [text] * body["n"]


def refusing() -> Iterator[Reply]:
    message = {"error": {"message": "Unsupported parameter: max_tokens"}}
    return itertools.repeat(Reply(status=400, body=message), 100)


@pytest.mark.parametrize(
    ("text", "context_tokens", "refuses", "reason", "said"),
    [
        ("unasked", 8192, True, "policy_refused", "max_tokens"),
        ("", 8192, False, "no_usable_answers", "answers could be used"),
        ("You should try a larger step.", 8192, False, "no_usable_answers", "answers could be used"),
        (PROGRAM.format(x=1.0), 64, False, "policy_refused", "context"),
    ],
    ids=["refused", "empty", "prose", "tiny context"],
)
def test_a_policy_that_gives_nothing_fails_the_run_in_one_sentence(
    home: Path, text: str, context_tokens: int, refuses: bool, reason: str, said: str
) -> None:
    with openai_server(constant(text), context_tokens=context_tokens) as server:
        if refuses:
            server.script(*refusing())
        done = run(home, server, "--json")
        assert len(server.chats) < 60
    assert done.code == 1
    (error,) = [json.loads(line)["error"] for line in done.err.splitlines() if line.startswith("{")]
    assert said in error["message"]
    summary = json.loads(done.out.splitlines()[-1])
    assert (summary["state"], summary["reason"]) == ("failed", reason)
    shown = evolve(home, "show", "last").out
    assert f"failed ({reason}): " in shown


def test_a_policy_that_breaks_down_in_ever_other_words_fails_the_run(home: Path) -> None:
    numbers = itertools.count()
    with openai_server(lambda body: [PROGRAM.format(x=next(numbers) / 7) for _ in range(body["n"])]) as server:
        refusals = (Reply(status=400, body={"error": {"message": f"no credit, {n} asked"}}) for n in range(200))
        server.script(Reply(), *refusals)
        done = run(home, server, "--json")
        assert len(server.chats) < 60
    summary = json.loads(done.out.splitlines()[-1])
    assert (done.code, summary["state"], summary["reason"]) == (1, "failed", "policy_refused")


def test_a_critic_that_refuses_every_review_fails_the_run(home: Path) -> None:
    with openai_server(constant(PROGRAM.format(x=1.0))) as author, openai_server(constant("")) as critic:
        critic.script(*refusing())
        policies = home / "policies.toml"
        policies.write_text(
            f'[[policies]]\nname = "author"\nbase_url = "{author.url}"\n'
            f'[[policies]]\nname = "critic"\nrole = "critic"\nbase_url = "{critic.url}"\n'
        )
        done = evolve(home, "run", str(home / "problem"), "--policy", str(policies), "--evaluations", "40", "--json")
    summary = json.loads(done.out.splitlines()[-1])
    assert (done.code, summary["state"], summary["reason"]) == (1, "failed", "policy_refused")
    assert "the critic critic refuses every review" in done.err


def test_a_policy_that_is_bad_first_and_good_later_is_not_failed(home: Path) -> None:
    numbers = itertools.count()

    def respond(body: Mapping[str, Any]) -> list[str]:
        number = next(numbers)
        return [
            "nothing yet" if number < 4 else PROGRAM.format(x=number / 7 + choice / 100) for choice in range(body["n"])
        ]

    with openai_server(respond) as server:
        done = run(home, server, "--json")
    summary = json.loads(done.out.splitlines()[-1])
    assert (done.code, summary["state"], summary["reason"]) == (0, "succeeded", "evaluations")


def test_an_evaluator_that_fails_every_child_fails_the_run(home: Path) -> None:
    seed = (home / "problem" / "initial_program.py").read_text()
    (home / "problem" / "evaluator.py").write_text(
        "def score(outputs, program):\n"
        f"    if list(program.values()) != [{seed!r}]:\n"
        "        raise RuntimeError('the licence server is away')\n"
        "    return {'loss': 1.0}\n"
    )
    done = evolve(home, "run", str(home / "problem"), "--evaluations", "40", "--json")
    summary = json.loads(done.out.splitlines()[-1])
    assert (done.code, summary["state"], summary["reason"]) == (1, "failed", "no_valid_children")
    assert "the licence server is away" in summary["failures"][0]["reason"]
