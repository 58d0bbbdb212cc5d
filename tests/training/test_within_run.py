"""Updates of a policy within its run: each part does what it is for, and the command makes them of real records."""

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from evolve.domains.maze import maze_of, steps
from service.policy.bundled.model import load_model
from tests.conftest import TORCH
from tests.e2e.evolving import Evolve
from tests.patience import PATIENCE_SECONDS
from training.vocabulary import answer_words, encode, prompt_words

if TYPE_CHECKING or TORCH:
    import torch

    from tests.training.tiny_maze import SHAPE, random_weights
    from training.answered_prompts import AnsweredPrompt, UpdateSettings, read_prompts
    from training.batches import PaddedBatch
    from training.errors import TrainingError
    from training.export import export
    from training.llama import Weights, reply_losses
    from training.within_run import encoder, main, update

pytestmark = pytest.mark.training

ROOT = Path(__file__).parents[2]
WALKS = ("RRDD", "DRDRDR", "U", "LLU")


def answered(number: int, worth: tuple[float, ...] = (1.0, 0.4, 0.0, 0.2)) -> "AnsweredPrompt":
    maze = maze_of("small", "train", number)
    return AnsweredPrompt(
        ids=encode(prompt_words(maze, 1)),
        replies=[encode(answer_words([steps(maze, walk)])) for walk in WALKS],
        rewards=[np.full((1, 4), value) for value in worth],
        fitness=[value or None for value in worth],
    )


def losses(weights: "Weights", prompt: "AnsweredPrompt") -> list[float]:
    """The negative log-probability of each reply."""
    with torch.no_grad():
        rows = PaddedBatch.of([prompt.ids]), PaddedBatch.of(prompt.replies)
        return [float(value) for value in reply_losses(weights, SHAPE, *rows).sum(dim=1)]


def distance(weights: "Weights", start: "Weights", prompt: "AnsweredPrompt") -> float:
    return sum(abs(one - other) for one, other in zip(losses(weights, prompt), losses(start, prompt), strict=True))


@pytest.mark.parametrize("objective", ["entropic", "pkpo"])
def test_the_best_reply_becomes_likelier_than_the_worst(objective: str) -> None:
    start, batch = random_weights(), [answered(0), answered(1)]
    settings = UpdateSettings(objective=objective, k=2, rate=1e-3)
    found, figures = update(start, start, SHAPE, batch, batch, settings)
    for prompt in batch:
        before, after = losses(start, prompt), losses(found, prompt)
        assert (before[0] - after[0]) - (before[2] - after[2]) > 0
    assert (figures["prompts"], figures["replies"], figures["new"]) == (2, 8, 0.75)


def test_a_larger_penalty_keeps_the_policy_nearer_to_the_start() -> None:
    start, batch = random_weights(), [answered(number) for number in range(8)]
    moved = []
    for divergence in (0.0, 100.0):
        settings = UpdateSettings(rate=1e-3, divergence=divergence)
        weights = start
        for _ in range(3):
            weights, _ = update(weights, start, SHAPE, batch, batch, settings)
        moved.append(distance(weights, start, batch[0]))
    assert moved[1] < 0.7 * moved[0]


def test_replay_imitates_the_best_replies_of_the_whole_run() -> None:
    start, batch, archive = random_weights(), [answered(0)], [answered(5, (0.0, 0.0, 0.0, 0.9))]
    plain, _ = update(start, start, SHAPE, batch, [*archive, *batch], UpdateSettings(rate=1e-3))
    replayed, _ = update(start, start, SHAPE, batch, [*archive, *batch], UpdateSettings(rate=1e-3, replay=5.0))
    assert losses(replayed, archive[0])[3] < losses(plain, archive[0])[3] - 0.1


