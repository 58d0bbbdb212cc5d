"""Chains: each depends on its own prompt, seed and number; draws follow the distribution; ends are told apart."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.errors import PolicyRefused
from service.policy.bundled import sampling
from service.policy.bundled.model import Model, load_model
from service.policy.bundled.sampling import SampledChain, generate, stream
from tests.fakes.tiny_llama import config, write_model, write_parrot

PROMPTS = [[0, 9, 10, 14], [0, 11], [0, 12, 13, 14, 15, 16, 17, 18, 9, 10]]
EOS = 1


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return load_model(write_model(tmp_path_factory.mktemp("model")))


def ids(chains: Sequence[SampledChain]) -> list[tuple[int, ...]]:
    return [chain.ids for chain in chains]


def test_equal_seeds_give_equal_chains_and_others_give_others(model: Model) -> None:
    def chains(seed: int) -> list[list[SampledChain]]:
        return generate(model, PROMPTS[:1], samples=4, max_tokens=20, temperature=1.0, seeds=[seed])

    assert chains(3) == chains(3)
    assert chains(3) != chains(4)
    assert len(set(ids(chains(3)[0]))) > 1


@settings(max_examples=25, deadline=None)
@given(
    company=st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=12), max_size=4),
    place=st.integers(0, 4),
    samples=st.integers(1, 6),
    seed=st.integers(0, 2**64),
)
def test_a_chain_does_not_depend_on_its_company(
    model: Model, company: list[list[int]], place: int, samples: int, seed: int
) -> None:
    prompts, seeds = list(company), [seed + 1 + number for number in range(len(company))]
    place = min(place, len(prompts))
    prompts.insert(place, PROMPTS[0])
    seeds.insert(place, seed)
    how = {"max_tokens": 15, "temperature": 1.0}
    alone = generate(model, PROMPTS[:1], samples=1, seeds=[seed], **how)[0][0]  # type: ignore[arg-type] # numbers alike
    among = generate(model, prompts, samples=samples, seeds=seeds, **how)[place][0]  # type: ignore[arg-type] # as above
    assert (among.ids, among.finish_reason) == (alone.ids, alone.finish_reason)
    assert among.log_probability == pytest.approx(alone.log_probability, abs=1e-4)


def test_a_chain_does_not_depend_on_how_the_work_is_cut_up(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_chains() -> list[list[tuple[int, ...]]]:
        found = generate(model, PROMPTS, samples=7, max_tokens=50, temperature=1.2, seeds=[1, 2, 3])
        return [ids(chains) for chains in found]

    together = all_chains()
    monkeypatch.setattr(sampling, "MAX_ROWS", 3)
    assert all_chains() == together


def test_without_temperature_the_likeliest_token_follows(model: Model) -> None:
    (chain,), *_ = generate(model, PROMPTS, samples=1, max_tokens=20, temperature=0.0, seeds=[0, 0, 0])
    text = list(PROMPTS[0])
    while len(text) < len(PROMPTS[0]) + 20 and text[-1] != EOS:
        text.append(int(model.log_probabilities(text)[-1].argmax()))
    assert list(chain.ids) == text[len(PROMPTS[0]) :]


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.7), (1.5, 0.5)])
def test_draws_follow_the_distribution(model: Model, temperature: float, top_p: float) -> None:
    number = 4000
    chains = generate(
        model, PROMPTS[:1], samples=number, max_tokens=1, temperature=temperature, top_p=top_p, seeds=[11]
    )
    seen = Counter(chain.ids[0] for chain in chains[0])
    expected = np.exp(model.log_probabilities(PROMPTS[0])[-1].astype(float) / temperature)
    expected /= expected.sum()
    order = np.argsort(-expected)
    kept = order[: int(np.searchsorted(np.cumsum(expected[order]), top_p)) + 1]
    expected = {int(token): expected[token] / expected[kept].sum() for token in kept}
    assert set(seen) <= set(expected)
    for token, share in expected.items():
        # Five standard deviations of a count of draws, and one draw for those that are hardly ever seen.
        assert abs(seen[token] - number * share) <= 5.0 * math.sqrt(number * share * (1.0 - share)) + 1.0


def test_log_probabilities_are_the_models_own_at_any_temperature(model: Model) -> None:
    (chain,) = generate(model, PROMPTS[:1], samples=1, max_tokens=1, temperature=3.0, top_p=0.9, seeds=[2])[0]
    assert chain.log_probability == pytest.approx(
        float(model.log_probabilities(PROMPTS[0])[-1][chain.ids[0]]), abs=1e-5
    )


def test_a_chain_ends_by_itself_or_at_a_limit(model: Model) -> None:
    chains = list(
        itertools.chain(*generate(model, PROMPTS, samples=40, max_tokens=12, temperature=1.0, seeds=[1, 2, 3]))
    )
    assert {chain.finish_reason for chain in chains} == {"stop", "length"}
    for chain in chains:
        stopped = chain.finish_reason == "stop"
        assert (chain.ids[-1] == EOS) == stopped
        assert EOS not in chain.ids[:-1]
        assert stopped or len(chain.ids) == 12
        assert chain.text == model.vocabulary.decode(chain.ids)
        assert "<eos>" not in chain.text


def test_the_context_is_a_limit_of_its_own(tmp_path: Path) -> None:
    model = load_model(write_model(tmp_path, max_position_embeddings=8, eos_token_id=2))
    found = generate(
        model, [[0, 9, 10], [0, 9, 10, 11, 12, 13]], samples=30, max_tokens=99, temperature=1.0, seeds=[1, 2]
    )
    assert {len(chain.ids) for chain in found[0] if chain.finish_reason == "length"} == {5}
    assert {len(chain.ids) for chain in found[1] if chain.finish_reason == "length"} == {2}


def test_steps_come_one_token_at_a_time_and_without_chains_that_ended(model: Model) -> None:
    gone: set[int] = set()
    texts: dict[int, list[int]] = {}
    for step in stream(model, PROMPTS, samples=5, max_tokens=30, temperature=1.0, seeds=[1, 2, 3]):
        assert not gone & set(step.chains.tolist())
        for chain, token in zip(step.chains.tolist(), step.ids.tolist(), strict=True):
            texts.setdefault(chain, []).append(token)
        gone |= set(step.chains[step.stopped | step.cut].tolist())
    found = generate(model, PROMPTS, samples=5, max_tokens=30, temperature=1.0, seeds=[1, 2, 3])
    assert [tuple(texts[chain]) for chain in range(15)] == [chain.ids for chains in found for chain in chains]
    assert gone == set(range(15))


def test_a_model_that_looks_up_each_next_word_writes_its_text(tmp_path: Path) -> None:
    model = load_model(write_parrot(tmp_path, "<answer_1> x = 7 </answer_1>"))
    prompt = model.vocabulary.encode(model.render([{"role": "user", "content": "anything at all"}]))
    (chain,) = generate(model, [prompt], samples=1, max_tokens=20, temperature=1.0, seeds=[0])[0]
    assert (chain.text, chain.finish_reason) == ("<answer_1> x = 7 </answer_1>", "stop")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [([], "takes 0 tokens"), ([5] * 96, "takes 96 tokens"), ([5, 21], "not tokens"), ([-1], "not tokens")],
)
def test_a_prompt_that_cannot_be_gone_on_from_is_refused(model: Model, prompt: list[int], said: str) -> None:
    assert config()["max_position_embeddings"] == 96
    with pytest.raises(PolicyRefused, match=said):
        generate(model, [prompt], samples=1, max_tokens=5, temperature=1.0, seeds=[0])


@pytest.mark.parametrize(
    "changes",
    [{"samples": 0}, {"max_tokens": 0}, {"temperature": -1.0}, {"top_p": 0.0}, {"top_p": 1.1}, {"seeds": [1, 2]}],
)
def test_numbers_out_of_range_are_refused(model: Model, changes: dict[str, object]) -> None:
    asked = {"samples": 1, "max_tokens": 5, "temperature": 1.0, "top_p": 1.0, "seeds": [0], **changes}
    with pytest.raises(ValueError, match="out of range"):
        generate(model, PROMPTS[:1], **asked)  # type: ignore[arg-type] # values of every kind on purpose
