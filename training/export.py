"""Model folders in the layout of transformers, which vLLM and the embedded inference read as they are."""

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from training.errors import ModelError
from training.llama import Weights, count, shapes
from training.recipe import Shape
from training.vocabulary import BOS, EOS, IDS, MAX_ANSWERS, MAX_MOVES, PAD, TAUGHT, WORDS, write_tokenizer

WEIGHTS = "model.safetensors"
_CURE = "start from a model that `evolve train maze` made"
_TAUGHT = "evolve_chain_lengths"  # in config.json; a folder without it knows those of the bundled policies
_TINY_FOLDER_FILES = ("config.json", WEIGHTS, "tokenizer.json")


def export(
    weights: Weights,
    shape: Shape,
    folder: Path,
    *,
    m: int,
    card: str,
    goals: bool = False,
    taught: Sequence[int] = TAUGHT,
) -> None:
    """Write a model folder in half precision, completely or not at all. An existing folder is replaced.

    Args:
        m: default number of answers per chain.
        card: its README.md.
        goals: prompts show the policy weights of the objectives.
        taught: lengths of chains that the policy knows.

    Raises:
        ModelError: the weights are not finite in half precision, or the folder does not read back as written.
    """
    halves = {name: weight.detach().to("cpu", torch.float16).contiguous() for name, weight in weights.items()}
    if not all(bool(torch.isfinite(half).all()) for half in halves.values()):
        raise ModelError("the weights are not finite in half precision: train with a lower rate")
    started = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(started, ignore_errors=True)
    started.mkdir(parents=True)
    try:
        save_file(halves, started / WEIGHTS, metadata={"format": "pt"})
    except SafetensorError as error:
        raise ModelError(f"the model folder {folder} cannot be written: {str(error)[:200]}") from error
    (started / WEIGHTS).chmod(0o644)  # written for its owner alone otherwise
    _write_json(started / "config.json", {**_configuration(shape), _TAUGHT: list(taught)})
    ends = {"bos_token_id": IDS[BOS], "eos_token_id": IDS[EOS], "pad_token_id": IDS[PAD], "do_sample": True}
    _write_json(started / "generation_config.json", ends)
    write_tokenizer(started, goals=goals, taught=taught)
    defaults = (
        f'format = "tags:route"\nanswers = {m}\nsamples = {8 // m}\ntemperature = 1.0\n'
        f"max_tokens = {m * (MAX_MOVES + 2) + 1}\n"
    )
    (started / "evolve.toml").write_text(f"# Defaults of this policy.\n{defaults}")
    (started / "README.md").write_text(card, encoding="utf-8")
    found = read_model(started)[0]
    if any(not torch.equal(found[name], half.float()) for name, half in halves.items()):
        raise ModelError(f"the model folder {folder} did not read back as it was written")
    shutil.rmtree(folder, ignore_errors=True)
    started.rename(folder)


def read_model(folder: Path) -> tuple[Weights, Shape]:
    """Read a model folder that `export` wrote, to train on from it.

    Raises:
        ModelError: a file is missing or damaged, or the model is of another kind or another vocabulary.
    """
    _check_files(folder)
    try:
        configuration = _read_json(folder / "config.json")
        vocabulary = dict(_read_json(folder / "tokenizer.json")["model"]["vocab"])
        halves = load_file(folder / WEIGHTS)
    except (ValueError, KeyError, TypeError, OSError, RecursionError, SafetensorError) as error:
        raise ModelError(f"the model in {folder} is cut off or damaged ({str(error)[:200]}): {_CURE}") from error
    shape = _shape(folder, configuration)
    if vocabulary != IDS or shape.vocabulary != len(WORDS):
        raise ModelError(
            f"the vocabulary of {folder} has {len(vocabulary)} words and does not fit the {len(WORDS)} words of"
            f" mazes: {_CURE}"
        )
    return _checked(folder, halves, shape), shape


def _check_files(folder: Path) -> None:
    for name in _TINY_FOLDER_FILES:
        if not (folder / name).is_file():
            raise ModelError(f"{folder} is not a model folder, because {name} is missing: {_CURE}")


def taught_chains(folder: Path) -> tuple[int, ...]:
    """The lengths of chains that the policy of a model folder knows.

    Raises:
        ModelError: config.json cannot be read, or says something else.
    """
    _check_files(folder)
    try:
        found = _read_json(folder / "config.json").get(_TAUGHT, list(TAUGHT))
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise ModelError(f"config.json of {folder} cannot be read ({str(error)[:200]}): {_CURE}") from error
    lengths = found if isinstance(found, list) else []
    if not lengths or not all(type(length) is int and 1 <= length <= MAX_ANSWERS for length in lengths):
        raise ModelError(f"{_TAUGHT} in config.json of {folder} is no list of 1 to {MAX_ANSWERS}: {_CURE}")
    return tuple(lengths)


def _shape(folder: Path, configuration: Mapping[str, object]) -> Shape:
    if configuration.get("architectures") != ["LlamaForCausalLM"]:
        raise ModelError(f"the model in {folder} is not a Llama: {_CURE}")
    names = {"vocabulary": "vocab_size", "hidden": "hidden_size", "layers": "num_hidden_layers"}
    names |= {"heads": "num_attention_heads", "head_size": "head_dim", "inner": "intermediate_size"}
    names |= {"context": "max_position_embeddings"}
    values = {name: configuration.get(key) for name, key in names.items()}
    for name, value in values.items():
        if type(value) is not int or value < 1:
            raise ModelError(f"config.json of {folder} does not say {names[name]}: {_CURE}")
    constants = {"rope_theta": configuration.get("rope_theta"), "epsilon": configuration.get("rms_norm_eps")}
    for name, value in constants.items():
        if type(value) is not float or not 0 < value < math.inf:
            raise ModelError(f"config.json of {folder} does not say its {name}: {_CURE}")
    return Shape(**values, **constants)  # type: ignore[arg-type]  # checked above: integers, then numbers


def _checked(folder: Path, halves: Mapping[str, "torch.Tensor"], shape: Shape) -> Weights:
    # A config.json may claim layers without end, so they are counted before they are listed.
    wanted = shapes(shape) if len(halves) == count(shape) else {}
    if {name: tuple(half.shape) for name, half in halves.items()} != wanted:
        raise ModelError(f"the weights of {folder} do not fit its config.json: {_CURE}")
    for name, half in halves.items():
        if not bool(torch.isfinite(half).all()):
            raise ModelError(f"the weights of {folder} are not finite, first {name}: {_CURE}")
    return {name: halves[name].float().requires_grad_() for name in wanted}


def _configuration(shape: Shape) -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.head_size,
        "intermediate_size": shape.inner,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": shape.epsilon,
        "rope_theta": shape.rope_theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": shape.rope_theta},
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "bos_token_id": IDS[BOS],
        "eos_token_id": IDS[EOS],
        "pad_token_id": IDS[PAD],
        "dtype": "float16",
        "torch_dtype": "float16",
    }


def _read_json(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise TypeError(f"{path.name} holds no object")
    return value


def _write_json(path: Path, value: Mapping[str, object] | Sequence[object]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