def test_an_update_repeats_and_leaves_its_base_as_it_was() -> None:
    start, batch = random_weights(), [answered(number) for number in range(6)]
    kept = {name: weight.detach().clone() for name, weight in start.items()}
    first, second = (update(start, start, SHAPE, batch, batch, UpdateSettings(replay=0.1))[0] for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert all(torch.equal(start[name], kept[name]) for name in kept)


def test_replies_of_one_worth_teach_nothing() -> None:
    start, batch = random_weights(), [answered(0, (0.3, 0.3, 0.3, 0.3))]
    with pytest.raises(TrainingError, match="worth the same"):
        update(start, start, SHAPE, batch, batch, UpdateSettings())


def test_prompts_with_fewer_replies_are_laid_out_beside_others() -> None:
    start, whole = random_weights(), answered(0)
    short = replace(whole, replies=whole.replies[:2], rewards=whole.rewards[:2], fitness=whole.fitness[:2])
    found, _ = update(start, start, SHAPE, [short, answered(1)], [], UpdateSettings(rate=1e-3))
    assert losses(found, short)[0] - losses(start, short)[0] < losses(found, short)[1] - losses(start, short)[1]


def record(number: int, **changes: object) -> str:
    maze = maze_of("small", "train", 0)
    text = " ".join(prompt_words(maze, 1)[1:-1])
    answers = [
        {"position": 0, "rewards": [1, 1, 0, 1], "fitness": 0.75, "duplicate_of": None},
        {"position": 1, "rewards": [1, 1, 1, 1], "fitness": 1.0, "duplicate_of": "cnd_1"},
    ]
    completions = ["<route_1> Ra1 </route_1>", "<route_1> Ra1", "<route_1> Ra1 </route_1>"]
    values = {
        "number": number, "messages": [{"role": "user", "content": f"A maze.\nIn short: {text}\n"}],
        "completions": completions, "finish_reasons": ["stop", "length", "stop"], "answers": answers,
        "asked": {"answers": 1}, "objectives": ["a", "b", "c", "d"], **changes,
    }  # fmt: skip
    return json.dumps(values)


def test_records_become_the_tokens_that_the_policy_read_and_wrote(tmp_path: Path) -> None:
    export(random_weights(), SHAPE, tmp_path / "model", m=1, card="")
    model = load_model(tmp_path / "model")
    ((number, prompt),) = read_prompts([record(7), record(8, messages=[], completions=[])], encoder(model))
    assert (number, prompt.ids) == (7, encode(prompt_words(maze_of("small", "train", 0), 1)))
    end = min(model.ends)
    assert [reply[-1] == end for reply in prompt.replies] == [True, False, True]
    assert prompt.fitness == [0.75, None, None]
    assert [float(matrix.sum()) for matrix in prompt.rewards] == [3.0, 0.0, 0.0]


def test_a_line_that_is_no_record_is_refused(tmp_path: Path) -> None:
    export(random_weights(), SHAPE, tmp_path / "model", m=1, card="")
    with pytest.raises(TrainingError, match=r"a line of the records is not a training record"):
        read_prompts(['{"messages": [1]}'], encoder(load_model(tmp_path / "model")))


def test_the_command_says_in_a_sentence_what_was_wrong(tmp_path: Path) -> None:
    export(random_weights(), SHAPE, tmp_path / "start", m=1, card="")
    start = str(tmp_path / "start")
    asked = {"settings": {}, "newest": start, "start": start, "after": 0, "answers": 1, "card": ""}
    (tmp_path / "update.json").write_text(json.dumps(asked))
    (tmp_path / "records.jsonl").write_text(record(1, answers=[]) + "\n")
    with pytest.raises(SystemExit, match="nothing can be learnt"):
        main([str(tmp_path), "--threads", "1"])


def test_a_run_trains_itself_and_is_the_same_when_it_was_killed(tmp_path: Path) -> None:
    evolve = Evolve(tmp_path)
    evolve.environment["OMP_NUM_THREADS"] = "1"
    words = [
        "run", str(ROOT / "examples" / "maze"), "--policy", "bundled:maze-base", "--evaluations", "48",
        "--set", "answers=1", "--set", "samples=4", "--set", "learning.every=3", "--set", "learning.updates=2",
        "--set", "learning.replay=0.1", "--set", "deterministic.window=2",
    ]  # fmt: skip
    evolve.call(*words)

    def told() -> list[tuple[object, ...]]:
        events = evolve.lines("export", "last", "--format", "events")
        return [(one.get("model"), one["through"]) for one in events if one["kind"] == "policy.updated"]

    whole = told()
    assert len({model for model, _ in whole}) == 2
    killed = evolve.start(*words, "--json")
    end = time.monotonic() + PATIENCE_SECONDS
    assert killed.stdout is not None
    for line in killed.stdout:
        assert time.monotonic() < end
        if json.loads(line)["kind"] == "policy.updated":
            break
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    evolve.call("run", "--resume", "last")
    assert told() == whole
