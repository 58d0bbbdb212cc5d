"""A method means the same in our trainer, in TRL and in veRL: for the same rewards they have equal advantages."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evolve.errors import RewardError
from evolve.vpo import METHODS, BatchAdvantages, Options, advantages
from tests.conftest import TORCH
from training.adapters import trl
from training.adapters.answer_spans import numbered_spans, spread_advantages, token_spans
from training.adapters.completions import Completion, one_by_one
from training.adapters.trl import method_trainer
from training.adapters.verl import CUT, TOKENS, SentRewards, score_function, sent, verl_estimator
from training.adapters.weighting import Weighting
from training.recipe import reinforcement_of
from training.vocabulary import encode

if TYPE_CHECKING or TORCH:
    import torch

    from training import reinforce
    from training.batches import PaddedBatch
    from training.reinforce import Experience, advantages_of
    from training.rollouts import Rollouts

pytestmark = [
    pytest.mark.training,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

PROMPTS, CHAINS, M = ("first", "second"), 4, 2
REWARDS = np.random.default_rng(1).random((len(PROMPTS), CHAINS, M, 4)).round(2)
GOALS = {"first": [0.5, 0.5, 0.0, 0.0], "second": [0.0, 0.0, 0.25, 0.75]}
WEIGHTING, STEP = Weighting(seed=5, draws=12), 3
WORDS = ["<route_1>", "Ra1", "</route_1>", "<route_2>", "Rb1", "Rc1", "</route_2>", "<eos>"]
PLACES = [(0, 0, 3), (1, 3, 7)]  # the answers among these words


def rewards_of(method: str) -> Any:
    """Chains of two answers, or their first answers alone."""
    return REWARDS if METHODS[method].chains else REWARDS[:, :, :1]


def options_of(method: str) -> Options:
    return Options(k=2 if METHODS[method].subsets else None)


def expected(method: str) -> BatchAdvantages:
    prompts = [prompt for prompt in PROMPTS for _ in range(CHAINS)]
    matrices = list(rewards_of(method).reshape(len(prompts), -1, 4))
    weights_of = lambda prompt, k: WEIGHTING.weights(STEP, prompt, k)  # noqa: E731 - as it is passed
    return (
        advantages(
            method,
            matrices,
            prompts,
            weights_of,
            preference=lambda prompt: GOALS[str(prompt)],
            options=options_of(method),
        )
        if METHODS[method].weights == "shown"
        else advantages(method, matrices, prompts, weights_of, options=options_of(method))
    )


def by_word(method: str) -> Any:
    """What every word of every chain is to get."""
    whole = expected(method)
    if whole.answers is None:
        return np.repeat(whole.rollouts[:, None], len(WORDS), axis=1)
    return np.array([
        spread_advantages(chain, answers, PLACES, len(WORDS))
        for chain, answers in zip(whole.rollouts.tolist(), whole.answers, strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_our_trainer(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = iter(PROMPTS)
    monkeypatch.setattr(reinforce, "draw_weights", lambda k, *_: WEIGHTING.weights(STEP, next(prompts), k))
    rewards = rewards_of(method)
    written = PaddedBatch.of([encode(WORDS)] * (len(PROMPTS) * CHAINS))
    found = Experience(
        prompts=written,
        rollouts=Rollouts(replies=written, cut=(False,) * len(written.ids), entropy=1.0),
        rewards=tuple(rewards),
        moves=(("R",) * CHAINS * M,) * len(PROMPTS),
        goals=tuple(np.array(GOALS[prompt]) for prompt in PROMPTS) if METHODS[method].weights == "shown" else (),
    )
    settings = replace(reinforcement_of(method), m=rewards.shape[2], k=options_of(method).k)
    shown = advantages_of(found, settings, np.random.default_rng(0))
    wide = shown if shown.ndim == 2 else np.repeat(shown[:, None], len(WORDS), axis=1)
    assert wide == pytest.approx(by_word(method))


def completion_of(prompt: str, matrix: Any) -> Completion:
    return Completion(text=json.dumps(matrix.tolist()), prompt=prompt, columns={"weights": GOALS[prompt]})


class Alone:
    """A trainer of TRL as far as advantages are concerned: one process, a tokenizer of whole words."""

    process_index, num_processes = 0, 1

    def decode(self, ids: Sequence[int], **_: Any) -> str:
        return " ".join(WORDS[number] for number in ids)


@pytest.mark.parametrize("method", METHODS)
def test_trl(method: str) -> None:
    matrices = list(rewards_of(method).reshape(len(PROMPTS) * CHAINS, -1, 4))
    prompts = [prompt for prompt in PROMPTS for _ in range(CHAINS)]
    batch = trl._Batch(
        step=STEP,
        completions=[
            replace(completion_of(prompt, matrix), text=" ".join(WORDS))
            for prompt, matrix in zip(prompts, matrices, strict=True)
        ],
        matrices=matrices,
    )
    found = trl._own_part(Alone(), trl._gathered(batch), batch, CHAINS, method, options_of(method), WEIGHTING)
    assert found.rollouts == pytest.approx(expected(method).rollouts)
    if METHODS[method].credit is not None:
        ids = torch.tensor([list(range(len(WORDS)))] * len(prompts))
        trainer = SimpleNamespace(processing_class=Alone())
        shown = trl._by_token(found, batch, ids, numbered_spans, trainer)
        assert np.array(shown) == pytest.approx(by_word(method))


@pytest.mark.parametrize("method", METHODS)
def test_verl(method: str) -> None:
    uids = [prompt for prompt in PROMPTS for _ in range(CHAINS)]
    score = score_function(one_by_one(json.loads), WEIGHTING)
    extras = [
        {
            **score("set", json.dumps(matrix.tolist()), extra_info={"index": uid, CUT: False, "weights": GOALS[uid]}),
            "vpo_prompt": json.dumps(uid),
            TOKENS: json.dumps(PLACES),
        }
        for uid, matrix in zip(uids, rewards_of(method).reshape(len(uids), -1, 4), strict=True)
    ]
    mask = torch.ones(len(uids), len(WORDS))
    with sent(SentRewards(step=STEP, extras=extras)):
        found, _ = verl_estimator(WEIGHTING, method, options_of(method))(mask, mask, uids)
    assert found.numpy() == pytest.approx(by_word(method), abs=1e-5)


def test_a_method_that_needs_shown_weights_says_so_without_them() -> None:
    batch = trl._Batch(step=0, completions=[Completion(text="", prompt="p")] * 2, matrices=[np.ones((1, 2))] * 2)
    with pytest.raises(RewardError, match=r"'goal_conditioned' needs prompts that show weights: give each row"):
        trl._own_part(Alone(), trl._gathered(batch), batch, 2, "goal_conditioned", Options(), WEIGHTING)
    with pytest.raises(RewardError, match="No training method is called 'ppo'; there are vpo"):
        method_trainer("ppo", one_by_one(json.loads))


def test_tokens_of_an_answer_hold_all_of_its_characters() -> None:
    pieces = ["think ", "<ans", "wer_1>", "one</ans", "wer_1> <answer_2>two", "</answer_2>", "\n"]
    text = "".join(pieces)
    spans = numbered_spans(text)
    assert [(answer, text[start:end]) for answer, start, end in spans] == [
        (0, "<answer_1>one</answer_1>"),
        (1, "<answer_2>two</answer_2>"),
    ]
    found = token_spans(range(len(pieces)), spans, lambda ids: "".join(pieces[number] for number in ids))
    assert found == [(0, 1, 5), (1, 4, 6)]
    assert numbered_spans("<answer_1>open <answer>x</answer>") == []


@pytest.mark.parametrize("method", ["max_at_k", "vpo_marginal", "gdpo"])
def test_the_trainer_of_trl_learns_by_these_advantages(method: str, tiny_model: Path, tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import GRPOConfig

    config = GRPOConfig(
        output_dir=str(tmp_path), use_cpu=True, seed=0, max_steps=2, per_device_train_batch_size=4, num_generations=4,
        max_completion_length=12, learning_rate=1e-2, beta=0.0, logging_steps=1, save_strategy="no", report_to=[],
        disable_tqdm=True,
    )  # fmt: skip
    scored: list[Any] = []

    def judge(completions: Sequence[Completion]) -> Any:
        texts = [completion.text.split() for completion in completions]
        halves = [(words[: len(words) // 2], words[len(words) // 2 :]) for words in texts]
        matrices = [[[half.count(word) / 8 for word in ("red", "blue")] for half in pair] for pair in halves]
        scored.append(matrices)
        return matrices

    def halves(text: str) -> list[tuple[int, int, int]]:
        middle = len(" ".join(text.split()[: len(text.split()) // 2]))
        return [(0, 0, middle), (1, middle + 1, len(text))]

    rows = Dataset.from_dict({"prompt": [[{"role": "user", "content": "ask red"}]] * 2})
    made = method_trainer(method, judge, WEIGHTING, options_of(method), spans=halves)
    trainer = made(model=str(tiny_model), args=config, train_dataset=rows)
    seen: list[Any] = []
    generate = trainer._generate_and_score_completions

    def listen(inputs: Any) -> Any:
        seen.append(generate(inputs))
        return seen[-1]

    trainer._generate_and_score_completions = listen
    before = trainer.model.lm_head.weight.detach().clone()
    trainer.train()
    assert len(seen) == len(scored) == 2
    for step, (output, matrices) in enumerate(zip(seen, scored, strict=True)):
        drawn = WEIGHTING.weights(step, [{"role": "user", "content": "ask red"}], 2)
        whole = advantages(method, matrices, [0] * 4, lambda *_, drawn=drawn: drawn, options=options_of(method))
        shown = output["advantages"].numpy()
        if whole.answers is None:
            assert shown == pytest.approx(whole.rollouts, abs=1e-5)
        else:
            assert shown.shape == output["completion_ids"].shape
            for row, mask, answers, chain in zip(
                shown, output["completion_mask"], whole.answers, whole.rollouts, strict=True
            ):
                # The end, which is no answer, is the last token of a completion that was not cut off.
                known = np.array([*answers, chain])
                written = row[: int(mask.sum())]
                assert all(np.abs(known - one).min() < 1e-5 for one in written)
                assert len(written) < 4 or written[0] == pytest.approx(answers[0], abs=1e-5)
    assert (trainer.model.lm_head.weight != before).any()
