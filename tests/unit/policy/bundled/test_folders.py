"""Model folders: what a broken or foreign one is refused with, words and templates as the libraries read them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from service.errors import UsageError
from service.policy.bundled.model import load_model
from tests.fakes.tiny_llama import TEMPLATE, config, tokenizer, write_model

Breaking = Callable[[Path], object]


def put(name: str, content: object) -> Breaking:
    return lambda folder: (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))


def without(name: str) -> Breaking:
    return lambda folder: (folder / name).unlink()


def config_with(**changes: Any) -> Breaking:
    return put("config.json", config(**changes))


def tokenizer_with(**changes: Any) -> Breaking:
    return put("tokenizer.json", {**tokenizer(), **changes})


def vocabulary_with(change: Callable[[dict[str, Any]], object]) -> Breaking:
    content = tokenizer()
    change(content["model"]["vocab"])
    return put("tokenizer.json", content)


def naming_with(**changes: Any) -> Breaking:
    def write(folder: Path) -> None:
        content = json.loads((folder / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps({**content, **changes}))

    return write


def tensors_with(change: Callable[[dict[str, Any]], object]) -> Breaking:
    def write(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return write


def cut_in_half(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])


def as_bfloat(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, data = content[8 : 8 + size].replace(b'"F16"', b'"BF16"'), content[8 + size :]
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + data)


def not_a_number(tensors: dict[str, Any]) -> None:
    tensors["model.norm.weight"][3] = np.nan


BROKEN: dict[str, tuple[Breaking, str]] = {
    **{
        f"no {name}": (without(name), f"{name} is missing")
        for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    },
    "config no JSON": (put("config.json", "{"), "config.json is not JSON"),
    "config a list": (put("config.json", []), "config.json is not a JSON object"),
    "deep JSON": (put("tokenizer.json", "[" * 100_000), "tokenizer.json is not JSON"),
    "no text": (lambda folder: (folder / "config.json").write_bytes(b"\xff\xfe"), "config.json is not text"),
    "other architecture": (config_with(model_type="gpt2"), "architecture is 'gpt2', and only llama.*vLLM"),
    "no architecture": (config_with(model_type=None), "architecture is 'None'"),
    "other activation": (config_with(hidden_act="gelu"), "hidden_act 'gelu'.*vLLM"),
    "biases": (config_with(attention_bias=True), "attention_bias.*vLLM"),
    "scaled rotation": (config_with(rope_scaling={"type": "linear"}), "rope_scaling of the type 'linear'"),
    "newer scaled rotation": (config_with(rope_parameters={"rope_type": "yarn"}), "of the type 'yarn'"),
    "odd heads": (config_with(num_key_value_heads=3), "not a multiple of num_key_value_heads"),
    "no layers": (config_with(num_hidden_layers=0), "num_hidden_layers"),
    "a word for a number": (config_with(hidden_size="large"), "hidden_size"),
    "no hidden size": (config_with(hidden_size=None), "hidden_size"),
    "infinite base": (config_with(rope_theta=float("inf")), "rope_theta"),
    "end outside": (config_with(eos_token_id=99), "eos_token_id is outside"),
    "end of generation outside": (put("generation_config.json", {"eos_token_id": [1, 99]}), "generation_config.json"),
    "no end": (
        lambda folder: (config_with(eos_token_id=None)(folder), naming_with(eos_token=None)(folder)),
        "names no eos_token_id",
    ),
    "larger vocabulary": (vocabulary_with(lambda words: words.update(more=21)), "22 words, and .* says 21"),
    "smaller vocabulary": (vocabulary_with(lambda words: words.pop("9")), "20 words, and .* says 21"),
    "gap in the numbers": (vocabulary_with(lambda words: words.update({"9": 40})), "from 0 without gaps"),
    "words for numbers": (vocabulary_with(lambda words: words.update({"9": "x"})), "from 0 without gaps"),
    "no unknown": (tokenizer_with(model={**tokenizer()["model"], "unk_token": "<no>"}), "unk_token"),
    "bytes": (tokenizer_with(model={"type": "BPE"}), "BPE over WhitespaceSplit.*vLLM"),
    "other cutter": (tokenizer_with(pre_tokenizer={"type": "Whitespace"}), "WordLevel over Whitespace, .*vLLM"),
    "no cutter": (tokenizer_with(pre_tokenizer=None), "vLLM"),
    "normalizer": (tokenizer_with(normalizer={"type": "Lowercase"}), "normalizer.*vLLM"),
    "odd added": (tokenizer_with(added_tokens=[7]), "added token"),
    "cut checkpoint": (cut_in_half, "model.safetensors is damaged.*again"),
    "empty checkpoint": (put("model.safetensors", ""), "model.safetensors is damaged"),
    "no checkpoint": (put("model.safetensors", "x" * 5000), "model.safetensors is damaged"),
    "not finite": (tensors_with(not_a_number), "model.norm.weight holds values that are not finite"),
    "tensor missing": (tensors_with(lambda tensors: tensors.pop("model.norm.weight")), "lacks model.norm.weight"),
    "tensor too many": (
        tensors_with(lambda tensors: tensors.update({"model.adapter": tensors["model.norm.weight"]})),
        "holds model.adapter",
    ),
    "other shape": (config_with(intermediate_size=41), r"mlp.gate_proj.weight has the shape \(40, 24\).*\(41, 24\)"),
    "integers": (
        tensors_with(lambda tensors: tensors.update({"model.norm.weight": np.ones(24, dtype=np.int32)})),
        "model.norm.weight is of the type I32: save the weights as float16 or float32",
    ),
    "bfloat": (as_bfloat, "is of the type BF16: save"),
    "no template": (naming_with(chat_template=None), "no chat template"),
    "broken template": (naming_with(chat_template="{% if %}"), "chat template cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_or_foreign_folder_is_refused_in_a_sentence(tmp_path: Path, case: str) -> None:
    folder = write_model(tmp_path / "model", half=True)
    breaking, said = BROKEN[case]
    breaking(folder)
    with pytest.raises(UsageError, match=said) as caught:
        load_model(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is missing"):
        load_model(tmp_path / "absent")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 3", ["x", "=", "3"]),
        ("  x\t=\n3 ", ["x", "=", "3"]),
        ("x\u00a0=\u30003", ["x", "=", "3"]),
        ("x\x1c= 3", ["<unk>", "3"]),
        ("x=3", ["<unk>"]),
        ("x<eos>= a<bos>", ["x", "<eos>", "=", "<unk>", "<bos>"]),
        ("", []),
    ],
)
def test_words_are_split_at_white_space_and_around_special_ones(tmp_path: Path, text: str, words: list[str]) -> None:
    vocabulary = load_model(write_model(tmp_path)).vocabulary
    assert [vocabulary.words[number] for number in vocabulary.encode(text)] == words


def test_special_words_are_left_out_of_texts(tmp_path: Path) -> None:
    vocabulary = load_model(write_model(tmp_path)).vocabulary
    assert vocabulary.decode(vocabulary.encode("<bos> x <pad> = 3 <eos>")) == "x = 3"


def test_a_template_of_its_own_file_comes_before_the_one_of_the_tokenizer(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    assert load_model(folder).render([{"role": "user", "content": "x"}]) == "<bos> x \n<answers>"
    (folder / "chat_template.jinja").write_text("{% for m in messages %}\n    {{ m.role }}\n{% endfor %}\n")
    assert load_model(folder).render([{"role": "a", "content": "x"}, {"role": "b", "content": "y"}]) == "    a\n    b\n"


def test_the_part_that_training_marks_as_written_is_kept(tmp_path: Path) -> None:
    template = "{% generation %}{{ eos_token }}{% endgeneration %}{% for i in [1, 2] %}{% break %}{% endfor %}"
    model = load_model(write_model(tmp_path, template=template))
    assert model.render([]) == "<eos>"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('no such role') }}", "fails: no such role"),
        ("{{ messages[7].content.x }}", "fails: "),
        ("{{ 1 / 0 }}", "fails: division by zero"),
        ("{{ messages.append(1) }}", "fails: "),
        ("{{ ''.__class__.__mro__ }}", "fails: "),
        ("{{ 'x' + 1 }}", "fails: "),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "fails: "),
    ],
)
def test_a_template_that_fails_is_said_in_a_sentence(tmp_path: Path, template: str, said: str) -> None:
    model = load_model(write_model(tmp_path, template=TEMPLATE))
    model = load_model(write_model(tmp_path, template=template))
    with pytest.raises(UsageError, match=said) as caught:
        model.render([{"role": "user", "content": "x"}])
    assert "\n" not in str(caught.value)
