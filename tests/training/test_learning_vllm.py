"""A run that trains a real model of 135M parameters within it: a running vLLM loads its adapters, and is asked."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import VLLM_PYTHON
from tests.e2e.evolving import Evolve
from tests.e2e.learning import asked, updates
from tests.training.problem import make_point
from tests.training.test_trl_vllm import loaded, rated
from tests.vllm.real_model import MODEL as REAL_MODEL
from tests.vllm.server import MODEL, REAL, VllmServer, vllm_server

pytestmark = [pytest.mark.training, pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(2400)]

RUN_SECONDS = 2000


def real_model() -> Path:
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    return Path(os.environ.get(REAL_MODEL, python.parent.parent / "smollm2-135m-instruct"))


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A vLLM of the real model, which takes adapters while it runs."""
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    home = tmp_path_factory.mktemp("vllm")
    with vllm_server(python, home, "key-of-a-model", model=real_model(), options=REAL, adapters=True) as server:
        yield server


def test_the_adapters_of_a_run_answer_it_and_the_newest_stays_loaded(vllm: VllmServer, tmp_path: Path) -> None:
    folder, evolve = make_point(tmp_path / "point"), Evolve(tmp_path)
    (tmp_path / "key").write_text(vllm.key)
    evolve.environment |= {"EVOLVE_POLICY_API_KEY_FILE": str(tmp_path / "key"), "OMP_NUM_THREADS": "1"}
    params = ("format=single", "answers=1", "samples=4", "temperature=0.7", "max_tokens=120", "adapt=[]")
    sets = (
        "learning.every=3", "learning.updates=2", "learning.versions=1", "learning.rate=0.001",
        f"learning.model={real_model()}", "deterministic.window=2", "budget.answers=48", "islands=1",
    )  # fmt: skip
    words = [word for value in params for word in ("--param", value)] + [
        word for one in sets for word in ("--set", one)
    ]
    run = evolve.start("run", str(folder), "--policy", vllm.url, "--model", MODEL, "--evaluations", "60", *words)
    _, said = run.communicate(timeout=RUN_SECONDS)
    assert run.returncode == 0, said

    found = updates(evolve)
    made = [one for one in found if one.get("policy")]
    assert len(found) == 2, found
    assert made, found
    assert all(one["figures"]["replies"] >= 4 and one["figures"]["divergence"] >= 0 for one in made)
    assert all("worth the same" in one["reason"] for one in found if one not in made), found
    assert {one["policy"] for one in made} & asked(evolve)

    newest = made[-1]["policy"].partition("@")[0] + "-" + made[-1]["model"][:12]
    assert loaded(vllm) == {newest}
    assert rated(vllm, newest) != rated(vllm, MODEL)
    evolve.call("policy", "unload", newest, "--policy", vllm.url)
    assert loaded(vllm) == set()
