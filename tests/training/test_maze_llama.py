"""The Llama of the maze policies: the library's numbers, however prompts are shared, padded and read step by step."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from service.policy.bundled.model import load_model
from tests.conftest import TORCH
from tests.training.tiny_maze import SHAPE, padded, prompts, random_weights, replies
from training.recipe import Shape
from training.vocabulary import EOS, IDS, PAD, WORDS

if TYPE_CHECKING:
    from training.batches import PaddedBatch

if TYPE_CHECKING or TORCH:
    import torch

    from training.export import export, read_model
    from training.graph_decoder import GraphDecoder
    from training.llama import Decoder, Weights, read_prompts, read_replies
    from training.rollouts import Rollouts, roll_out

pytestmark = pytest.mark.training

NEAR = 1e-4
SHAPES = (SHAPE, Shape(hidden=24, layers=1, heads=3, head_size=8, inner=20, rope_theta=500.0, epsilon=1e-3))


def log_probabilities(weights: "Weights", shape: Shape, asked: "PaddedBatch", written: "PaddedBatch") -> "torch.Tensor":
    """Logarithms of what may stand at each place of replies, by sharing prompts: (rows, length, vocabulary)."""
    with torch.no_grad():
        prefix = read_prompts(weights, shape, asked.ids, asked.lengths)
        ids = written.ids[:, :-1]
        logits = read_replies(weights, shape, prefix, ids, torch.ones_like(ids, dtype=torch.bool))
        following = logits.view(*ids.shape, shape.vocabulary)
        first = prefix.last.repeat_interleave(len(written.ids) // len(asked.ids), dim=0)
        return torch.log_softmax(torch.cat([first[:, None], following], dim=1), dim=-1)


def whole(weights: "Weights", ids: list[int]) -> "torch.Tensor":
    """Logarithms of what may follow the last token of one sequence that shares nothing."""
    row = padded([ids])
    with torch.no_grad():
        return torch.log_softmax(read_prompts(weights, SHAPE, row.ids, row.lengths).last[0], dim=-1)


@pytest.mark.parametrize("shape", SHAPES, ids=["usual", "other"])
def test_transformers_and_the_embedded_inference_agree(tmp_path: Path, shape: Shape) -> None:
    from transformers import LlamaForCausalLM

    weights, asked, written = random_weights(shape), prompts(), replies()
    export(weights, shape, tmp_path / "model", m=2, card="card")
    theirs = LlamaForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32).eval()
    embedded = load_model(tmp_path / "model")
    ours = log_probabilities(weights, shape, padded(asked), padded(written))
    for row, reply in enumerate(written):
        sequence = [*asked[row // 2], *reply]
        behind = slice(len(asked[row // 2]) - 1, len(sequence) - 1)
        with torch.no_grad():
            expected = torch.log_softmax(theirs(torch.tensor([sequence])).logits[0, behind], dim=-1)
        assert (ours[row, : len(reply)] - expected).abs().max() < NEAR
        assert np.abs(embedded.log_probabilities(sequence)[behind] - expected.numpy()).max() < NEAR
        assert expected.std() > 0.5  # or every policy would agree with every other


def test_the_model_that_is_read_back_is_the_one_that_was_written(tmp_path: Path) -> None:
    for shape in SHAPES:
        weights = random_weights(shape)
        export(weights, shape, tmp_path / "model", m=2, card="card")
        found, read = read_model(tmp_path / "model")
        assert read == shape
        assert all(torch.equal(found[name], weight) for name, weight in weights.items())


def test_a_shared_prompt_is_read_like_one_sequence() -> None:
    weights, asked, written = random_weights(), prompts(), replies()
    ours = log_probabilities(weights, SHAPE, padded(asked), padded(written))
    for row, reply in enumerate(written):
        for place in (0, 1, len(reply) // 2, len(reply) - 1):
            expected = whole(weights, [*asked[row // 2], *reply[:place]])
            assert (ours[row, place] - expected).abs().max() < NEAR


@pytest.mark.parametrize("filling", [7, IDS[EOS]])
def test_padding_changes_nothing(filling: int) -> None:
    weights, asked, written = random_weights(), prompts(), replies()
    plain = log_probabilities(weights, SHAPE, padded(asked), padded(written))
    more = log_probabilities(weights, SHAPE, padded(asked, 9, filling), padded(written, 5, filling))
    for row, reply in enumerate(written):
        assert (plain[row, : len(reply)] - more[row, : len(reply)]).abs().max() < NEAR


def test_what_is_not_read_changes_nothing() -> None:
    weights, asked, written = random_weights(), padded(prompts()), padded(replies(), 5)
    read = written.mask[:, 1:]
    expected = log_probabilities(weights, SHAPE, asked, written)[:, 1:][read]
    with torch.no_grad():
        prefix = read_prompts(weights, SHAPE, asked.ids, asked.lengths)
        found = torch.log_softmax(read_replies(weights, SHAPE, prefix, written.ids[:, :-1], read), dim=-1)
    assert not read.all()
    assert found.shape == expected.shape
    assert (found - expected).abs().max() < NEAR


def test_steps_of_the_decoder_are_replies_read_at_once() -> None:
    weights, asked, written = random_weights(), padded(prompts()), padded(replies())
    expected = log_probabilities(weights, SHAPE, asked, written)
    maximum = written.ids.shape[1]
    with torch.no_grad():
        decoder = Decoder(weights, SHAPE, read_prompts(weights, SHAPE, asked.ids, asked.lengths), 2)
        for place in range(maximum - 1):
            found = torch.log_softmax(decoder.step(written.ids[:, place]), dim=-1)
            assert (found - expected[:, place + 1]).abs().max() < NEAR


def test_the_step_that_a_gpu_replays_is_the_step_of_the_decoder() -> None:
    weights, asked, written = random_weights(), padded(prompts()), padded(replies())
    with torch.no_grad():
        prefix = read_prompts(weights, SHAPE, asked.ids, asked.lengths)
        plain, replayed = Decoder(weights, SHAPE, prefix, 2), GraphDecoder(weights, SHAPE, prefix, 2, 64)
        for place in range(written.ids.shape[1] - 1):
            expected, found = plain.step(written.ids[:, place]), replayed.step(written.ids[:, place])
            assert (found - expected).abs().max() < NEAR


def test_a_decoder_goes_on_with_the_rows_that_are_kept() -> None:
    weights, asked, written = random_weights(), padded(prompts()), padded(replies())
    expected = log_probabilities(weights, SHAPE, asked, written)
    with torch.no_grad():
        decoder = Decoder(weights, SHAPE, read_prompts(weights, SHAPE, asked.ids, asked.lengths), 2)
        rows = torch.arange(6)
        for place, kept in enumerate([[0, 1, 2, 3, 4, 5], [1, 2, 4, 5], [0, 1, 2, 3], [1, 3], [1]]):
            rows = rows[torch.tensor(kept)]
            decoder.keep(torch.tensor(kept))
            found = torch.log_softmax(decoder.step(written.ids[rows, place]), dim=-1)
            assert (found - expected[rows, place + 1]).abs().max() < NEAR
    assert rows.tolist() == [5]


def ready_to_end(weights: "Weights") -> "Weights":
    """The end is likely behind some words, so that replies end at different lengths."""
    table = weights["model.embed_tokens.weight"].detach().clone()
    some = table[IDS[EOS] + 3 :: 7].mean(dim=0)
    table[IDS[EOS]] = some / some.norm() * table.norm(dim=1).mean() * 4
    return weights | {"model.embed_tokens.weight": table}


def rolled(weights: "Weights", seed: int = 5, *, each: int = 6, maximum: int = 24, **changes: Any) -> "Rollouts":
    generator = torch.Generator().manual_seed(seed)
    found: Rollouts = roll_out(
        weights, SHAPE, padded(prompts()), each=each, maximum=maximum, generator=generator, **changes
    )
    return found


def test_rollouts_repeat_with_the_generator_and_differ_without() -> None:
    weights = ready_to_end(random_weights())
    first, again, other = rolled(weights), rolled(weights), rolled(weights, 6)
    assert torch.equal(first.replies.ids, again.replies.ids)
    assert first.entropy == again.entropy
    assert first.written != other.written


def test_rollouts_end_where_the_end_was_written() -> None:
    found = rolled(ready_to_end(random_weights()))
    lengths = found.replies.lengths.tolist()
    rows = [row[:length] for row, length in zip(found.replies.ids.tolist(), lengths, strict=True)]
    assert found.written == rows
    assert len(rows) == 18
    # Rows that have ended were left out of the batch while others went on.
    assert len({len(row) for row in rows}) > 4
    assert {len(row) for row in rows if row[-1] != IDS[EOS]} <= {24}
    assert found.cut == tuple(row[-1] != IDS[EOS] for row in rows)
    assert all(IDS[EOS] not in row[:-1] for row in rows)
    for row, ids in zip(rows, found.replies.ids.tolist(), strict=True):
        assert set(ids[len(row) :]) <= {IDS[PAD]}


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_entropy_is_that_of_what_was_written(temperature: float) -> None:
    weights = ready_to_end(random_weights())
    found = rolled(weights, temperature=temperature)
    logs = log_probabilities(weights, SHAPE, padded(prompts()), found.replies)
    logs = torch.log_softmax(logs / temperature, dim=-1)
    entropies = -(logs.exp() * logs).sum(dim=-1)
    assert found.entropy == pytest.approx(float(entropies[found.replies.mask].mean()), abs=1e-4)


def test_without_warmth_the_likeliest_is_written() -> None:
    weights = ready_to_end(random_weights())
    found = rolled(weights, each=1, maximum=10, temperature=1e-4)
    for place, asked in enumerate(prompts()):
        expected: list[int] = []
        while len(expected) < 10 and IDS[EOS] not in expected:
            expected.append(int(whole(weights, asked + expected).argmax()))
        assert found.replies.ids[place, : int(found.replies.lengths[place])].tolist() == expected


def test_warmth_evens_out_what_is_written() -> None:
    weights = random_weights()
    assert rolled(weights, temperature=4.0).entropy > rolled(weights).entropy > rolled(weights, temperature=0.3).entropy
    assert rolled(weights, temperature=1e6).entropy == pytest.approx(np.log(len(WORDS)), abs=1e-3)
