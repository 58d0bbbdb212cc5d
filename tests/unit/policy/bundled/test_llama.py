"""The numbers of the network, against its formulas written out, and the same numbers from what is remembered."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.policy.bundled.model import load_model
from service.policy.bundled.sampling import generate
from tests.fakes.tiny_llama import config, weights, write_model
from tests.unit.policy.bundled.reference import log_probabilities

IDS = [0, 9, 10, 14, 3, 20, 4, 5, 9, 10, 16]
SHAPES: list[dict[str, Any]] = [
    {},
    {"tie_word_embeddings": False},
    {"num_key_value_heads": 4},
    {"num_key_value_heads": 1, "rope_theta": 500.0},
    {"num_hidden_layers": 1, "head_dim": 2, "rms_norm_eps": 0.1},
]


@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("half", [False, True])
def test_log_probabilities_are_those_of_the_formulas(tmp_path: Path, changes: dict[str, Any], half: bool) -> None:
    model = load_model(write_model(tmp_path, half=half, **changes))
    shape = config(**changes)
    tensors = {name: tensor.astype(np.float16 if half else np.float32) for name, tensor in weights(shape).items()}
    found = model.log_probabilities(IDS)
    assert found.shape == (len(IDS), shape["vocab_size"])
    assert np.abs(found - np.array(log_probabilities(shape, tensors, IDS))).max() < 1e-4


@pytest.mark.parametrize("changes", SHAPES)
def test_going_on_token_by_token_gives_the_numbers_of_the_whole(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = load_model(write_model(tmp_path, **changes))
    prompts = [IDS[:3], IDS[:7], IDS[2:4]]
    for prompt, chains in zip(
        prompts, generate(model, prompts, samples=3, max_tokens=40, temperature=1.5, seeds=[5, 6, 7]), strict=True
    ):
        for chain in chains:
            whole = model.log_probabilities([*prompt, *chain.ids])[len(prompt) - 1 : -1]
            own = whole[np.arange(len(chain.ids)), chain.ids]
            assert chain.log_probability == pytest.approx(float(own.sum()), abs=1e-3)


def test_the_base_of_the_rotation_is_read_where_newer_files_keep_it(tmp_path: Path) -> None:
    older = load_model(write_model(tmp_path / "older", rope_theta=500.0))
    table = {"rope_type": "default", "rope_theta": 500.0}
    newer = load_model(write_model(tmp_path / "newer", rope_theta=None, rope_parameters=table))
    other = load_model(write_model(tmp_path / "other"))
    assert np.array_equal(older.log_probabilities(IDS), newer.log_probabilities(IDS))
    assert not np.allclose(older.log_probabilities(IDS), other.log_probabilities(IDS))
