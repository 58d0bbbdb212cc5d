"""mini-swe-agent edits a program in the sandbox, and reaches a scripted model through the proxy."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import AGENTS_FOLDER
from tests.e2e.evolving import EvolveHere, make_problem
from tests.fakes.openai_server import openai_server

pytestmark = [pytest.mark.agents, pytest.mark.slow]

KEY = "sk-key-of-the-agent-0815"
EDIT = "sed -i 's/return .*/return 42.0/' program.py && cat .evolve/prompt.md"
END = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
WORDS = (
    "-y --exit-immediately -c mini_textbased.yaml -c model.model_class=litellm_textbased"
    " -c model.cost_tracking=ignore_errors -m openai/{model} -o ../home/trajectory.json -t"
)


def respond(body: Mapping[str, Any]) -> list[str]:
    """First an edit, then, when its output is seen, the end."""
    command = EDIT if len(body["messages"]) <= 2 else END
    return [f"THOUGHT: this is better.\n\n```mswea_bash_command\n{command}\n```"]


def test_a_run_with_a_real_agent_finds_the_edit_that_its_model_orders(tmp_path: Path) -> None:
    folder = Path(os.environ[AGENTS_FOLDER]).absolute()
    evolve = EvolveHere(tmp_path)
    # LiteLLM would ask a server for prices, and wait for it in vain.
    passed = {"MSWEA_CONFIGURED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    evolve.environment |= {"KEY_OF_THE_TEST": KEY, **passed}
    problem = make_problem(tmp_path / "problem", evaluations=2)
    words = [str(folder / "bin" / "mini"), *WORDS.split(), "Do what .evolve/prompt.md asks for."]
    with openai_server(respond, key=KEY) as server:
        settings = {
            "name": "mini", "kind": "agent", "command": words, "read": [str(folder)],
            "environment": list(passed), "base_url": server.url, "model": "fake",
            "api_key_env": "KEY_OF_THE_TEST", "timeout_seconds": 300.0,
        }  # fmt: skip
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        (tmp_path / "policy.toml").write_text("\n".join(["[[policies]]", *lines]))
        told = evolve.lines("run", str(problem), "--policy", str(tmp_path / "policy.toml"), "--json")[-1]
    assert told["best"]["scores"] == {"value": 42.0}, told
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {KEY}"] * 2
    assert "# Problem: problem" in str(server.requests[1].body), "it read the prompt"
