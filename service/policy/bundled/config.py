"""The shape of a model, read from its `config.json`."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

_MAX_CONTEXT = 131_072


class LlamaConfig(BaseModel):
    """Shape and constants of a Llama, with the names of the Hugging Face file.

    Attributes:
        num_key_value_heads: each is shared by `num_attention_heads / num_key_value_heads` heads.
        eos_token_id: tokens that end an answer.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    hidden_size: int = Field(ge=1, le=8192)
    num_hidden_layers: int = Field(ge=1, le=256)
    num_attention_heads: int = Field(ge=1, le=256)
    num_key_value_heads: int = Field(ge=1, le=256)
    head_dim: int = Field(ge=2, le=1024, multiple_of=2)
    intermediate_size: int = Field(ge=1, le=65536)
    vocab_size: int = Field(ge=1, le=1_000_000)
    max_position_embeddings: int = Field(ge=2, le=_MAX_CONTEXT)
    rope_theta: float = Field(default=10_000.0, gt=0.0, allow_inf_nan=False)
    rms_norm_eps: float = Field(default=1e-6, ge=0.0, le=1.0, allow_inf_nan=False)
    tie_word_embeddings: bool = False
    eos_token_id: tuple[int, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, values: object) -> object:
        if not isinstance(values, Mapping):
            raise ValueError("holds no object")
        found = {key: value for key, value in values.items() if value is not None}
        heads = found.get("num_attention_heads")
        found.setdefault("num_key_value_heads", heads)
        if isinstance(heads, int) and heads > 0 and isinstance(hidden := found.get("hidden_size"), int):
            found.setdefault("head_dim", hidden // heads)
        if isinstance(found.get("eos_token_id"), int):
            found["eos_token_id"] = (found["eos_token_id"],)
        # Newer files keep the base of the rotation in a table of its own.
        if isinstance(rope := found.get("rope_parameters"), Mapping) and "rope_theta" in rope:
            found["rope_theta"] = rope["rope_theta"]
        return found

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError("num_attention_heads is not a multiple of num_key_value_heads")
        if any(not 0 <= token < self.vocab_size for token in self.eos_token_id):
            raise ValueError("eos_token_id is outside of the vocabulary")
        return self

    @property
    def group(self) -> int:
        """Heads that share a key and a value."""
        return self.num_attention_heads // self.num_key_value_heads


def read_config(values: Mapping[str, Any]) -> LlamaConfig:
    """Read the content of a `config.json`.

    Raises:
        ValueError: it has another architecture, or an invalid value. The text names the fault and the cure.
    """
    kind = values.get("model_type")
    if kind != "llama":
        raise ValueError(f"its architecture is {str(kind)[:40]!r}, and only llama runs here: serve it with vLLM")
    if part := _unknown_part(values):
        raise ValueError(f"its config.json needs {part}, which does not run here: serve it with vLLM")
    try:
        return LlamaConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(place) for place in first["loc"][:1])
        said = first["msg"].removeprefix("Value error, ")
        said = said[0].lower() + said[1:]
        raise ValueError(f"its config.json is invalid: {key + ': ' if key else ''}{said}") from None


def _unknown_part(values: Mapping[str, Any]) -> str:
    """A part of the family that changes the numbers and is not supported. Empty: there is none."""
    if values.get("hidden_act", "silu") != "silu":
        return f"hidden_act {str(values['hidden_act'])[:40]!r}"
    for key in ("attention_bias", "mlp_bias", "quantization_config"):
        if values.get(key):
            return key
    for key in ("rope_scaling", "rope_parameters"):
        table = values.get(key)
        kind = table.get("rope_type", table.get("type", "default")) if isinstance(table, Mapping) else "default"
        if kind != "default" or (isinstance(table, Mapping) and table.get("partial_rotary_factor", 1.0) != 1.0):
            return f"{key} of the type {str(kind)[:40]!r}"
    return ""
