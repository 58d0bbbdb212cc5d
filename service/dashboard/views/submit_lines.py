"""What is typed into the form, as the lines that would do the same in a terminal."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.dashboard.views.submit_fields import flat

FLAGS = {
    "budget.evaluations": "--evaluations",
    "islands": "--islands",
    "seed": "--seed",
    "answers": "--answers",
    "samples": "--samples",
}
FOLDER, KEY_FILE, POLICY_FILE = "problem", "evolve.key", "policy.toml"
KEY = f'-H "Authorization: Bearer $(cat {KEY_FILE})"'
JSON = "-H 'Content-Type: application/json'"


@dataclass(frozen=True, slots=True, kw_only=True)
class EquivalentCommands:
    """The same run, submitted in two other ways."""

    curl: str
    command: str


def lines_of(server: str, request: Mapping[str, Any], files: Sequence[str]) -> EquivalentCommands:
    """Lines for a run.

    Args:
        server: address of the service.
        request: the body of the request for the run; without a problem where that is not stored yet.
        files: names of the files of a problem that is not stored yet, as they would lie in a folder.
    """
    problem = str(request.get("problem", ""))
    body = shlex.quote(json.dumps({**request, "problem": problem or "NAME"}, ensure_ascii=False))
    curl = f"curl -X POST {shlex.quote(f'{server}/v1/runs')} {KEY} \\\n  {JSON} \\\n  -d {body}"
    if not problem:
        curl = f"{_uploaded(server, files)}\n{curl}"
    return EquivalentCommands(curl=curl, command=_command(server, request, problem))


def _uploaded(server: str, files: Sequence[str]) -> str:
    """The problem's files in one request; jq makes JSON of them."""
    read = " ".join(f"--rawfile f{at} {shlex.quote(f'{FOLDER}/{name}')}" for at, name in enumerate(files))
    members = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: $f{at}" for at, name in enumerate(files))
    made = f"jq -n {read} \\\n  {shlex.quote(f'{{files: {{{members}}}}}')}"
    return f"{made} \\\n  | curl -X POST {shlex.quote(f'{server}/v1/problems')} {KEY} \\\n  {JSON} -d @-"


def _command(server: str, request: Mapping[str, Any], problem: str) -> str:
    words = ["evolve", "run", FOLDER]
    for key, value in flat(request.get("config", {})).items():
        words += [FLAGS[key], _literal(value)] if key in FLAGS else ["--set", f"{key}={_literal(value)}"]
    policy = request.get("policy")
    for one in policy if isinstance(policy, list) else [policy] if policy else []:
        words += ["--policy", one if isinstance(one, str) else POLICY_FILE]
    words += ["--server", server, "--api-key-file", KEY_FILE]
    line = " ".join(map(shlex.quote, words))
    if not problem:
        return line
    bundle = shlex.quote(f"{server}/v1/problems/{problem}/bundle")
    return f"mkdir {FOLDER} && curl {bundle} {KEY} | tar xz -C {FOLDER}\n{line}"


def _literal(value: Any) -> str:
    """A value as TOML writes it; texts stand as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_literal(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
