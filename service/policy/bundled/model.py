"""A model folder, read and checked whole: the network, its vocabulary and its chat template."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from service.errors import UsageError
from service.policy.bundled.config import LlamaConfig, read_config
from service.policy.bundled.llama import Llama
from service.policy.bundled.template import ChatTemplate
from service.policy.bundled.vocabulary import Vocabulary, read_vocabulary
from service.policy.bundled.weights import Floats, read_weights

_MAX_TEXT_BYTES = 64 << 20
_NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A small language model that is run in this process.

    Attributes:
        folder: where it was read from.
        vocabulary: `encode` and `decode`.
        ends: tokens that end a chain.
    """

    folder: Path
    config: LlamaConfig
    vocabulary: Vocabulary
    template: ChatTemplate
    llama: Llama
    ends: frozenset[int]

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Messages, each with `role` and `content`, as the text that the model continues.

        Raises:
            UsageError: the chat template fails, or refuses these messages.
        """
        return self.template.render(messages)

    def log_probabilities(self, ids: Sequence[int]) -> Floats:
        """Log-probabilities of the next token. Row i is about the token after the first i + 1: (tokens, vocabulary)."""
        logits = self.llama.logits(ids)
        logits -= logits.max(axis=-1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        return logits


def load_model(folder: Path) -> Model:
    """Read a model folder in the Hugging Face layout.

    Raises:
        UsageError: a file is missing or damaged, the files do not belong together, or the model has another kind. The
            text names the fault and the cure.
    """
    try:
        # The tokenizer first: that of a large model says what the rest would only say after much reading.
        vocabulary = read_vocabulary(_read_json(folder, "tokenizer.json"))
        config = read_config(_read_json(folder, "config.json"))
        if len(vocabulary) != config.vocab_size:
            raise ValueError(
                f"its tokenizer has {len(vocabulary)} words, and its config.json says {config.vocab_size}: take both"
                " from the same training"
            )
        naming = _read_json(folder, "tokenizer_config.json")
        tokens = {name: text for name in _NAMED_TOKENS if (text := _token(naming.get(name)))}
        ends = {*config.eos_token_id, *_ends_of_generation(folder, len(vocabulary))}
        ends |= {vocabulary.numbers[word] for word in [tokens.get("eos_token")] if word in vocabulary.numbers}
        if not ends:
            raise ValueError("it names no eos_token_id and no eos_token, so its answers would never end")
        template = ChatTemplate(_chat_template(folder, naming), tokens)
        llama = Llama(config, read_weights(folder / "model.safetensors", config))
    except (ValueError, UsageError) as error:
        raise UsageError(f"the model folder {folder} cannot be used: {error}") from error
    except OSError as error:
        raise UsageError(_unreadable(folder, error)) from error
    return Model(
        folder=folder, config=config, vocabulary=vocabulary, template=template, llama=llama, ends=frozenset(ends)
    )


def _read_text(folder: Path, name: str) -> str:
    with (folder / name).open("rb") as file:
        content = file.read(_MAX_TEXT_BYTES + 1)
    if len(content) > _MAX_TEXT_BYTES:
        raise ValueError(f"its {name} is longer than {_MAX_TEXT_BYTES >> 20} MB: serve it with vLLM")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError(f"its {name} is not text: copy or export it again") from None


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    text = _read_text(folder, name)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its {name} is not JSON ({error}): copy or export it again") from error
    if not isinstance(value, dict):
        raise ValueError(f"its {name} is not a JSON object: copy or export it again")
    return value


def _chat_template(folder: Path, naming: Mapping[str, Any]) -> str:
    """The template in the file of newer libraries, else in the configuration of the tokenizer."""
    if (folder / "chat_template.jinja").is_file():
        return _read_text(folder, "chat_template.jinja")
    template = naming.get("chat_template")
    if not isinstance(template, str):
        raise ValueError("it has no chat template, neither in chat_template.jinja nor in tokenizer_config.json")
    return template


def _ends_of_generation(folder: Path, words: int) -> list[int]:
    """The tokens that end an answer by generation_config.json. Other servers stop there too."""
    if not (folder / "generation_config.json").is_file():
        return []
    value = _read_json(folder, "generation_config.json").get("eos_token_id")
    ends = value if isinstance(value, list) else [value] if value is not None else []
    if not all(type(end) is int and 0 <= end < words for end in ends):
        raise ValueError("the eos_token_id of its generation_config.json is not a token")
    return ends


def _token(value: object) -> str:
    """A special token, written as its text or as a table with it."""
    value = value.get("content") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) else ""


def _unreadable(folder: Path, error: OSError) -> str:
    name = Path(str(error.filename)).name if error.filename else "one of its files"
    if isinstance(error, FileNotFoundError):
        return (
            f"the model folder {folder} cannot be used: {name} is missing: it needs config.json,"
            " model.safetensors, tokenizer.json and tokenizer_config.json"
        )
    return f"the model folder {folder} cannot be used: {name} cannot be read: {error.strerror or error}"
