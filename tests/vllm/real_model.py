"""Runs of the command on a real instruct model of 135M parameters, which writes what no scripted server sends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.command_line import Said
from tests.conftest import VLLM_PYTHON
from tests.e2e.evolving import Evolve
from tests.patience import PATIENCE_SECONDS
from tests.vllm.server import REAL, VllmServer, vllm_server

EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL = "EVOLVE_TEST_REAL_MODEL"
SAMPLES = 8
RUN_TOKENS = 12_000  # about 16 completions
RUN_SECONDS = 240  # on a machine four times slower than an idle core, about 8 completions
# Higher temperatures make a model of this size write nonsense.
POLICY = """
[[policies]]
name = "small"
base_url = "{url}"
answers = 1
samples = {samples}
temperature = 0.5
max_tokens = 600
concurrency = 2
"""


@contextmanager
def real_server(home: Path) -> Iterator[VllmServer]:
    """A vLLM that serves the model."""
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    model = Path(os.environ.get(MODEL, python.parent.parent / "smollm2-135m-instruct"))
    with vllm_server(python, home, "key-of-a-model", model=model, options=REAL) as served:
        yield served


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRun:
    """A whole run of the command: its exit code, its events and summary, and the candidates it stored."""

    code: int
    events: list[dict[str, Any]]
    summary: dict[str, Any]
    children: list[dict[str, Any]]

    @property
    def answered(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == "proposal.answered"]

    @property
    def asked(self) -> dict[int, int]:
        """Completions asked for, by the number of each proposal that was answered: one holds one answer."""
        answered = {event["proposal_number"] for event in self.answered}
        created = [event for event in self.events if event["kind"] == "proposal.created"]
        return {event["proposal_number"]: event["limit"] for event in created if event["proposal_number"] in answered}

    @property
    def completions(self) -> int:
        return sum(self.asked.values())


def perform(server: VllmServer, home: Path, example: str, more: str = "") -> RealRun:
    """A whole run on an example, by a policy file with further lines."""
    evolve = Evolve(home)
    (home / "key").write_text(server.key)
    evolve.environment["EVOLVE_POLICY_API_KEY_FILE"] = str(home / "key")
    (home / "policy.toml").write_text(POLICY.format(url=server.url, samples=SAMPLES) + more)
    words = ["--policy", str(home / "policy.toml"), "--evaluations", "40", "--seed", "1", "--json"]
    words += ["--set", f"budget.tokens={RUN_TOKENS}", "--set", f"budget.wall_seconds={RUN_SECONDS}"]
    process = evolve.start("run", str(EXAMPLES / example), *words)
    out, err = process.communicate(timeout=RUN_SECONDS + PATIENCE_SECONDS)
    assert "Traceback" not in err
    said = Said(code=process.returncode, out=out, err=err)
    *events, summary = said.lines
    stored = evolve.lines("export", summary["run_id"])
    children = [candidate for candidate in stored if candidate["proposal_number"]]
    return RealRun(code=said.code, events=events, summary=summary, children=children)


def assert_ended(run: RealRun) -> None:
    """A run ends with children, or with a reason and another exit code."""
    if run.summary["state"] == "succeeded":
        assert run.code == 0
        assert run.children
    else:
        assert run.summary["state"] == "failed"
        assert run.code != 0
        assert run.summary["reason"]
