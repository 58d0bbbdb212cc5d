"""Policies as a user names them: a word, a provider and a model, an address, or a file of `[[policies]]`."""

import difflib
import importlib.util
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evolve.extensions import ExtensionKind, installed, is_reference
from service.errors import NotFoundError, UsageError
from service.policy_settings.kind_traits import WITHOUT_MODEL
from service.policy_settings.price_table import find_model
from service.policy_settings.provider_catalog import split_provider
from service.policy_settings.settings import PolicySettings
from service.policy_settings.shipped import PREFIX, choice, complete
from service.schemas.policies import PriceSettings

LIBRARY = "litellm:"


def load_policies(
    source: str, *, model: str | None = None, answers: int | None = None, samples: int | None = None
) -> list[PolicySettings]:
    """Read what `--policy` names: `syntax`, `tuner`, a provider and a model, `bundled:`, an address, a kind, or a file.

    Price and context length are those of the table of common models where the user names none.

    Args:
        source: the word, address or path.
        model: model to ask for instead of the one that the policy names.
        answers: m instead of the policy's own.
        samples: n instead of the policy's own.

    Raises:
        NotFoundError: no such file or model.
        UsageError: the file cannot be read, or a key or a value is off; the text names it.
    """
    changes = {"model": model, "answers": answers, "samples": samples}
    changes = {key: value for key, value in changes.items() if value is not None}
    if source in WITHOUT_MODEL:
        return [read_policy({"name": source, "kind": source, **changes}, f"--policy {source}")]
    if source.startswith(PREFIX):
        if source == PREFIX:
            raise UsageError(f"--policy {PREFIX} names no model: {choice()}")
        if model is not None:
            raise UsageError(f"--policy {source[:80]} names its model already: leave --model out")
        described = {"kind": "bundled", "model": source.removeprefix(PREFIX), **changes}
        return [read_policy(complete(described, paths=True), f"--policy {source[:80]}")]
    if source.startswith(LIBRARY):
        return [_library_policy(source.removeprefix(LIBRARY), changes)]
    if found := split_provider(source):
        return [_provider_policy(*found, changes)]
    if "://" in source:
        return [read_policy({"base_url": source, **changes}, f"--policy {_shown(source)}")]
    if not Path(source).exists() and (kind := _kind_named(source)):
        return [read_policy({"name": kind, "kind": kind, **changes}, f"--policy {source[:80]}")]
    tables = _tables(Path(source))
    policies = [
        _priced(read_policy(complete({**table, **changes}, paths=True), f"policy {number} of {source}"))
        for number, table in enumerate(tables, start=1)
    ]
    refuse_repeats(policies, source)
    return policies


def _kind_named(source: str) -> str:
    """The policy kind that a word names, of a package or of a module that Python finds; empty: it names none."""
    if any(one.name == source for one in installed(ExtensionKind.POLICY)):
        return source
    top = source.partition(":")[0].partition(".")[0]
    return source if is_reference(source) and importlib.util.find_spec(top) is not None else ""


def _provider_policy(provider: str, model: str, changes: Mapping[str, Any]) -> PolicySettings:
    place = f"--policy {provider}:{model[:64]}"
    if model and "model" in changes:
        raise UsageError(f"{place} names its model already: leave --model out")
    described = {"name": provider, "provider": provider, "model": model, **changes}
    return _priced(read_policy(described, place))


def _library_policy(model: str, changes: Mapping[str, Any]) -> PolicySettings:
    place = f"--policy {LIBRARY}{model[:64]}"
    if not model:
        raise UsageError(
            f"{place} names no model: name the provider and its model, such as anthropic/claude-sonnet-4-5"
        )
    if "model" in changes:
        raise UsageError(f"{place} names its model already: leave --model out")
    described = {"name": model.partition("/")[0], "kind": "litellm", "model": model, **changes}
    return _priced(read_policy(described, place))


def _priced(policy: PolicySettings) -> PolicySettings:
    """The policy with price and context length of its model, where these are known and not named."""
    if not policy.model or not (policy.provider or policy.kind == "litellm"):
        return policy
    known = find_model(f"{policy.provider}/{policy.model}" if policy.provider else policy.model)
    found = {"price": known.price, "context_tokens": known.context_tokens}
    if policy.role == "embedder":
        del found["context_tokens"]
    named = policy.model_fields_set
    return policy.model_copy(update={key: value for key, value in found.items() if value and key not in named})


def _shown(address: str) -> str:
    """An address that is not checked yet: without what may be a password."""
    return address.rpartition("@")[2] if "@" in address else address


def _tables(path: Path) -> list[dict[str, Any]]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(
            f"the policy {str(path)!r} is neither {' nor '.join(WITHOUT_MODEL)}, nor {PREFIX} and a model, nor a"
            " provider and a model such as openai:gpt-5, nor an address such as http://localhost:8000/v1, nor an"
            " installed policy kind, nor a file"
        ) from error
    except (OSError, ValueError) as error:
        raise UsageError(f"the policy file {path} cannot be read: {error}") from error
    for key in document:
        if key != "policies":
            raise UsageError(f"the policy file {path} holds the unknown key {key}: it may hold [[policies]] only")
    tables = document.get("policies")
    if not (isinstance(tables, list) and tables and all(isinstance(table, dict) for table in tables)):
        raise UsageError(f"the policy file {path} holds no [[policies]]")
    return tables


def read_policy(values: Mapping[str, Any], place: str) -> PolicySettings:
    """Read one policy of a table that stands in `place`, such as a problem's own or a run's record.

    Raises:
        UsageError: a key or a value is off; the text names it and the place.
    """
    try:
        return PolicySettings.model_validate(dict(values))
    except ValidationError as error:
        # Without the chain: the validation error quotes the values, and a mistaken one may be a key.
        raise UsageError(f"{place}: {_complaint(error)}") from None


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        known = PriceSettings if key.startswith("price.") else PolicySettings
        return f"the key {key} is unknown: {_nearest(key.rpartition('.')[2], known.model_fields)}"
    message = message[0].lower() + message[1:]
    return f"{key}: {message}" if key and not message.startswith(f"{key} =") else message


def _nearest(key: str, known: Iterable[str]) -> str:
    if key in ("api_key", "key", "token"):
        return "a key never stands in a file; name the variable or file that holds it, api_key_env or api_key_file"
    return f"the nearest known one is {difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]}"


def refuse_repeats(policies: Sequence[PolicySettings], source: str) -> None:
    """Refuse policies of a source of which two have one name.

    Raises:
        UsageError: two have.
    """
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two policies of {source} are called {name}: give each its own name")
