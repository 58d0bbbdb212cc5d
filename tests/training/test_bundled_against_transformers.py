"""The embedded inference against the library whose models it runs: the same numbers, texts and tokens."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.policy.bundled.model import load_model
from service.policy.bundled.sampling import generate
from tests.fakes.tiny_llama import write_model

pytestmark = pytest.mark.training

PROMPTS = [[0, 9, 10, 14, 4], [0, 4], [0, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 10, 4]]
SHAPES: list[dict[str, Any]] = [
    {},
    {"tie_word_embeddings": False},
    {"num_key_value_heads": 4, "rope_theta": 500.0},
    {"num_key_value_heads": 1, "num_hidden_layers": 4, "rms_norm_eps": 0.01},
]


@pytest.fixture(params=SHAPES, ids=str)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_model(tmp_path, **request.param)


def load(folder: Path) -> Any:
    import torch
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def test_log_probabilities_agree(folder: Path) -> None:
    import torch

    model, theirs = load_model(folder), load(folder)
    for prompt in PROMPTS:
        with torch.no_grad():
            expected = torch.log_softmax(theirs(torch.tensor([prompt])).logits[0], -1).numpy()
        assert np.abs(model.log_probabilities(prompt) - expected).max() < 1e-4


def test_greedy_texts_agree(folder: Path) -> None:
    import torch

    model, theirs = load_model(folder), load(folder)
    chains = generate(model, PROMPTS, samples=1, max_tokens=40, temperature=0.0, seeds=[0] * len(PROMPTS))
    for prompt, (chain,) in zip(PROMPTS, chains, strict=True):
        expected = theirs.generate(torch.tensor([prompt]), max_new_tokens=40, do_sample=False, pad_token_id=2)
        assert list(chain.ids) == expected[0, len(prompt) :].tolist()


def test_a_model_that_the_library_saved_is_read(tmp_path: Path) -> None:
    import torch
    import transformers

    made = load(write_model(tmp_path / "made"))
    words = transformers.AutoTokenizer.from_pretrained(tmp_path / "made")
    made.half().save_pretrained(tmp_path / "saved")
    words.save_pretrained(tmp_path / "saved")
    model, theirs = load_model(tmp_path / "saved"), load(tmp_path / "saved")
    with torch.no_grad():
        expected = torch.log_softmax(theirs(torch.tensor([PROMPTS[2]])).logits[0], -1).numpy()
    assert np.abs(model.log_probabilities(PROMPTS[2]) - expected).max() < 1e-4


@pytest.mark.parametrize("text", ["x = 3", "a<eos>x \x1c\u00a0 7\u3000=", "\n<unk>  9 <pad>x=3"])
def test_messages_become_the_same_tokens_and_tokens_the_same_text(tmp_path: Path, text: str) -> None:
    import transformers

    model = load_model(write_model(tmp_path))
    words = transformers.AutoTokenizer.from_pretrained(tmp_path)
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": text}]
    assert model.render(messages) == words.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    ids = words.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
    assert model.vocabulary.encode(model.render(messages)) == ids
    assert model.vocabulary.decode(ids) == words.decode(ids, skip_special_tokens=True)
