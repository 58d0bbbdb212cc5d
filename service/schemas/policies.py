"""Descriptions of policies: the keys of a policy file, which requests and records hold too."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from evolve.errors import ConfigurationError
from evolve.extensions import ExtensionKind, built_in_names
from evolve.money import plain, read_amount, read_currency
from service.schemas.derived_models import without_defaults
from service.schemas.key_descriptions import POLICY_KEYS as SAID


def _amount(value: object) -> Decimal:
    try:
        return value if isinstance(value, Decimal) else read_amount(value)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error


def _currency(text: str) -> str:
    try:
        return read_currency(text)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error


# Keys that say where a key lies.
KEY_PLACES = ("api_key_env", "api_key_file")
_AMOUNT = {"type": "string", "pattern": r"^[0-9]{1,12}(\.[0-9]{1,12})?$", "examples": ["0.15"]}
Amount = Annotated[Decimal, BeforeValidator(_amount), PlainSerializer(plain), WithJsonSchema(_AMOUNT)]


class PriceSettings(BaseModel):
    """Cost of a million tokens, as decimals. Without `cached`, tokens from a cache cost as much as others."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=without_defaults)

    input: Amount = Field(description="Price of a million tokens that are read")
    cached: Amount | None = Field(default=None, description="Price of a million tokens from a cache. Null: as `input`")
    output: Amount = Field(description="Price of a million tokens that are written")
    currency: Annotated[str, AfterValidator(_currency), Field(json_schema_extra={"pattern": "^[A-Z]{3}$"})] = Field(
        default="USD", description="Currency of the prices, by its code of three letters"
    )


class PolicyDescription(BaseModel):
    """A policy. All of this may be stored and shown. A key is named by its variable or file, never included."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=without_defaults)

    name: str = Field(default="policy", min_length=1, max_length=64, pattern=r"^[\w.:/@+-]+$", description=SAID["name"])
    kind: str = Field(
        default="openai",
        min_length=1,
        max_length=128,
        description=SAID["kind"],
        json_schema_extra={"examples": list(built_in_names(ExtensionKind.POLICY))},
    )
    role: Literal["author", "critic", "advisor", "embedder", "analyst"] = Field(
        default="author", description=SAID["role"]
    )
    provider: str = Field(default="", description=SAID["provider"])
    base_url: str | None = Field(default=None, description=SAID["base_url"])
    model: str = Field(default="", max_length=256, description=SAID["model"])
    api_key_env: str = Field(default="", description=SAID["api_key_env"])
    api_key_file: str = Field(default="", description=SAID["api_key_file"])
    format: str = Field(default="tags:answer", description=SAID["format"])
    edits: Literal["rewrite", "continue", "diff"] = Field(default="rewrite", description=SAID["edits"])
    answers: int = Field(default=4, ge=1, le=64, description=SAID["answers"])
    adapt: tuple[Literal["edits", "answers"], ...] | None = Field(default=None, description=SAID["adapt"])
    samples: int = Field(default=2, ge=1, le=64, description=SAID["samples"])
    temperature: float = Field(default=1.0, ge=0.0, le=2.0, allow_inf_nan=False, description=SAID["temperature"])
    top_p: float = Field(default=1.0, gt=0.0, le=1.0, description=SAID["top_p"])
    max_tokens: int = Field(default=4096, ge=1, le=1_000_000, description=SAID["max_tokens"])
    reasoning_effort: str = Field(default="", max_length=32, pattern=r"^\w*$", description=SAID["reasoning_effort"])
    params: dict[str, Any] = Field(default_factory=dict, description=SAID["params"])
    extra_body: dict[str, Any] = Field(default_factory=dict, description=SAID["extra_body"])
    context_tokens: int = Field(default=16384, ge=256, description=SAID["context_tokens"])
    concurrency: int = Field(default=16, ge=1, le=1024, description=SAID["concurrency"])
    timeout_seconds: float = Field(default=600.0, gt=0.0, le=86400.0, description=SAID["timeout_seconds"])
    weight: float = Field(default=1.0, gt=0.0, le=1_000_000.0, allow_inf_nan=False, description=SAID["weight"])
    price: PriceSettings | None = Field(default=None, description=SAID["price"])
    escalate_after: int = Field(default=0, ge=0, le=1_000_000_000, description=SAID["escalate_after"])
    command: tuple[str, ...] = Field(default=(), max_length=64, description=SAID["command"])
    environment: tuple[str, ...] = Field(default=(), max_length=64, description=SAID["environment"])
    read: tuple[str, ...] = Field(default=(), max_length=64, description=SAID["read"])
    path: tuple[str, ...] = Field(default=(), max_length=64, description=SAID["path"])
    allow_hosts: tuple[str, ...] = Field(default=(), max_length=64, description=SAID["allow_hosts"])
    max_session_tokens: int = Field(default=0, ge=0, description=SAID["max_session_tokens"])
    max_session_cost: Amount | None = Field(default=None, description=SAID["max_session_cost"])
