"""What a user says of a policy; never a key itself."""

import os
import re
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit, urlunsplit

from pydantic import SecretStr, field_validator, model_validator

from evolve.answers.chain import parse_format
from evolve.answers.continuation import CONTINUE
from evolve.errors import ConfigurationError
from evolve.money import FREE, Money, Price
from evolve.proposal import Usage
from service.net.address import read_host
from service.policy_settings.key_sources import key_in_file, key_in_variable
from service.policy_settings.kind_traits import KindTraits, check_kind, traits_of
from service.policy_settings.parameters import read_parameters
from service.policy_settings.provider_catalog import PROVIDERS
from service.schemas.policies import PolicyDescription

# What acts for a server that writes no programs.
_KEYS_OF_SERVER = (
    "name", "kind", "role", "provider", "base_url", "model", "api_key_env", "api_key_file", "concurrency",
    "timeout_seconds", "price",
)  # fmt: skip
_KEYS_OF_TEXT = (
    *_KEYS_OF_SERVER, "temperature", "top_p", "max_tokens", "context_tokens", "reasoning_effort", "params",
    "extra_body",
)  # fmt: skip
_KEYS_OF_ROLE = {
    "critic": _KEYS_OF_TEXT,
    "advisor": _KEYS_OF_TEXT,
    "embedder": _KEYS_OF_SERVER,
    "analyst": _KEYS_OF_TEXT,
}
_SPOKEN = {"critic": "a critic", "advisor": "an advisor", "embedder": "an embedder", "analyst": "an analyst"}
# Left out of a description.
_UNSAID = {
    "role": "author",
    "provider": "",
    "weight": 1.0,
    "price": None,
    "reasoning_effort": "",
    "params": {},
    "extra_body": {},
    "environment": (),
    "read": (),
    "path": (),
    "allow_hosts": (),
    "max_session_tokens": 0,
    "escalate_after": 0,
    "max_session_cost": None,
}
AGENT = "agent"
_COUNTS: Mapping[str, Mapping[str, int]] = {
    # It is run in this process: calls at once share its cores, and are no faster together.
    "bundled": {"concurrency": 1},
    # The smallest population of CMA-ES for a few numbers, rounded up.
    "tuner": {"answers": 8},
    # A session takes minutes and money: several are for those who ask for them.
    AGENT: {"answers": 1, "samples": 1, "concurrency": 1},
}
DEFAULT_KEY_ENV = "EVOLVE_POLICY_API_KEY"
DEFAULT_KEY_FILE_ENV = "EVOLVE_POLICY_API_KEY_FILE"


