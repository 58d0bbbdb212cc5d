"""A warm start on the processor, with a model of a few thousand weights that writes three words."""

import json
import shutil
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from service.cli.exit_codes import FAILED, NOT_FOUND, USAGE
from tests.e2e.evolving import Evolve, EvolveHere
from tests.training.problem import make_point
from training.candidate_sources import CandidateSource, read_candidates
from training.demonstrations import DemonstrationSettings
from training.errors import CheckpointError, ModelError, TrainingError
from training.sft import SftSettings, train_sft

pytestmark = [
    pytest.mark.training,
    # TRL, peft and torch say of each other what is on its way out, and that there is no GPU.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

COLOURS = Problem(
    name="colours",
    language="text",
    seeds=(Program.of({"note.txt": "green\n"}),),
    evaluator=EvaluatorSpec(file="evaluator.py", entry="note"),
    objectives=(Objective(name="red", low=0, high=12),),
)
# The built-in texts are longer than the context of the tiny model.
BRIEF = {
    "system": "words\n", "problem": "", "objective": "", "reply": "", "rewrite": "", "parent": "$program\n",
    "request_one": "ask red\n", "request_scalar": "ask more\n",
}  # fmt: skip


def line(name: str, parent: str | None, red: int, text: str) -> str:
    values = {
        "candidate_id": name, "outcome": "ok", "fitness": red, "scores": {"red": red}, "cases": {}, "feedback": "",
        "files": {"note.txt": text}, "parents": [{"candidate_id": parent, "role": "parent"}] if parent else [],
    }  # fmt: skip
    return json.dumps(values)


@pytest.fixture
def source() -> CandidateSource:
    lines = [line("1", None, 0, "green\n"), line("2", "1", 1, "red blue\n"), line("3", "1", 0, "blue blue\n")]
    return CandidateSource(
        name="run", problem=COLOURS, candidates=read_candidates(lines, COLOURS, "run"), templates=BRIEF
    )


@pytest.fixture
def settings(tiny_model: Path, tmp_path: Path) -> Callable[..., SftSettings]:
    """Settings for one answer without tags, with whatever a test wants else."""
    shown = DemonstrationSettings(answers=(1,), format="single", max_tokens=120, per_parent=1)
    common: dict[str, Any] = {
        "model": str(tiny_model), "output": tmp_path / "trained", "demonstrations": shown, "updates": 2, "batch": 2,
        "rate": 5e-2, "rank": 4, "save_every": 1,
    }  # fmt: skip
    return lambda **changes: SftSettings(**{**common, **changes})


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (folder / "log.jsonl").read_text().splitlines()]


@pytest.fixture
def decided_model(tiny_model: Path, tmp_path: Path) -> Path:
    """The tiny model with a head whose logits differ; as it is, its frozen head lets no adapter be sure of a word."""
    import torch
    from transformers import AutoModelForCausalLM

    folder = Path(shutil.copytree(tiny_model, tmp_path / "decided"))
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.lm_head.weight.mul_(25.0)
    model.save_pretrained(folder)
    return folder


def test_a_model_learns_to_answer_as_demonstrated_and_to_stop(
    settings: Callable[..., SftSettings], source: CandidateSource, decided_model: Path
) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    reports: list[Mapping[str, Any]] = []
    wanted = settings(model=str(decided_model), updates=60, save_every=60, rate=2e-2)
    result = train_sft(wanted, [source], reports.append)
    assert result.adapter == settings().output / "adapter"
    assert (result.updates, result.demonstrations, result.too_long) == (60, {1: 1}, 0)
    log = log_of(settings().output)
    assert [entry["step"] for entry in log] == list(range(1, 61))
    assert log[-1]["loss"] < 0.1 < log[0]["loss"]
    assert [each for each in reports if "estimate_seconds" not in each] == log
    assert [each["updates_left"] for each in reports if "estimate_seconds" in each] == [59, 55]
    card = json.loads((settings().output / "training.json").read_text())
    assert (card["runs"], card["updates"], card["settings"]["rank"]) == (["run"], 60, 4)

    tokenizer = AutoTokenizer.from_pretrained(decided_model)
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(decided_model), result.adapter)
    asked = tokenizer.apply_chat_template(
        [{"role": "system", "content": "words\n"}, {"role": "user", "content": "```text\ngreen\n```\nask red\n"}],
        add_generation_prompt=True, tokenize=False,
    )  # fmt: skip
    tokens = tokenizer(asked, add_special_tokens=False, return_tensors="pt")
    with torch.no_grad():
        written = model.generate(**tokens, do_sample=False, max_new_tokens=12, pad_token_id=0)[0]
    answer = tokenizer.convert_ids_to_tokens(written[tokens["input_ids"].shape[1] :])
    assert answer == ["<unk>", "red", "blue", "<unk>", "<eos>"]  # the fences are not among the words


def test_a_training_goes_on_from_its_last_checkpoint(
    settings: Callable[..., SftSettings], source: CandidateSource
) -> None:
    train_sft(settings(updates=1), [source])
    with pytest.raises(CheckpointError, match="holds another training: resume it, or name another folder"):
        train_sft(settings(), [source])
    assert train_sft(settings(resume=True), [source]).updates == 2
    assert [entry["step"] for entry in log_of(settings().output)] == [1, 2]


