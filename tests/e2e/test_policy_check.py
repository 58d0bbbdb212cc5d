"""`evolve policy check` against real HTTP servers: what it finds out, recommends, and refuses."""

import itertools
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Said, call_here
from tests.fakes.openai_server import OpenAIServer, chain, openai_server
from tests.fakes.refusing import KINDS

KEY = "sk-of-a-test"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return kept | {"HOME": str(tmp_path), "EVOLVE_POLICY_API_KEY": KEY}


def program(number: int) -> str:
    return f"def solve():\n    x = {number / 100}\n    y = -1.0\n    return [x, y]"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A server whose answers are new programs, as many as are asked for; it edits nothing."""
    numbers = itertools.count()

    def respond(body: Mapping[str, Any]) -> list[str]:
        text = str(body["messages"])
        single = "answer_1" not in text
        choices = []
        for _ in range(body.get("n", 1)):
            if single:
                choices.append(f"```python\n{program(next(numbers))}\n```")
            else:
                choices.append(chain(*(program(next(numbers)) for _ in range(4))))
        return choices

    with openai_server(respond, key=KEY) as server:
        yield server


def checked(environment: dict[str, str], server: OpenAIServer, *words: str) -> Said:
    return call_here(["policy", "check", "--policy", server.url, *words], environment)


def test_a_policy_that_writes_whole_programs_is_told_so(environment: dict[str, str], server: OpenAIServer) -> None:
    said = checked(environment, server, "--json")
    assert said.code == 0, said.err
    (found,) = said.lines[-1]["policies"]
    assert (found["model"], found["context_tokens"], found["context_told"]) == ("fake", 8192, True)
    assert found["streaming"]
    yields = {(form["form"]["edits"], form["form"]["answers"]): form for form in found["forms"]}
    assert all(form["asked"] == 8 for form in yields.values())
    whole = next(form for (edits, answers), form in yields.items() if (edits != "diff", answers) == (True, 4))
    assert (whole["parsed"], whole["new"], whole["valid"]) == (8, 8, 8)
    assert found["recommended"]["edits"] == "rewrite"
    assert 1 <= len(server.chats) <= 3
    assert all(chat.body["n"] * (4 if "answer_1" in str(chat.body["messages"]) else 1) == 8 for chat in server.chats)


def test_the_recommended_file_is_a_policy_that_a_run_takes(
    environment: dict[str, str], server: OpenAIServer, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    said = checked(environment, server, "-o", str(file))
    assert said.code == 0, said.err
    (policy,) = tomllib.loads(file.read_text())["policies"]
    assert policy["base_url"] == server.url
    assert policy["model"] == "fake"
    problem = str(tmp_path / "problem")
    assert call_here(["problem", "init", problem], environment).code == 0
    ran = call_here(["run", problem, "--policy", str(file), "--evaluations", "20", "--json"], environment)
    assert ran.code == 0, ran.err
    again = checked(environment, server, "-o", str(file))
    assert (again.code, "exists: name a new file" in again.err) == (5, True)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_server_refuses_is_found_out_and_told(
    environment: dict[str, str], server: OpenAIServer, kind: str
) -> None:
    server.refuse = KINDS[kind].refuse
    said = checked(environment, server, "--param", "temperature=0.7", "--json")
    assert said.code == 0, said.err
    (found,) = said.lines[-1]["policies"]
    assert {(one["parameter"], one["action"]) for one in found["adapted"]} == set(KINDS[kind].learnt)
    assert all(form["valid"] for form in found["forms"] if form["form"]["edits"] != "diff")


def test_a_policy_whose_answers_are_no_programs_fails_the_check(environment: dict[str, str]) -> None:
    def respond(body: Mapping[str, Any]) -> list[str]:
        return ["I am sorry, I cannot help with that."] * body["n"]

    with openai_server(respond, key=KEY) as server:
        said = checked(environment, server)
    assert said.code == 1
    assert "no answer could be used" in said.err
    assert "cannot be used yet" in said.err


def test_a_model_that_writes_nonsense_at_the_default_temperature_is_asked_at_a_lower_one(
    environment: dict[str, str],
) -> None:
    def respond(body: Mapping[str, Any]) -> list[str]:
        cool = body["temperature"] <= 0.5
        return [f"```python\n{program(number)}\n```" if cool else "Once upon a time" for number in range(body["n"])]

    with openai_server(respond, key=KEY) as server:
        said = checked(environment, server)
        assert said.code == 0, said.err
        assert "temperature = 0.5" in said.out
        hot = checked(environment, server, "--param", "temperature=1.0")
    assert (hot.code, "no answer could be used" in hot.err) == (1, True)


def test_a_model_that_is_not_there_is_answered_with_the_nearest(
    environment: dict[str, str], server: OpenAIServer
) -> None:
    said = checked(environment, server, "--model", "fakes")
    assert (said.code, "the nearest is fake" in said.err, "Traceback" in said.err) == (4, True, False)


def test_a_refused_key_and_a_server_that_is_not_there_are_one_sentence(
    environment: dict[str, str], server: OpenAIServer
) -> None:
    said = checked(environment | {"EVOLVE_POLICY_API_KEY": "wrong"}, server)
    assert (said.code, "refuses the key" in said.err) == (4, True)
    gone = call_here(["policy", "check", "--policy", "http://127.0.0.1:9/v1"], environment)
    assert (gone.code, "cannot be reached" in gone.err) == (6, True)
    mutator = call_here(["policy", "check"], environment)
    assert (mutator.code, "asks no model" in mutator.err) == (2, True)
