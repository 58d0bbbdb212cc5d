"""A policy that comes with the project, served by a real vLLM as it is."""

import json
import os
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from evolve.domains.maze import maze_of, optimum
from evolve.domains.maze.words import is_step
from service.policy.bundled.model import load_model
from service.policy.bundled.sampling import generate
from service.policy_settings.shipped import find_folder
from tests.conftest import VLLM_PYTHON
from tests.e2e.evolving import Evolve
from tests.vllm.server import MODEL, VllmServer, vllm_server

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[2] / "examples" / "maze"
POLICY = """
[[policies]]
name = "maze"
base_url = "{url}"
format = "tags:route"
answers = 4
samples = 2
max_tokens = 105
top_p = 0.95
"""


@pytest.fixture(scope="module")
def folder() -> Path:
    return find_folder("maze-vpo")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[VllmServer]:
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    with vllm_server(python, tmp_path_factory.mktemp("maze"), "key-of-the-maze", model=folder) as served:
        yield served


def test_a_run_of_the_maze_goes_through_a_served_policy(server: VllmServer, tmp_path: Path) -> None:
    evolve = Evolve(tmp_path)
    (tmp_path / "key").write_text(server.key)
    evolve.environment["EVOLVE_POLICY_API_KEY_FILE"] = str(tmp_path / "key")
    (tmp_path / "policy.toml").write_text(POLICY.format(url=server.url))
    *_, summary = evolve.lines(
        "run", str(EXAMPLE), "--policy", str(tmp_path / "policy.toml"), "--evaluations", "64", "--seed", "3", "--json"
    )
    assert (summary["state"], summary["evaluations"]) == ("succeeded", 64)
    assert summary["seed_fitness"] < summary["best"]["fitness"] <= summary["known_best"] + 1e-9
    assert summary["known_best"] == pytest.approx(float(optimum(maze_of("hard", "questions", 0), [0.25] * 4)))
    children = [child for child in evolve.lines("export", summary["run_id"]) if child["proposal_number"]]
    written = [next(iter(child["files"].values())) for child in children if child["status"] == "evaluated"]
    assert written
    assert all(is_step(word) for text in written for word in text.split())
    assert {child["position"] % 4 for child in children} == {0, 1, 2, 3}


@pytest.mark.parametrize("number", range(3))
def test_vllm_writes_what_the_embedded_inference_writes(server: VllmServer, folder: Path, number: int) -> None:
    from evolve.domains import MazeDomain

    asked = [{"role": "user", "content": "# Task\n\n" + MazeDomain().prompt(maze_of("hard", "test", number), 4)}]
    model = load_model(folder)
    prompt = model.vocabulary.encode(model.render(asked))
    ((own,),) = generate(model, [prompt], samples=1, max_tokens=105, temperature=0.0, seeds=[0])
    body = {"model": MODEL, "messages": asked, "temperature": 0.0, "max_tokens": 105}
    reply = post(server, "/chat/completions", body)
    assert reply["usage"]["prompt_tokens"] == len(prompt)
    assert reply["choices"][0]["message"]["content"].split() == own.text.split()


def post(server: VllmServer, path: str, body: Mapping[str, Any]) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"}
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)