def _address(text: str) -> str:
    """The address of an OpenAI-compatible API; one without a path means its `/v1`."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError as error:
        raise ValueError(f"is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address such as http://localhost:8000/v1")
    versioned = re.fullmatch(r"api-version=[\w.-]{1,64}", parts.query) if parts.query else True
    if parts.username is not None or not versioned or parts.fragment or port == 0:
        raise ValueError(
            "must hold no user, password, fragment, or query other than api-version: a key goes into api_key_env or"
            " api_key_file"
        )
    path = parts.path.rstrip("/") or "/v1"
    return urlunsplit(SplitResult(parts.scheme, parts.netloc, path, parts.query, ""))


def _format(text: str) -> str:
    try:
        parse_format(text)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error
    return text


class PolicySettings(PolicyDescription):
    """A policy whose description holds together."""

    @field_validator("api_key_env", "api_key_file", "base_url", "model", mode="before")
    @classmethod
    def _no_control_characters(cls, value: object) -> object:
        if isinstance(value, str) and not value.isprintable():
            raise ValueError("must not hold control characters")
        return value

    @field_validator("kind")
    @classmethod
    def _is_kind(cls, value: str) -> str:
        return check_kind(value)

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        return None if value is None else _address(value)

    @field_validator("format")
    @classmethod
    def _is_format(cls, value: str) -> str:
        return _format(value)

    @field_validator("params", "extra_body")
    @classmethod
    def _are_parameters(cls, value: dict[str, Any]) -> dict[str, Any]:
        return read_parameters(value)

    @field_validator("provider")
    @classmethod
    def _known_provider(cls, value: str) -> str:
        if value and value not in PROVIDERS:
            raise ValueError(f"is not known: name one of {', '.join(sorted(PROVIDERS))}, or leave it out")
        return value

    @model_validator(mode="before")
    @classmethod
    def _address_of_the_provider(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("base_url") is None:
            provider = PROVIDERS.get(str(values.get("provider", "")))
            return values if provider is None else {**values, "base_url": provider.base_url}
        return values

    @model_validator(mode="before")
    @classmethod
    def _one_answer_alone(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("edits") == CONTINUE:
            return {"answers": 1, "format": "single", **values}
        if isinstance(values, dict) and values.get("format") == "single":
            return {"answers": 1, **values}
        return values

    @model_validator(mode="before")
    @classmethod
    def _counts_of_the_kind(cls, values: object) -> object:
        if isinstance(values, dict):
            return {**_COUNTS.get(str(values.get("kind")), {}), **values}
        return values

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        if self.kind == "openai" and self.base_url is None:
            raise ValueError("base_url is missing: the address of the server, such as http://localhost:8000/v1")
        if self._traits.author_only and self.role != "author":
            raise ValueError(
                f"{self._traits.spoken} writes programs alone: {_SPOKEN[self.role]} is a model behind a server, of the"
                " kind openai"
            )
        if self.kind == "litellm" and not self.model:
            raise ValueError("model is missing: the provider and its model, such as anthropic/claude-sonnet-4-5")
        for key in sorted(self.model_fields_set - self.acting):
            raise ValueError(f"{key} has no meaning for {self._spoken}: leave it out")
        if self.kind == AGENT:
            self._check_agent()
        if self.kind == "bundled" and not self.model:
            raise ValueError("model is missing: the name of a bundled model, or the path of a model folder")
        if self.api_key_env and self.api_key_file:
            raise ValueError("name api_key_env or api_key_file, not both")
        if repeated := sorted(self.params.keys() & self.extra_body.keys()):
            raise ValueError(f"{repeated[0]} stands in params and in extra_body: leave one of them out")
        if self.format == "single" and self.answers != 1:
            raise ValueError("format single gives one answer a chain: set answers = 1")
        if self.edits == CONTINUE and (self.format != "single" or self.kind != "openai"):
            raise ValueError("edits continue needs format single and kind openai: leave them out")
        return self

    def _check_agent(self) -> None:
        if not self.command or not self.command[0]:
            raise ValueError('command is missing: the words that start the agent, such as ["codex", "exec", "-"]')
        for host in self.allow_hosts:
            read_host(host)
        for name in self.environment:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"environment: {name[:40]!r} is not the name of a variable: leave its value out")
        if self.base_url is None and (self.max_session_tokens or self.max_session_cost is not None):
            raise ValueError(
                "max_session_tokens and max_session_cost need base_url: tokens are counted on the way there"
            )
        if self.max_session_cost is not None and self.price is None:
            raise ValueError("max_session_cost needs price: without it, what tokens cost is not known")

    def describe(self) -> dict[str, Any]:
        """The policy as it is stored with a run: enough to build it again, without a key."""
        unsaid = {key for key, plain in _UNSAID.items() if getattr(self, key) == plain}
        described = self.model_dump(include=self.acting - unsaid)
        return described | ({"adapt": list(self.adaptable)} if "adapt" in described else {})

    @property
    def adaptable(self) -> tuple[str, ...]:
        """The keys that a run may vary. A format is named for a model that was trained for it: then nothing varies."""
        if self.adapt is not None or "adapt" not in self.acting:
            return self.adapt or ()
        named = self.model_fields_set
        return () if "format" in named else tuple(key for key in ("edits", "answers") if key not in named)

    @property
    def request_parameters(self) -> dict[str, Any]:
        """What requests hold besides the keys that every request has."""
        effort = {"reasoning_effort": self.reasoning_effort} if self.reasoning_effort else {}
        return {**effort, **self.params, **self.extra_body}

    @property
    def acting(self) -> set[str]:
        """The keys that act."""
        of_role = _KEYS_OF_ROLE.get(self.role, tuple(PolicySettings.model_fields))
        keys = self._traits.keys
        return set(of_role if keys is None else keys) - self._traits.without

    @property
    def place(self) -> str:
        """Where the model is, in a few words for a sentence."""
        return f"the provider of {self.model}" if self.kind == "litellm" else f"the policy server {self.base_url}"

    @property
    def _spoken(self) -> str:
        return _SPOKEN.get(self.role, self._traits.spoken)

    @property
    def _traits(self) -> KindTraits:
        return traits_of(self.kind)

    @property
    def currency(self) -> str | None:
        """The currency of its price; empty: it costs nothing; None: what it costs is not known."""
        if self._traits.free:
            return ""
        return self.price.currency if self.price else None

    def cost(self, usage: Usage) -> Money | None:
        """What the tokens of a completion cost; None: that is not known."""
        if self._traits.free:
            return FREE
        if self.price is None:
            return None
        cached = self.price.input if self.price.cached is None else self.price.cached
        price = Price(input=self.price.input, cached=cached, output=self.price.output, currency=self.price.currency)
        return price.of(usage.input, usage.cached, usage.output)

    @property
    def usual_key_env(self) -> str:
        """The variable of the key where the settings name none."""
        return (PROVIDERS[self.provider].key_env if self.provider else "") or DEFAULT_KEY_ENV

    def read_key(self, environment: Mapping[str, str] | None = None) -> SecretStr | None:
        """Read the key from where the settings say, else from the default variable or file; None: there is none.

        Args:
            environment: the process's own when None.

        Raises:
            UsageError: the variable or file that is named does not give a key.
        """
        environment = os.environ if environment is None else environment
        if self.api_key_file:
            return key_in_file(self.api_key_file, f"api_key_file of the policy {self.name}")
        if self.api_key_env:
            return key_in_variable(self.api_key_env, environment, self.name)
        if self.provider and (usual := PROVIDERS[self.provider].key_env) in environment:
            return key_in_variable(usual, environment, self.name)
        if path := environment.get(DEFAULT_KEY_FILE_ENV):
            return key_in_file(path, f"the environment variable {DEFAULT_KEY_FILE_ENV}")
        if DEFAULT_KEY_ENV in environment:
            return key_in_variable(DEFAULT_KEY_ENV, environment, self.name)
        return None
