"""The settings of a run that a person may change while it is active, and what they make of its configuration."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from evolve.configuration import BASELINES, RunConfig
from evolve.configuration.pace import MAX_CALLS, MAX_EVALUATIONS
from evolve.credit.operators import REPAIR
from evolve.errors import ConfigurationError
from evolve.extensions import ExtensionKind, built_in_names
from evolve.problem import MAX_MAGNITUDE

OBJECTIVE_WEIGHTS = "selection_options.objective_weights"
POLICIES = "policies."  # followed by the name of a policy; the value is its weight
_SHARES: Mapping[str, ExtensionKind] = {"selection": ExtensionKind.SELECTION, "operators": ExtensionKind.OPERATOR}
TABLES = (*_SHARES, OBJECTIVE_WEIGHTS)  # keys of a configuration whose values are numbers by name
_NUMBERS = (
    "selection_options.dirichlet_alpha",
    "selection_options.power_law_exponent",
    "selection_options.exploration",
    "selection_options.cases",
    "migration_rate",
)
_WORDS = ("island_choice", "topology", "migrants", "reset_from")
# Whole numbers with what is far beyond any use: more is a slip.
_COUNTS: Mapping[str, int] = {
    "inspirations.top": 100,
    "inspirations.diverse": 100,
    "migration_interval": 1_000_000_000,
    "reset_after": 1_000_000_000,
    "concurrency.policy": MAX_CALLS,
    "concurrency.evaluations": MAX_EVALUATIONS,
}
# Only proposals to come depend on these. Earlier decisions depend on every other key.
CHANGEABLE = (*TABLES, *_NUMBERS, *_WORDS, *_COUNTS)
_BASELINE_KEYS = ("concurrency.policy", "concurrency.evaluations")
_GROUPS = {key.partition(".")[0] for key in CHANGEABLE if "." in key} | {POLICIES.rstrip(".")}


def read_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a person writes them, with dotted keys or nested, by dotted key and each of its type.

    `selection`, `operators` and the weights of objectives are a key each, whose numbers are replaced together.

    Raises:
        ConfigurationError: a key may not change, or its value is of another type.
    """
    flat: dict[str, Any] = {}
    for key, value in given.items():
        table = next((name for name in TABLES if key.startswith(f"{name}.")), "")
        if key in _GROUPS and isinstance(value, Mapping):
            flat |= {f"{key}.{name}": one for name, one in value.items()}
        elif table:
            held = flat.get(table, {})
            flat[table] = {**(held if isinstance(held, Mapping) else {}), key.removeprefix(f"{table}."): value}
        else:
            flat[key] = value
    return {key: _typed(key, value) for key, value in flat.items()}


def _typed(key: str, value: object) -> Any:
    if key in TABLES:
        if not isinstance(value, Mapping):
            raise ConfigurationError(f"{key} must be a table of names and numbers, such as {key}.NAME=1")
        return {str(name): _number(f"{key}.{name}", share) for name, share in value.items()}
    if key in _NUMBERS or key.startswith(POLICIES):
        return _number(key, value)
    if key in _COUNTS:
        number = _number(key, value)
        if not number.is_integer() or not 0 <= number <= _COUNTS[key]:
            raise ConfigurationError(f"{key} must be a whole number from 0 to {_COUNTS[key]}")
        return int(number)
    if key not in _WORDS:
        raise ConfigurationError(f"{key[:80]} cannot change while a run is active. You can change {_safe()}")
    if not isinstance(value, str):
        raise ConfigurationError(f"{key} must be a word")
    return value


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
        raise ConfigurationError(f"{key[:120]} must be a finite number")
    return float(value)


def check_settings(
    settings: Mapping[str, Any], config: RunConfig, policies: Collection[str], objectives: Collection[str]
) -> None:
    """Check settings that a person wants of an active run.

    Args:
        settings: as `read_settings` gives them; `policies.NAME` is the weight of a policy, 0: it is not asked.
        config: of the run at present.
        policies: names of its policies.
        objectives: names of those of its problem.

    Raises:
        ConfigurationError: a key may not change, or a value is out of its range.
    """
    if not settings:
        raise ConfigurationError("give at least one setting, such as selection_options.exploration=2")
    for key, value in settings.items():
        if key.startswith(POLICIES):
            _check_weight(key, value, policies)
        elif config.strategy in BASELINES and key not in _BASELINE_KEYS:
            raise ConfigurationError(f"the strategy {config.strategy} does not read {key}")
        elif key in _SHARES:
            _check_names(key, value, config)
    changed = with_settings(config, settings)
    if OBJECTIVE_WEIGHTS in settings:
        changed.selection_options.check_objectives(objectives)


def check_weights(weights: Iterable[float]) -> None:
    """Check that the weights of all policies leave one that is asked.

    Raises:
        ConfigurationError: they do not.
    """
    if not any(weight > 0 for weight in weights):
        raise ConfigurationError("a run needs a policy with a weight above 0")


def with_settings(config: RunConfig, settings: Mapping[str, Any]) -> RunConfig:
    """A configuration with other values of some keys; weights of policies are no part of it.

    Raises:
        ConfigurationError: a value is out of its range.
    """
    changes: dict[str, Any] = {}
    for key, value in settings.items():
        group, dot, name = key.partition(".")
        if dot and not key.startswith(POLICIES):
            changes[group] = replace(changes.get(group, getattr(config, group)), **{name: value})
        elif not dot:
            changes[key] = value
    return replace(config, **changes)


def follows_trials(config: RunConfig) -> bool:
    """Whether proposals are followed until all of their children are known.

    Their success is asked for by adaptive choices, and the origin of a failure by its repair.
    """
    chooses = config.policy_choice == "adaptive" or config.learning.every > 0
    if chooses or config.strategy in BASELINES:
        return chooses
    mixes = (config.operators, *(variant.operators or {} for variant in config.variants))
    return config.operator_choice == "adaptive" or any(mix.get(REPAIR) for mix in mixes)


def weights_of(settings: Mapping[str, Any]) -> dict[str, float]:
    """The weights of policies among settings, by name."""
    return {key.removeprefix(POLICIES): float(value) for key, value in settings.items() if key.startswith(POLICIES)}


def _check_weight(key: str, weight: float, policies: Collection[str]) -> None:
    name = key.removeprefix(POLICIES)
    if name not in policies:
        raise ConfigurationError(f"the run has no policy {name!r:.80}: its policies are {', '.join(sorted(policies))}")
    if not 0 <= weight <= MAX_MAGNITUDE:
        raise ConfigurationError(f"{key} must be a weight between 0 and {MAX_MAGNITUDE:g}")


def _check_names(key: str, mix: Mapping[str, float], config: RunConfig) -> None:
    """Refuse extensions that the run does not use yet: the process that drives it may not have them."""
    kind = _SHARES[key]
    known = {*built_in_names(kind), *(name for one, name in config.extensions if one is kind)}
    for name in mix:
        if name not in known:
            choice = f"choose among {', '.join(sorted(known))}"
            raise ConfigurationError(f"{key}: the run does not use {name!r:.80}: {choice}")


def _safe() -> str:
    return f"{', '.join(CHANGEABLE)}, {POLICIES}NAME and the budget"
