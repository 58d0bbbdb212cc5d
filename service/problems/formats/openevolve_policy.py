"""The `llm` section of an OpenEvolve configuration as policies, never with a key in them."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from service.problems.formats.openevolve_keys import MODEL_HONOURED, MODEL_NOT_HONOURED
from service.problems.formats.openevolve_secrets import VARIABLE
from service.problems.formats.openevolve_values import Values
from service.problems.suggestion import hint

_BASE_URL = "https://api.openai.com/v1"
_KEY_NAME = "OPENAI_API_KEY"
_NUMBERS = {"temperature": 0.7, "top_p": 1.0, "max_tokens": 4096.0, "timeout": 60.0}
_NO_KEY = frozenset({"", "none", "empty"})


def read_policies(values: Values) -> tuple[dict[str, Any], ...]:
    """The models of the `llm` section that have a weight, each with the keys of a policy file.

    A key given as `${NAME}` becomes `api_key_env = "NAME"`; of one that is written out a warning says that it is not
    read. Where no key is read, OpenEvolve's variable holds it, unless the server is on this machine.
    """
    edits = "diff" if values.flag("diff_based_evolution", True) else "rewrite"
    models = _models(values)
    key_names = _key_names(values, models)
    base_url = _address(values, "llm.api_base", values.any("llm.api_base") or _BASE_URL)
    shared_effort = values.text("llm.reasoning_effort")
    shared = {key: values.number(f"llm.{key}", default) for key, default in _NUMBERS.items()}
    if not models:
        if any(values.given(f"llm.{key}") for key in ("api_base", "api_key", *_NUMBERS)):
            values.warn("llm names no model: add llm.primary_model, or name a policy with --policy")
        return ()
    weights = {place: _own(values, place, model, "weight", 1.0) for place, model in models}
    if not any(weights.values()):
        weights[models[0][0]] = 1.0
    policies: list[dict[str, Any]] = []
    for place, model in models:
        numbers = {key: _own(values, place, model, key, default) for key, default in shared.items()}
        address = _address(values, f"{place}.api_base", model["api_base"]) if model.get("api_base") else base_url
        name = re.sub(r"[^\w.:/@+-]+", "-", model["name"])[:56]
        policy = {
            "name": f"{name}:{place}" if any(name == other["name"] for other in policies) else name,
            "kind": "openai",
            "base_url": address,
            "model": model["name"],
            "api_key_env": _default_key_name(address) if key_names[place] is None else key_names[place],
            "temperature": numbers["temperature"],
            "top_p": numbers["top_p"],
            "max_tokens": int(numbers["max_tokens"]),
            "timeout_seconds": numbers["timeout"],
            "edits": edits,
            "format": "single",
            "weight": weights[place],
            **({"reasoning_effort": str(effort)} if (effort := model.get("reasoning_effort") or shared_effort) else {}),
        }
        policies += [policy] if weights[place] else []
    return tuple(policies)


def _models(values: Values) -> list[tuple[str, Mapping[str, Any]]]:
    raw = values.any("llm.models") or []
    if not isinstance(raw, list):
        values.complain("llm.models should be a list of models, each with a name")
        raw = []
    models = [(f"llm.models[{number}]", model) for number, model in enumerate(raw, 1)]
    for role in ("primary", "secondary"):
        if values.given(f"llm.{role}_model") and not raw:
            weight = values.number(f"llm.{role}_model_weight", 1.0 if role == "primary" else 0.0)
            models.append((f"llm.{role}_model", {"name": values.text(f"llm.{role}_model"), "weight": weight}))
    return [item for item in models if _check_model(values, *item)]


def _key_names(values: Values, models: list[tuple[str, Mapping[str, Any]]]) -> dict[str, str | None]:
    """Name of the variable that holds each model's key: empty when it needs none, None when nothing is said."""
    shared = _key(values, "llm.api_key", values.any("llm.api_key"))
    own = ((place, model.get("api_key")) for place, model in models)
    return {place: shared if key is None else _key(values, f"{place}.api_key", key) for place, key in own}


def _check_model(values: Values, place: str, model: Any) -> bool:
    if not isinstance(model, Mapping) or not isinstance(model.get("name"), str) or not model["name"]:
        values.complain(f"{place} needs a name: - name: MODEL")
        return False
    for key in model:
        if key in MODEL_NOT_HONOURED:
            values.warn(f"{place}.{key} {MODEL_NOT_HONOURED[key]}")
        elif key not in MODEL_HONOURED:
            values.warn(f"unknown key '{place}.{key}' is ignored{hint(key, MODEL_HONOURED | set(MODEL_NOT_HONOURED))}")
    return True


def _own(values: Values, place: str, model: Mapping[str, Any], key: str, default: float) -> float:
    value = model.get(key)
    return default if value is None else values.as_number(f"{place}.{key}", value, default, 0.0)


def _default_key_name(base_url: str) -> str:
    return "" if urlsplit(base_url).hostname in {"localhost", "127.0.0.1", "::1"} else _KEY_NAME


def _key(values: Values, place: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, Mapping | list | bool):
        values.complain(f"{place} should be text such as ${{{_KEY_NAME}}}")
        return None
    text = str(value).strip()
    variable = VARIABLE.fullmatch(text)
    if variable:
        return variable.group(1)
    if text.lower() in _NO_KEY:
        return ""
    values.warn(f"{place} is not read, since keys stay out of files: export it as {_KEY_NAME}")
    return None


def _address(values: Values, place: str, value: Any) -> str:
    """An address; the usual one in place of what is none, after a complaint."""
    text = str(value).strip()
    try:
        parts = urlsplit(text)
        sound = parts.scheme in {"http", "https"} and parts.hostname and parts.username is None
    except ValueError:
        sound = False
    if not sound:
        values.complain(f"{place} should be an address such as http://localhost:8000/v1, without a key in it")
    return text if sound else _BASE_URL
