"""Training an adapter on the processor, with a model of a few thousand weights that writes three words."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import Evaluation, Outcome
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from training.adapter_files import check_adapter
from training.adapters.weighting import Weighting
from training.errors import CheckpointError, ModelError, NothingToLearnError, TrainingError
from training.lora import LoraSettings, train_lora

pytestmark = [
    pytest.mark.training,
    # TRL, peft and torch say of each other what is on its way out, and that there is no GPU.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

SEED = Program.of({"note.txt": "green\n"})
COLOURS = Problem(
    name="colours",
    language="text",
    seeds=(SEED,),
    evaluator=EvaluatorSpec(file="evaluator.py", entry="note"),
    objectives=(Objective(name="red", low=0, high=12), Objective(name="blue", low=0, high=12)),
)


def evaluate(programs: Sequence[Program]) -> list[Evaluation]:
    counts = [{word: float(program.text.split().count(word)) for word in ("red", "blue")} for program in programs]
    return [Evaluation(outcome=Outcome.OK, scores=scores) for scores in counts]


@pytest.fixture
def settings(tiny_model: Path, tmp_path: Path) -> Callable[..., LoraSettings]:
    """Settings for two prompts, with whatever a test wants else."""
    records = tmp_path / "records.jsonl"
    lines = [
        {
            "run_id": "run_1", "number": number, "objectives": ["red", "blue"],
            "messages": [{"role": "user", "content": f"ask {word}"}],
            "asked": {"format": "single", "edits": "rewrite", "answers": 1, "samples": 1},
            "parent": {"candidate_id": "cnd_1", "files": dict(SEED.files)},
            "answers": [{"rewards": [number / 12, 0.5 / number]}],
        }
        for number, word in enumerate(("red", "blue"), start=1)
    ]  # fmt: skip
    records.write_text("".join(json.dumps(line) + "\n" for line in lines))
    common: dict[str, Any] = {
        "model": str(tiny_model), "records": (records,), "output": tmp_path / "trained", "steps": 2, "prompts": 2,
        "group": 4, "rate": 1e-2, "rank": 4, "max_tokens": 12, "save_every": 1, "weighting": Weighting(draws=16),
    }  # fmt: skip
    return lambda **changes: LoraSettings(**{**common, **changes})


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_prompts_are_held_out_and_tested_while_all_weights_are_trained(settings: Callable[..., LoraSettings]) -> None:
    from training.adapter_files import check_model

    chosen = settings(rank=0, test_every=1, held_out=1, steps=2)
    folder = train_lora(chosen, COLOURS, evaluate)
    assert folder == chosen.output / "model"
    check_model(folder)
    tests = [line for line in log_of(chosen.output) if "test_set_reward" in line]
    assert [line["step"] for line in tests] == [0, 1, 2]
    assert all(0 <= line["test_best@1"] <= line["test_best@4"] for line in tests)
    assert all(0 <= line["test_ew@1"] <= line["test_ew@4"] for line in tests)
    card = json.loads((chosen.output / "training.json").read_text())
    assert (card["prompts"], card["held_out"]) == (1, 1)
    with pytest.raises(TrainingError, match="2 different prompts, of which 2 cannot be held out"):
        train_lora(settings(test_every=1, held_out=2, output=chosen.output.with_name("other")), COLOURS, evaluate)


def test_an_adapter_is_trained_saved_and_loads(settings: Callable[..., LoraSettings], tiny_model: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    reports: list[Mapping[str, Any]] = []
    folder = train_lora(settings(), COLOURS, evaluate, reports.append)
    assert folder == settings().output / "adapter"
    base = AutoModelForCausalLM.from_pretrained(tiny_model)
    loaded = PeftModel.from_pretrained(base, folder)
    weights = {name: weight for name, weight in loaded.state_dict().items() if "lora_B" in name}
    assert weights
    assert any(torch.count_nonzero(weight) for weight in weights.values())  # they begin as zeros
    log = log_of(settings().output)
    assert [line["step"] for line in log] == [1, 2]
    assert all(0 < line["set_reward"] < 1 and line["group_std"] > 0 for line in log)
    assert all(line["pool_size"] == 1 - line["unread"] for line in log)  # an answer, but where it equals its parent
    assert [line for line in reports if "step" in line] == log
    assert json.loads((settings().output / "training.json").read_text())["prompts"] == 2


def test_a_training_goes_on_from_its_last_checkpoint(settings: Callable[..., LoraSettings]) -> None:
    train_lora(settings(steps=1), COLOURS, evaluate)
    with pytest.raises(CheckpointError, match="holds another training: resume it, or name another folder"):
        train_lora(settings(), COLOURS, evaluate)
    train_lora(settings(resume=True), COLOURS, evaluate)
    assert [line["step"] for line in log_of(settings().output)] == [1, 2]


def test_a_checkpoint_cut_in_half_is_named(settings: Callable[..., LoraSettings]) -> None:
    folder = train_lora(settings(steps=1), COLOURS, evaluate)
    checkpoint = settings().output / "checkpoints" / "checkpoint-1"
    for place in (folder, checkpoint):
        weights = place / "adapter_model.safetensors"
        weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    with pytest.raises(CheckpointError, match="does not hold a complete adapter"):
        check_adapter(folder)
    with pytest.raises(CheckpointError, match="checkpoint-1 does not hold a complete adapter"):
        train_lora(settings(resume=True), COLOURS, evaluate)


def test_weights_that_blow_up_end_training_without_an_adapter(settings: Callable[..., LoraSettings]) -> None:
    with pytest.raises(TrainingError, match=r"Training stopped after \d+ updates .*lower the rate"):
        train_lora(settings(rate=1e38, steps=3), COLOURS, evaluate)
    assert not (settings().output / "adapter").exists()


def test_there_must_be_a_checkpoint_to_resume_from(settings: Callable[..., LoraSettings]) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint in"):
        train_lora(settings(resume=True), COLOURS, evaluate)


def test_prompts_must_leave_room_for_an_answer(settings: Callable[..., LoraSettings]) -> None:
    with pytest.raises(TrainingError, match="No prompt leaves room for 127 tokens in the model's context of 128"):
        train_lora(settings(max_tokens=127), COLOURS, evaluate)


def test_a_model_that_is_none_is_named(settings: Callable[..., LoraSettings], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"The model .*nowhere cannot be loaded"):
        train_lora(settings(model=str(tmp_path / "nowhere")), COLOURS, evaluate)


def test_a_model_without_a_chat_template_is_refused(
    settings: Callable[..., LoraSettings], tiny_model: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(tiny_model, tmp_path / "mute"))
    (model / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match="has no chat template"):
        train_lora(settings(model=str(model)), COLOURS, evaluate)


def test_a_vocabulary_that_does_not_fit_is_refused(
    settings: Callable[..., LoraSettings], tiny_model: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(tiny_model, tmp_path / "large"))
    words = json.loads((model / "tokenizer.json").read_text())
    words["model"]["vocab"] |= {f"word{number}": 11 + number for number in range(5)}
    (model / "tokenizer.json").write_text(json.dumps(words))
    with pytest.raises(ModelError, match="does not fit: the tokenizer has 16, the model 11"):
        train_lora(settings(model=str(model)), COLOURS, evaluate)


def test_an_adapter_with_numbers_that_are_none_is_refused(settings: Callable[..., LoraSettings]) -> None:
    from safetensors.torch import load_file, save_file

    folder = train_lora(settings(steps=1), COLOURS, evaluate)
    weights = load_file(folder / "adapter_model.safetensors")
    name = next(iter(weights))
    weights[name][0] = float("nan")
    save_file(weights, folder / "adapter_model.safetensors")
    with pytest.raises(CheckpointError, match=f"{name} holds numbers that are not finite"):
        check_adapter(folder)


def equal(programs: Sequence[Program]) -> list[Evaluation]:
    """Every program fails."""
    return [Evaluation(outcome=Outcome.ERROR, reason="no") for _ in programs]


def test_training_ends_where_no_completion_is_worth_more_than_another(settings: Callable[..., LoraSettings]) -> None:
    reports: list[Mapping[str, Any]] = []
    with pytest.raises(
        NothingToLearnError, match=r"The first 2 updates .*set_reward 0.000, group_std 0.000, unread .*evolve train sft"
    ):
        train_lora(settings(), COLOURS, equal, reports.append)
    assert [line["step"] for line in reports if "step" in line] == [1, 2]
    assert not (settings().output / "adapter").exists()


def test_records_of_equal_answers_are_refused_before_the_model_is_read(
    settings: Callable[..., LoraSettings], tmp_path: Path
) -> None:
    (records,) = settings().records
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    for line in lines:
        line["answers"] = [{"rewards": [0.5, 0.5]}]
    records.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(NothingToLearnError, match="2 prompts and 2 scored answers, all with the same rewards"):
        train_lora(settings(model=str(tmp_path / "nowhere")), COLOURS, evaluate)
    with pytest.raises(ModelError):
        train_lora(settings(model=str(tmp_path / "nowhere"), keep_going=True), COLOURS, evaluate)


def test_training_that_is_to_keep_going_does(settings: Callable[..., LoraSettings]) -> None:
    assert train_lora(settings(keep_going=True), COLOURS, equal).name == "adapter"


def test_a_method_that_records_cannot_serve_is_refused(tmp_path: Path) -> None:
    def settings(**more: Any) -> LoraSettings:
        return LoraSettings(model="m", records=(), output=tmp_path, **more)

    assert settings(method="vector_max_at_k", k=4).k == 4
    with pytest.raises(TrainingError, match="show no weights, which goal_conditioned needs"):
        settings(method="goal_conditioned")
    with pytest.raises(TrainingError, match="'vpo' takes the best of no subsets"):
        settings(k=4)
