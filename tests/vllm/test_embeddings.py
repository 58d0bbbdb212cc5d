"""The embedder against a real vLLM, which embeds with the tiny model."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from evolve.errors import PolicyDenied
from evolve.program import Program
from evolve.similarity.vectors import distance
from service.policy.connection import ServerConnection
from service.policy.embeddings import OpenAIEmbedder
from service.policy_settings.settings import PolicySettings
from tests.conftest import VLLM_PYTHON
from tests.vllm.conftest import KEY
from tests.vllm.server import CONTEXT_TOKENS, MODEL, VllmServer, vllm_server

pytestmark = [pytest.mark.vllm, pytest.mark.slow]


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A vLLM that embeds."""
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    with vllm_server(python, tmp_path_factory.mktemp("embedding"), KEY, embeds=True) as server:
        yield server


@pytest.fixture
async def embedder(embedding: VllmServer) -> AsyncIterator[OpenAIEmbedder]:
    made = opened(embedding.url)
    yield made
    await made.close()


def opened(url: str) -> OpenAIEmbedder:
    settings = PolicySettings.model_validate({"name": "eye", "role": "embedder", "base_url": url})
    connection: ServerConnection[str] = ServerConnection(settings, key=SecretStr(KEY), rng=np.random.default_rng(1))
    return OpenAIEmbedder(connection, language="python")


def programs(*texts: str) -> list[Program]:
    return [Program.of({"point.py": text}) for text in texts]


PLAIN = "def point():\n    return 0.25, 0.75\n"


async def test_programs_become_vectors_and_near_ones_are_near(embedder: OpenAIEmbedder) -> None:
    await embedder.check()
    near, far = PLAIN.replace("0.75", "0.76"), "import os\n" + "class Other:\n    pass\n" * 20
    embedded = await embedder.embed(programs(PLAIN, near, far))
    plain, one, other = embedded.vectors
    assert plain is not None
    assert one is not None
    assert other is not None
    assert len(plain) == len(one) == len(other) == 128  # the hidden size of the tiny model
    assert [float(np.linalg.norm(vector)) for vector in (plain, one, other)] == pytest.approx([1.0] * 3, abs=1e-5)
    assert 0.0 <= distance(plain, one) < distance(plain, other)
    assert embedded.charge.usage.input > 50
    assert embedded.charge.usage.output == 0


async def test_equal_programs_have_equal_vectors_alone_and_among_others(embedder: OpenAIEmbedder) -> None:
    others = [PLAIN + f"# {number}\n" * number for number in range(1, 8)]
    (alone,) = (await embedder.embed(programs(PLAIN))).vectors
    among = (await embedder.embed(programs(*others, PLAIN))).vectors[-1]
    assert alone is not None
    assert among is not None
    assert distance(alone, among) < 1e-5


async def test_a_program_beyond_the_context_has_no_vector_and_the_others_have(embedder: OpenAIEmbedder) -> None:
    embedded = await embedder.embed(programs(PLAIN, "x = 12345\n" * CONTEXT_TOKENS, PLAIN + "\n# again\n"))
    assert [vector is None for vector in embedded.vectors] == [False, True, False]


async def test_a_server_that_writes_is_no_embedder(vllm: VllmServer) -> None:
    made = opened(vllm.url)
    try:
        with pytest.raises(PolicyDenied, match=f"(?i)embed|{MODEL}|not found"):
            await made.check()
    finally:
        await made.close()
