"""Model folders of maze policies: whole or not at all, and refused with the cure where they do not fit."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import TORCH
from tests.training.tiny_maze import RECIPE, SHAPE, random_weights
from training.errors import ModelError
from training.vocabulary import IDS, WORDS

if TYPE_CHECKING or TORCH:
    import torch
    from safetensors.torch import load_file, save_file

    from training.export import WEIGHTS, export, read_model
    from training.maze import base_of

pytestmark = pytest.mark.training

CURE = "start from a model that `evolve train maze` made"
DEEP = "[" * 100_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    export(random_weights(), SHAPE, tmp_path / "model", m=4, card="# card\n")
    return tmp_path / "model"


def configured(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def cut(name: str, share: float) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[: int(share * size(folder / name))])


def size(path: Path) -> int:
    return path.stat().st_size


def reweighted(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        change(weights)
        save_file(weights, folder / WEIGHTS)

    return spoil


def foreign(folder: Path) -> None:
    path = folder / "tokenizer.json"
    value = json.loads(path.read_text())
    value["model"]["vocab"] = {word: number for number, word in enumerate(["<bos>", "<eos>", "a", "b"])}
    path.write_text(json.dumps(value))


def swapped(folder: Path) -> None:
    path = folder / "tokenizer.json"
    value = json.loads(path.read_text())
    value["model"]["vocab"] |= {WORDS[10]: IDS[WORDS[11]], WORDS[11]: IDS[WORDS[10]]}
    path.write_text(json.dumps(value))


def written(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda folder: (folder / "config.json").unlink(), "config.json is missing"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors is missing"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json is missing"),
    "half of the weights": (cut("model.safetensors", 0.5), "cut off or damaged"),
    "none of the weights": (cut("model.safetensors", 0.0), "cut off or damaged"),
    "half of the config": (cut("config.json", 0.5), "cut off or damaged"),
    "half of the tokenizer": (cut("tokenizer.json", 0.5), "cut off or damaged"),
    "a list": (written("config.json", "[]"), "config.json holds no object"),
    "deep": (written("config.json", DEEP), "cut off or damaged"),
    "no text": (lambda folder: (folder / "config.json").write_bytes(b"\xff\xfe"), "cut off or damaged"),
    "no vocabulary": (written("tokenizer.json", '{"model": {"vocab": 3}}'), "cut off or damaged"),
    "foreign words": (foreign, f"has 4 words and does not fit the {len(WORDS)} words of mazes"),
    "swapped words": (swapped, "does not fit"),
    "other architecture": (lambda folder: configured(folder, architectures=["GPT2LMHeadModel"]), "is not a Llama"),
    "no architecture": (lambda folder: configured(folder, architectures=None), "is not a Llama"),
    "a size that is none": (lambda folder: configured(folder, hidden_size="32"), "does not say hidden_size"),
    "a size below one": (lambda folder: configured(folder, num_hidden_layers=0), "does not say num_hidden_layers"),
    "a constant that is none": (lambda folder: configured(folder, rms_norm_eps=None), "does not say its epsilon"),
    "another size": (lambda folder: configured(folder, hidden_size=64), "do not fit its config.json"),
    "sizes without end": (
        lambda folder: configured(folder, hidden_size=10**12, num_hidden_layers=10**12),
        "do not fit its config.json",
    ),
    "a weight less": (reweighted(lambda weights: weights.pop("model.norm.weight")), "do not fit its config.json"),
    "a weight more": (
        reweighted(lambda weights: weights.update({"lm_head.weight": torch.zeros(2)})),
        "do not fit its config.json",
    ),
    "weights that are no numbers": (
        reweighted(lambda weights: weights["model.norm.weight"].fill_(float("nan"))),
        "are not finite, first model.norm.weight",
    ),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_folder_that_does_not_fit_is_named_with_the_cure(folder: Path, spoilt: str) -> None:
    spoil, reason = SPOILT[spoilt]
    spoil(folder)
    with pytest.raises(ModelError) as raised:
        read_model(folder)
    assert str(folder) in str(raised.value)
    assert reason in str(raised.value)
    assert str(raised.value).endswith(CURE)


def test_no_folder_is_named_too(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere is not a model folder"):
        read_model(tmp_path / "nowhere")


def test_a_base_of_another_shape_is_refused(folder: Path) -> None:
    assert base_of(folder, replace(RECIPE, shape=SHAPE))
    with pytest.raises(ModelError, match="another shape than this recipe"):
        base_of(folder, RECIPE)
    configured(folder, rope_theta=500.0)
    with pytest.raises(ModelError, match="another shape than this recipe"):
        base_of(folder, replace(RECIPE, shape=SHAPE))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e6])
def test_weights_that_half_precision_cannot_hold_are_never_written(folder: Path, value: float) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    weights = {name: weight.detach().clone() for name, weight in random_weights(seed=1).items()}
    weights["model.norm.weight"][3] = value
    with pytest.raises(ModelError, match="not finite in half precision"):
        export(weights, SHAPE, folder, m=4, card="")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(ModelError, match="not finite"):
        export(weights, SHAPE, folder.parent / "new", m=4, card="")
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("m", [1, 4, 8])
def test_a_folder_holds_all_that_its_readers_want(tmp_path: Path, m: int) -> None:
    export(random_weights(), SHAPE, tmp_path / "model", m=m, card="# card\n")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "config.json", "evolve.toml", "generation_config.json", "model.safetensors", "README.md", "tokenizer.json",
        "tokenizer_config.json",
    }  # fmt: skip
    defaults = tomllib.loads((tmp_path / "model" / "evolve.toml").read_text())
    assert (defaults["format"], defaults["answers"]) == ("tags:route", m)
    # Room for walks as long as any that the vocabulary can speak of, their tags and the end.
    assert defaults["max_tokens"] == m * (64 + 2) + 1
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in (tmp_path / "model").iterdir())


def test_a_folder_that_is_there_is_replaced(folder: Path) -> None:
    weights = random_weights(seed=1)
    (folder / "old.txt").write_text("old")
    export(weights, SHAPE, folder, m=4, card="# new\n")
    assert (folder / "README.md").read_text() == "# new\n"
    assert not (folder / "old.txt").exists()
    assert torch.equal(read_model(folder)[0][EMBEDDINGS], weights[EMBEDDINGS])
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


EMBEDDINGS = "model.embed_tokens.weight"
KILLED = """
import os, signal, sys
from pathlib import Path
import training.export as export
from tests.training.tiny_maze import SHAPE, random_weights

def stop(*words, **named):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(export, sys.argv[2], stop)
export.export(random_weights(seed=1), SHAPE, Path(sys.argv[1]), m=4, card="")
"""


def test_a_kill_in_the_middle_leaves_the_folder_that_was_there(folder: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(folder), "write_tokenizer"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -9
    assert torch.equal(read_model(folder)[0][EMBEDDINGS], random_weights()[EMBEDDINGS])
    export(random_weights(seed=2), SHAPE, folder, m=4, card="")
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
