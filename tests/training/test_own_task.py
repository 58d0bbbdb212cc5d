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
from training.demonstrations import DemonstrationSettings
from training.domain_demonstrations import demonstrate_domain
from training.errors import CheckpointError, TrainingError
from training.reward_training import generation_options
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


def test_a_model_is_trained_on_the_task_and_tested_while_it_trains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers import AutoModelForCausalLM

    domain = open_domain(NAME)
    model = make_spelling_model(tmp_path / "model", 2, steps=30, prompt=domain.prompt({"letter": "a"}, 2))
    words = f"train task {NAME} --model {model} --method vpo_marginal --answers 2 --rank 0 --rate 1e-3 --prompts 2"
    sizes = "--group 4 --max-tokens 24 --test-every 2 -o trained"
    capsys.readouterr()
    assert run(*words.split(), *sizes.split(), "--steps", "2", "--json") == 0
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (estimate,) = [line for line in reports if line["kind"] == "training.estimate"]
    assert estimate["updates_left"] == 1
    assert estimate["tests_left"] == 1
    assert estimate["estimate_seconds"] == pytest.approx(estimate["update_seconds"] + estimate["test_seconds"])
    curves = (tmp_path / "trained" / "curves.svg").read_text()
    assert all(f"<!-- {words} -->" in curves for words in ("best@8", "ew@8", "set reward, held out"))
    lines = [json.loads(line) for line in (tmp_path / "trained" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "set_reward" in line] == [1, 2]
    tests = [line for line in lines if "test_set_reward" in line]
    assert [line["step"] for line in tests] == [0, 2]
    for line in tests:
        for name in ("best", "ew"):
            assert 0 < line[f"test_{name}@1"] < line[f"test_{name}@4"] < line[f"test_{name}@8"] <= 1
    before, after = (AutoModelForCausalLM.from_pretrained(folder) for folder in (model, tmp_path / "trained" / "model"))
    assert (before.lm_head.weight != after.lm_head.weight).any()
    assert json.loads((tmp_path / "trained" / "training.json").read_text())["prompts"] == {"train": 8, "test": 4}
    assert run(*words.split(), *sizes.split(), "--steps", "3") == 1  # the folder holds a training
    assert run(*words.split(), *sizes.split(), "--steps", "3", "--resume") == 0
    lines = [json.loads(line) for line in (tmp_path / "trained" / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "set_reward" in line] == [1, 2, 3]
    assert [line["step"] for line in lines if "test_set_reward" in line] == [0, 2, 3]  # the last update is tested, too
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
    from safetensors.torch import load_file

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
    assert run(*words.replace("-o trained", "--start trained/adapter -o further").split(), "--steps", "1") == 0
    first, further = (
        load_file(tmp_path / name / "adapter" / "adapter_model.safetensors") for name in ("trained", "further")
    )
    assert first.keys() == further.keys()  # the same adapter, trained on
    assert any((first[name] != further[name]).any() for name in first)
    assert not (tmp_path / "further" / "adapter" / "ref").exists()
    capsys.readouterr()
    assert run(*measure.split(), "lost", "--adapter", "before") == 1
    assert "before holds no adapter" in capsys.readouterr().err


def test_a_model_learns_the_form_from_examples_of_the_domain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers import AutoTokenizer

    model = make_spelling_model(tmp_path / "model", 1, steps=1)
    words = f"train sft --domain {NAME} --model {model} --answers 1,3 --updates 2 --batch 2 --max-tokens 500 -o warm"
    assert run(*words.split(), "--json") == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["demonstrations"] == {"1": 2, "3": 2}
    assert json.loads((tmp_path / "warm" / "training.json").read_text())["domain"] == NAME
    count = AutoTokenizer.from_pretrained(model)
    found = demonstrate_domain(NAME, DemonstrationSettings(answers=(2,)), lambda text: len(count.tokenize(text)), 3)
    domain = open_domain(NAME)
    for one in found.by_answers[2]:
        assert one.messages[0]["content"] in {domain.prompt(question, 2) for question in questions_of(NAME, "train")}
        assert None not in domain.parse(one.reply, 2).answers
    with pytest.raises(TrainingError, match="has at most 14 examples for a question"):
        demonstrate_domain(NAME, DemonstrationSettings(answers=(15,)), len, 3)
    with pytest.raises(TrainingError, match="fits 10 tokens: raise --max-tokens"):
        demonstrate_domain(NAME, DemonstrationSettings(max_tokens=10), len, 3)
    with pytest.raises(TrainingError, match="The domain maze shows no examples"):
        demonstrate_domain("maze", DemonstrationSettings(), len, 3)
    assert run("train", "sft", "--model", str(model), "-o", "none") == 2
    assert "name runs, or a domain with --domain" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--trackers nobody", "--vllm colocate"])
def test_what_is_not_installed_is_said_before_training_starts(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = make_spelling_model(tmp_path / "model", 2, steps=1)
    assert run("train", "task", NAME, "--model", str(model), *words.split(), "--max-tokens", "24", "-o", "trained") == 1
    said = capsys.readouterr().err
    assert "Training cannot start" in said
    assert words.split()[1].replace("colocate", "vLLM") in said


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
    with pytest.raises(TrainingError, match="cannot be trained from an adapter"):
        settings(rank=0, start=tmp_path)
    with pytest.raises(TrainingError, match="vllm is colocate or the address"):
        settings(vllm="here")
    assert generation_options("") == {}
    server = {"use_vllm": True, "vllm_mode": "server", "vllm_server_base_url": "http://gpu:8000"}
    assert generation_options("http://gpu:8000") == server
    with pytest.raises(TrainingError, match="rank at least 0"):
        settings(rank=-1)
    with pytest.raises(RewardError, match="No training method is called 'ppo'"):
        settings(method="ppo")
    with pytest.raises(TrainingError, match="The domain musique brings no questions: name the file"):
        questions_of("musique", "train")
