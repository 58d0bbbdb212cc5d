"""The lines for a terminal ask for what the form asks for, and no text in them is a command of its own."""

import json
import shlex
from typing import Any

import pytest

from service.dashboard.views.submit_fields import flat
from service.dashboard.views.submit_lines import lines_of
from service.problems.configuration import parse_sets

SERVER = "https://evolve.example"
REQUEST: dict[str, Any] = {
    "problem": "prb_1",
    "config": {
        "islands": 3,
        "strategy": "best_of_n",
        "budget": {"evaluations": 70, "target": 2.5, "patience": "none"},
        "selection": {"tournament": 0.5, "power_law": 1.0},
        "prompt": {"system": 'it\'s; $(rm -rf /) `x` "y"\n2'},
    },
    "policy": "syn'tax; true",
}


def test_curl_sends_the_request() -> None:
    words = shlex.split(lines_of(SERVER, REQUEST, ()).curl)
    assert words[:4] == ["curl", "-X", "POST", f"{SERVER}/v1/runs"]
    assert json.loads(words[words.index("-d") + 1]) == REQUEST


def test_the_command_asks_for_the_same_configuration() -> None:
    command = lines_of(SERVER, REQUEST, ()).command
    words = shlex.split(command[command.index("evolve run") :])
    assert words[:3] == ["evolve", "run", "problem"]
    sets = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    asked = dict(parse_sets(sets)[1])
    flags = {"budget.evaluations": "--evaluations", "islands": "--islands"}
    asked |= {key: int(words[words.index(flag) + 1]) for key, flag in flags.items()}
    assert asked == flat(REQUEST["config"])
    assert words[words.index("--policy") + 1] == REQUEST["policy"]
    assert words[-4:] == ["--server", SERVER, "--api-key-file", "evolve.key"]


def test_the_command_names_each_of_several_policies() -> None:
    command = lines_of(SERVER, {**REQUEST, "policy": ["own", {"kind": "syntax"}, "other"]}, ()).command
    words = shlex.split(command[command.index("evolve run") :])
    named = [words[at + 1] for at, word in enumerate(words) if word == "--policy"]
    assert (named[0], named[2]) == ("own", "other")


@pytest.mark.parametrize("name", ["problem.toml", "a b'; rm -rf .json", 'q"uote.py'])
def test_files_of_a_new_problem_are_read_from_their_folder(name: str) -> None:
    words = shlex.split(lines_of(SERVER, {"config": {}}, [name]).curl.replace(" \\\n", ""))
    at = words.index("--rawfile")
    assert words[at + 1 : at + 3] == ["f0", f"problem/{name}"]
    assert words[at + 3] == f"{{files: {{{json.dumps(name)}: $f0}}}}"
