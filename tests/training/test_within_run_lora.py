"""Updates of an adapter within a run, with a model of a few thousand weights."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import TORCH

if TYPE_CHECKING or TORCH:
    import torch

    from training.answered_prompts import UpdateSettings
    from training.base_model import load_model, with_adapter
    from training.errors import TrainingError
    from training.within_run_lora import AdapterUpdate, update_adapter

# The libraries warn about each other.
pytestmark = [
    pytest.mark.training,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

REPLIES = ("red green", "blue blue", "words more", "red blue")
WORTH = (1.0, 0.4, 0.0, 0.2)


def record(number: int, prompt: str = "ask more", worth: tuple[float, ...] = WORTH, **asked: str) -> str:
    answers = [
        {"position": place, "rewards": [value], "fitness": value, "duplicate_of": None}
        for place, value in enumerate(worth)
        if value
    ]
    values = {
        "number": number, "messages": [{"role": "user", "content": prompt}], "completions": list(REPLIES),
        "finish_reasons": ["stop"] * len(REPLIES), "answers": answers, "objectives": [],
        "asked": {"answers": 1, "edits": "rewrite", **asked},
    }  # fmt: skip
    return json.dumps(values)


def order(model: Path, output: Path, *records: str, **settings: Any) -> "AdapterUpdate":
    return AdapterUpdate(
        model=str(model), newest=None, start=None, records=records or (record(1), record(2, "words green")), after=0,
        bounded=[True], output=output, settings=UpdateSettings(**{"rate": 1e-2, **settings}),
    )  # fmt: skip


def losses(model: Path, adapter: Path | None, prompt: str = "ask more") -> list[float]:
    """The negative log-probability of each reply with its end."""
    found, tokenizer = load_model(str(model))
    found = (found if adapter is None else with_adapter(found, adapter)).float()  # with a GPU it has eight bits
    chat = [{"role": "user", "content": prompt}]
    head = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    ids, told = tokenizer(head, add_special_tokens=False)["input_ids"], []
    for reply in REPLIES:
        own = tokenizer(f"{reply}<eos>", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = found(torch.tensor([ids + own])).logits[0, len(ids) - 1 : -1]
        told.append(float(torch.nn.functional.cross_entropy(logits, torch.tensor(own), reduction="sum")))
    return told


@pytest.mark.parametrize("objective", ["entropic", "pkpo"])
def test_the_best_reply_becomes_likelier_than_the_worst(objective: str, tiny_model: Path, tmp_path: Path) -> None:
    told: list[Any] = []
    found = update_adapter(order(tiny_model, tmp_path / "a", objective=objective, k=2), told.append)
    before, after = losses(tiny_model, None), losses(tiny_model, found)
    assert (before[0] - after[0]) - (before[2] - after[2]) > 0
    assert [(line["step"], line["steps"]) for line in told] == [(1, 2), (2, 2)]
    assert (told[-1]["prompts"], told[-1]["replies"], told[-1]["new"]) == (2, 8, 0.75)


def test_a_later_update_trains_the_newest_adapter_and_stays_near_to_the_start(tiny_model: Path, tmp_path: Path) -> None:
    def distances(divergence: float) -> list[float]:
        found, away = None, []
        for number in range(3):
            asked = order(tiny_model, tmp_path / f"{divergence}-{number}", divergence=divergence)
            found = update_adapter(replace(asked, newest=found))
            pairs = zip(losses(tiny_model, None), losses(tiny_model, found), strict=True)
            away.append(sum(abs(one - other) for one, other in pairs))
        return away

    free, held = distances(0.0), distances(100.0)
    assert free[0] < free[1] < free[2]
    assert held[2] < 0.7 * free[2]


def test_the_start_may_be_an_adapter(tiny_model: Path, tmp_path: Path) -> None:
    first = update_adapter(order(tiny_model, tmp_path / "first"))
    asked = order(tiny_model, tmp_path / "second", divergence=100.0)
    second = update_adapter(replace(asked, newest=first, start=first))
    told: list[Any] = []
    third = update_adapter(replace(asked, newest=second, start=first, output=tmp_path / "third"), told.append)
    near, far = (
        sum(abs(one - other) for one, other in zip(losses(tiny_model, third), losses(tiny_model, base), strict=True))
        for base in (first, None)
    )
    assert 0 < near < far
    assert told[-1]["divergence"] > 0


def test_replay_imitates_the_best_replies_of_the_whole_run(tiny_model: Path, tmp_path: Path) -> None:
    records = record(1, "blue ask", (0.0, 0.0, 0.0, 0.9)), record(2)
    plain, replayed = (
        update_adapter(replace(order(tiny_model, tmp_path / str(weight), *records, replay=weight), after=1))
        for weight in (0.0, 5.0)
    )
    assert losses(tiny_model, replayed, "blue ask")[3] < losses(tiny_model, plain, "blue ask")[3]


def test_what_teaches_nothing_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    same = record(1, worth=(0.3, 0.3, 0.3, 0.3))
    with pytest.raises(TrainingError, match="worth the same"):
        update_adapter(order(tiny_model, tmp_path / "a", same))
    with pytest.raises(TrainingError, match="worth the same"):
        update_adapter(order(tiny_model, tmp_path / "b", record(1, edits="continue")))


def test_the_process_of_the_back_end_tells_its_steps(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text(record(1) + "\n")
    asked = {"newest": None, "start": None, "after": 0, "bounded": [True], "settings": {"rate": 1e-2}}
    (tmp_path / "update.json").write_text(json.dumps(asked))
    settings = {
        "model": str(tiny_model), "update": str(tmp_path / "update.json"), "output": str(tmp_path / "training"),
        "records": str(tmp_path / "records.jsonl"), "threads": 1,
    }  # fmt: skip
    (tmp_path / "training.json").write_text(json.dumps(settings))
    words = [sys.executable, "-m", "service.cli.training_process", "update", str(tmp_path / "training.json")]
    told = subprocess.run(words, check=True, capture_output=True, text=True)
    steps = [json.loads(line) for line in told.stdout.splitlines()]
    assert [(one["kind"], one["stage"], one["step"]) for one in steps] == [
        ("training.step", "update", 1), ("training.step", "update", 2),
    ]  # fmt: skip
    assert (tmp_path / "training" / "adapter" / "adapter_model.safetensors").exists()
