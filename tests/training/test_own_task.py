"""A person's own task as the how-to has it: data, and a training with TRL from end to end."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from evolve.domains import open_domain
from evolve.errors import RewardError
from service.cli.main import main
from tests.own_task import write_letters
from tests.training.spelling_model import make_spelling_model
from training.adapter_files import check_model
from training.errors import CheckpointError, TrainingError
from training.task import TaskSettings
from training.task_data import DataSettings, questions_of, row_judge, rows_of

pytestmark = [
    pytest.mark.training,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
NAME = "letters:Letters"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_letters(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "letters", raising=False)


def run(*words: str) -> int:
    return main(words)


def test_questions_become_rows_for_trl_and_verl(tmp_path: Path) -> None:
    from datasets import load_dataset

    assert run("train", "data", NAME, "--answers", "3", "--weights", "--seed", "4", "-o", "rows") == 0
    found = load_dataset(str(tmp_path / "rows"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in found.items()} == {"train": 8, "test": 4}
    row = found["train"][1]
    assert json.loads(row["question"]) == {"letter": "b"}
    (message,) = row["prompt"]
    assert "begins with b," in message["content"]
    assert "<answer_3>" in message["content"]
    assert f"begins {row['weights'][0]:g}, vowels {row['weights'][1]:g}" in message["content"]
    assert sum(row["weights"]) == pytest.approx(1, abs=0.02)
    told = {name: row[name] for name in ("index", "split", "m", "question", "weights")}
    assert row["extra_info"] == told
    assert row["data_source"] == "letters"
    origin = json.loads((tmp_path / "rows" / "dataset.json").read_text())
    assert origin["domain"] == NAME
    assert origin["files"]["test.parquet"]["rows"] == 4
    again = rows_of(DataSettings(domain=NAME, m=3, weights=True, seed=4), "train", questions_of(NAME, "train"))
    assert again[1]["prompt"] == row["prompt"]


def test_a_judge_reads_the_question_of_its_row() -> None:
    from training.adapters.completions import Completion

    columns = {"question": json.dumps({"letter": "o"})}
    text = "<answer_1>oak</answer_1><answer_2>TWO</answer_2>"
    (matrix,) = row_judge(NAME, 2)([Completion(text=text, columns=columns)])
    assert np.asarray(matrix) == pytest.approx(np.array([[1, 0.4, 0.75], [0, 0, 0]]))


def test_a_model_is_trained_on_the_task_and_tested_while_it_trains(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    domain = open_domain(NAME)
    model = make_spelling_model(tmp_path / "model", 2, steps=30, prompt=domain.prompt({"letter": "a"}, 2))
    words = f"train task {NAME} --model {model} --method vpo_marginal --answers 2 --rank 0 --rate 1e-3 --prompts 2"
    sizes = "--group 4 --max-tokens 24 --test-every 2 -o trained"
    assert run(*words.split(), *sizes.split(), "--steps", "2") == 0
    lines = [json.loads(line) for line in (tmp_path / "trained" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "set_reward" in line] == [1, 2]
    assert [line["step"] for line in lines if "test_set_reward" in line] == [2]
    before, after = (AutoModelForCausalLM.from_pretrained(folder) for folder in (model, tmp_path / "trained" / "model"))
    assert (before.lm_head.weight != after.lm_head.weight).any()
    assert json.loads((tmp_path / "trained" / "training.json").read_text())["prompts"] == {"train": 8, "test": 4}
    assert run(*words.split(), *sizes.split(), "--steps", "3") == 1  # the folder holds a training
    assert run(*words.split(), *sizes.split(), "--steps", "3", "--resume") == 0
    lines = [json.loads(line) for line in (tmp_path / "trained" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "set_reward" in line] == [1, 2, 3]
    checkpoint = max((tmp_path / "trained" / "checkpoints").glob("checkpoint-*"))
    (checkpoint / "model.safetensors").write_bytes(b"cut off")
    assert run(*words.split(), *sizes.split(), "--steps", "4", "--resume") == 1
    with pytest.raises(CheckpointError, match="does not hold a complete model"):
        check_model(checkpoint)


def test_a_model_and_its_adapter_are_measured_in_this_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = make_spelling_model(tmp_path / "model", 2, steps=60, prompt=open_domain(NAME).prompt({"letter": "a"}, 2))
    words = (
        f"train task {NAME} --model {model} --answers 2 --rate 1e-3 --prompts 2 --group 4 --max-tokens 24 -o trained"
    )
    assert run(*words.split(), "--steps", "1") == 0
    measure = f"train evaluate {NAME} --answers 2 --chains 4 --max-tokens 24 --json -o"
    capsys.readouterr()
    assert run(*measure.split(), "before", "--model", str(model)) == 0
    before = json.loads(capsys.readouterr().out)["figures"]
    assert run(*measure.split(), "again", "--model", str(model)) == 0
    assert json.loads(capsys.readouterr().out)["figures"] == before  # the draws are seeded
    assert before["unread"] < 16
    assert 0 < before["completion_tokens"] <= 16 * 24
    assert (
        run(*measure.split(), "after", "--adapter", "trained/adapter", "--concurrency", "4") == 0
    )  # it names its model
    lines = [json.loads(line) for line in (tmp_path / "after" / "answers.jsonl").read_text().splitlines()]
    assert [len(line["completions"]) for line in lines] == [4] * 4
    for line in lines:
        assert line["completion_tokens"] <= 4 * 24
        assert not any("<eos>" in text or "<pad>" in text for text in line["completions"])
    assert run(*measure.split(), "lost", "--adapter", "before") == 1
    assert "before holds no adapter" in capsys.readouterr().err


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    def settings(**more: object) -> TaskSettings:
        return TaskSettings(domain=NAME, model="m", output=tmp_path, **more)  # type: ignore[arg-type]  # on purpose

    assert settings().answers == 3
    assert settings(method="vector_max_at_k", k=4).answers == 1
    assert settings(method="goal_conditioned").data.weights
    with pytest.raises(TrainingError, match="'grpo' takes the best of no subsets"):
        settings(method="grpo", k=2)
    with pytest.raises(TrainingError, match="several answers: ask for m of at least 2"):
        settings(m=1)
    with pytest.raises(TrainingError, match="rank at least 0"):
        settings(rank=-1)
    with pytest.raises(RewardError, match="No training method is called 'ppo'"):
        settings(method="ppo")
    with pytest.raises(TrainingError, match="The domain musique brings no questions: name the file"):
        questions_of("musique", "train")
