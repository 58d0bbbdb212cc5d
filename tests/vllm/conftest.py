import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from service.policy.connection import ServerConnection
from service.policy.openai import OpenAIPolicy, PreflightResult
from service.policy.request_options import PromptBuilder
from service.policy_settings.settings import PolicySettings
from tests.conftest import VLLM_PYTHON
from tests.integration.policy.conftest import build_prompt
from tests.vllm.server import VllmServer, vllm_server

KEY = "key-of-the-tests"


@pytest.fixture(scope="session")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A vLLM of this test session."""
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    with vllm_server(python, tmp_path_factory.mktemp("vllm"), KEY) as server:
        yield server


Make = Callable[..., OpenAIPolicy]


@pytest.fixture
async def make(vllm: VllmServer) -> AsyncIterator[Make]:
    """Makes policies against the server; the keyword arguments are settings."""
    made: list[OpenAIPolicy] = []

    def policy(prompt: PromptBuilder = build_prompt, key: str = KEY, **settings: object) -> OpenAIPolicy:
        given = PolicySettings.model_validate({"base_url": vllm.url, **settings})
        connection: ServerConnection[PreflightResult] = ServerConnection(
            given, key=SecretStr(key), rng=np.random.default_rng(1)
        )
        made.append(OpenAIPolicy(connection, build_prompt=prompt))
        return made[-1]

    yield policy
    for each in made:
        await each.close()