def test_the_time_limit_ends_training_with_an_adapter_and_a_checkpoint(
    settings: Callable[..., SftSettings], source: CandidateSource
) -> None:
    seconds = count(0, 10)
    result = train_sft(settings(updates=50, max_seconds=25.0, save_every=50), [source], clock=lambda: next(seconds))
    assert result.updates == 3
    assert (result.adapter / "adapter_model.safetensors").exists()
    assert (settings().output / "checkpoints" / "checkpoint-3").exists()


def test_weights_that_blow_up_end_training_without_an_adapter(
    settings: Callable[..., SftSettings], source: CandidateSource
) -> None:
    with pytest.raises(TrainingError, match=r"lower the (learning )?rate"):
        train_sft(settings(rate=1e38, updates=3, save_every=3), [source])
    assert not (settings().output / "adapter").exists()


def test_demonstrations_must_fit_the_model(settings: Callable[..., SftSettings], source: CandidateSource) -> None:
    shown = DemonstrationSettings(answers=(1,), format="single", max_tokens=129)
    with pytest.raises(TrainingError, match=r"max_tokens is 129, and the model's context has 128: lower max_tokens"):
        train_sft(settings(demonstrations=shown), [source])


def test_a_model_that_is_none_is_named(
    settings: Callable[..., SftSettings], source: CandidateSource, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"The model .*nowhere cannot be loaded"):
        train_sft(settings(model=str(tmp_path / "nowhere")), [source])


@pytest.mark.parametrize("setting", [{"updates": 0}, {"batch": 0}, {"rate": 0.0}, {"rank": 0}, {"max_seconds": 0.0}])
def test_settings_out_of_range_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(TrainingError, match=next(iter(setting))):
        SftSettings(model="m", output=Path("o"), **setting)


def make_brief_point(folder: Path) -> Path:
    """The point problem with prompts that the tiny model has room for."""
    make_point(folder)
    with (folder / "problem.toml").open("a") as stream:
        stream.write('[search.prompt]\ntemplate_dir = "prompts"\n[search.inspirations]\ntop = 0\ndiverse = 0\n')
    (folder / "prompts").mkdir()
    texts = {
        "system": "words", "problem": "$description $objectives\n", "reply": "$example $edits $regions\n",
        "rewrite": "more\n", "parent": "$scores $program\n", "request_one": "ask\n",
        "request_vector": "ask $count\n", "weights": "$weights\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / "prompts" / f"{name}.txt").write_text(text)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Evolve, Path, Path]:
    """A run of the syntax mutator in a database of its own, its problem, and its export."""
    home = tmp_path_factory.mktemp("run")
    folder, export = make_brief_point(home / "point"), home / "run.jsonl"
    evolve = EvolveHere(home)
    evolve.call("run", str(folder), "--evaluations", "60")
    evolve.call("export", "last", "-o", str(export))
    return evolve, folder, export


SMALL = ("--updates", "2", "--batch", "2", "--rank", "4", "--max-tokens", "128", "--answers", "1,2")


@pytest.mark.parametrize("stored", [True, False], ids=["database", "export"])
def test_the_command_trains_on_a_run_of_the_syntax_mutator(
    run: tuple[Evolve, Path, Path], tiny_model: Path, tmp_path: Path, stored: bool
) -> None:
    evolve, folder, export = run
    words = ("last",) if stored else (str(export), "--problem", str(folder))
    model = ("--model", str(tiny_model), "-o", str(tmp_path / "warm"))
    *reports, summary = evolve.lines("train", "sft", *words, *model, *SMALL, "--json")
    assert [each["step"] for each in reports if each["kind"] == "training.step"] == [1, 2]
    assert [each["updates_left"] for each in reports if each["kind"] == "training.estimate"] == [1]
    assert summary["kind"] == "training.summary"
    assert all(made > 0 for made in summary["demonstrations"].values())
    assert (Path(summary["adapter"]) / "adapter_config.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("run_nothing",), NOT_FOUND, "run_nothing"),
        (
            ("gone.jsonl", "--problem", "{folder}"),
            NOT_FOUND,
            "there is no file gone.jsonl: write it with evolve export",
        ),
        (("{export}",), USAGE, "is an export: name the folder of its problem with --problem"),
        (("last", "--answers", "some"), USAGE, "--answers some must be numbers with commas between them"),
        (("last", "--answers", "64"), FAILED, "no 64 are children of the same parent"),
        (("last", "--max-tokens", "20"), FAILED, "prompts with their replies fits 20 tokens: raise --max-tokens"),
        (("last", "--model", "/nowhere"), FAILED, "The model /nowhere cannot be loaded"),
        (("last", "--format", "xml"), USAGE, "format = 'xml' is unknown"),
    ],
)
def test_what_cannot_be_trained_on_ends_in_one_sentence(
    run: tuple[Evolve, Path, Path], tiny_model: Path, tmp_path: Path, words: tuple[str, ...], code: int, sentence: str
) -> None:
    evolve, folder, export = run
    named = [word.format(folder=folder, export=export) for word in words]
    common = ("--model", str(tiny_model), "-o", str(tmp_path / "warm"), "--max-tokens", "128")
    said = evolve.said("train", "sft", *common, *named)
    assert said.code == code, said.err
    *_, last = said.err.strip().splitlines()
    assert last.startswith("evolve: ")
    assert sentence in last
    assert "Traceback" not in said.err
    assert not (tmp_path / "warm").exists()
