"""How runs ask a version of a policy: a model that Evolve runs, or a LoRA adapter that a vLLM serves."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.errors import UsageError
from service.policy_settings.shipped import ADAPTER_DEFAULTS, DEFAULTS_FILE, REGISTERED, adapter_name, read_defaults
from service.ports import RunRecord
from service.problems.folder import MAX_BYTES
from service.problems.toml_writer import toml_text

_MODEL = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
ADAPTER_CONFIG = "adapter_config.json"
# Of a policy, what belongs to its model, or to its part in a run.
_OWN = ("name", "kind", "role", "provider", "base_url", "model", "weight", "escalate_after")
_ADAPTER = (ADAPTER_CONFIG, "adapter_model.safetensors")


def model_settings(files: Mapping[str, bytes], bundle_hash: str) -> dict[str, Any]:
    """Keys of a policy file for a model that Evolve runs.

    Raises:
        UsageError: the files are no model's.
    """
    if ADAPTER_CONFIG in files:
        raise UsageError("the folder holds a LoRA adapter: name the vLLM that serves it with --served URL")
    _check_files(files, _MODEL, "model")
    defaults = read_defaults(files[DEFAULTS_FILE], Path(DEFAULTS_FILE)) if DEFAULTS_FILE in files else {}
    return {**defaults, "kind": "bundled", "model": REGISTERED + bundle_hash}


def adapter_settings(policy: str, files: Mapping[str, bytes], bundle_hash: str, served: str) -> dict[str, Any]:
    """Keys of a policy file for a LoRA adapter. The vLLM knows it by a name with the hash of its content.

    Raises:
        UsageError: the files are no LoRA adapter's.
    """
    _check_files(files, _ADAPTER, "adapter")
    kind = adapter_config(files).get("peft_type")
    if kind != "LORA":
        raise UsageError(f"the folder is not a LoRA adapter: {ADAPTER_CONFIG} says peft_type {str(kind)[:40]!r}")
    path = Path(DEFAULTS_FILE)
    defaults = read_defaults(files[DEFAULTS_FILE], path, ADAPTER_DEFAULTS) if DEFAULTS_FILE in files else {}
    return {**defaults, "kind": "openai", "base_url": served, "model": adapter_name(policy, bundle_hash)}


def carried_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keys with which a version is asked as another policy is: of its requests, replies, price, limits and key."""
    return {name: value for name, value in settings.items() if name not in _OWN}


def author_settings(run: RunRecord) -> Mapping[str, Any]:
    """The keys of the only author of a run."""
    (author,) = (policy for policy in run.policies if policy.get("role", "author") == "author")
    return author


def asked_alike(settings: Mapping[str, Any]) -> str:
    """The file `evolve.toml` with which an adapter is asked as another is. Empty: that one is asked by the defaults."""
    return toml_text({name: settings[name] for name in ADAPTER_DEFAULTS if name in settings})


def adapter_base(files: Mapping[str, bytes]) -> str:
    """The model that a LoRA adapter adapts, as its folder tells. Empty: it does not."""
    return str(adapter_config(files).get("base_model_name_or_path") or "")[:200]


def adapter_config(files: Mapping[str, bytes]) -> Mapping[str, Any]:
    """The configuration of an adapter.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        found = json.loads(files[ADAPTER_CONFIG])
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{ADAPTER_CONFIG} cannot be read as JSON") from error
    return found if isinstance(found, Mapping) else {}


def is_adapter(settings: Mapping[str, Any]) -> bool:
    """Whether a version is an adapter that a vLLM serves."""
    return settings.get("kind") != "bundled"


def _check_files(files: Mapping[str, bytes], needed: Sequence[str], what: str) -> None:
    if sum(map(len, files.values())) > MAX_BYTES:
        raise UsageError(f"the {what} is larger than {MAX_BYTES >> 20} MB: serve it with vLLM, and name it in a policy")
    missing = [name for name in needed if name not in files]
    if missing:
        raise UsageError(f"the {what}'s folder has no {missing[0]}: it needs {', '.join(needed)}")
    for path in files:
        if path.startswith("/") or "\\" in path or ".." in path.split("/") or "\x00" in path:
            raise UsageError(f"the path {path[:80]!r} leads out of the {what}'s folder: name files relative to it")
