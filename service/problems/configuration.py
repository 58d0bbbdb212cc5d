"""Run configurations: layers of keys by precedence, typed and checked."""

import dataclasses
import tomllib
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from evolve.configuration import RunConfig, VariantConfig
from evolve.errors import ConfigurationError
from evolve.money import Money, read_money
from service.errors import ConfigurationComplaint, InvalidConfigurationError
from service.problems.documents import DocumentError, read_file, storable
from service.problems.suggestion import hint

SHORT = {"evaluations": "budget.evaluations"}
_ABSENT = {
    "policies": "policies are not part of the configuration: name them with --policy, or in policy over the API",
}
VARIANTS = "variants"
PROBLEM = "the problem"
DEFAULT = "the default"
_BUDGET, _TIME = "budget.", "budget.wall_seconds"
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_TABLES = TypeAdapter(list[dict[str, Any]])
_NUMBERS = TypeAdapter(list[int], config=ConfigDict(strict=True))

Layer = tuple[str, Mapping[str, Any]]


def read_config(layers: Sequence[Layer]) -> RunConfig:
    """Merge named layers, lowest precedence first, into a run configuration.

    A layer is a name for messages, such as `--config run.toml`, and a mapping, nested or with dotted keys.
    `evaluations` is short for `budget.evaluations`. The text `none` removes a limit (TOML has no null). A later layer
    replaces single keys. `selection` and `operators` are a key each, whose shares are replaced together. The time limit
    of a problem's file gives way to any other limit of the budget in a later layer.

    Raises:
        ConfigurationError: unknown keys (with the layer and the nearest known key) and values of a wrong type or out of
            range, all of them in a single text.
    """
    complaints: list[ConfigurationComplaint] = []
    config = _build(_without_default_time(_merged(layers, complaints)), complaints)
    if complaints or config is None:
        raise _invalid(layers, complaints)
    return config


def merge(layers: Sequence[Layer]) -> dict[str, Any]:
    """The keys of layers, dotted, with their values, for a process that knows the lower layers.

    Raises:
        ConfigurationError: as for `read_config`, as far as known without those.
    """
    complaints: list[ConfigurationComplaint] = []
    merged = _merged(layers, complaints)
    if complaints:
        raise _invalid(layers, complaints)
    return {key: str(value) if isinstance(value, Money) else value for key, (_, value) in merged.items()}


def invalid_values(layers: Sequence[Layer], details: Sequence[tuple[str, str]]) -> InvalidConfigurationError:
    """The error of values that can be read and are still refused, each with its key and a sentence."""
    merged = _merged(layers, [])
    return _invalid(layers, [_complaint(merged.get(key, ("", None))[0], key, detail) for key, detail in details])


def limit_sources(layers: Sequence[Layer]) -> dict[str, dict[str, Any]]:
    """Each limit of the budget that layers lead to: its value and the name of the layer that set it."""
    merged = _without_default_time(_merged(layers, []))
    values = config_as_json(read_config(layers))["budget"]
    sources = {key: merged.get(f"{_BUDGET}{key}", (DEFAULT, None))[0] for key in values}
    return {key: {"limit": limit, "from": sources[key]} for key, limit in values.items() if limit is not None}


def _without_default_time(merged: dict[str, tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    """The merged configuration, without the time limit of a problem's file if another limit was set."""
    asked = any(
        key.startswith(_BUDGET) and name != PROBLEM and value is not None for key, (name, value) in merged.items()
    )
    stands = not asked or merged.get(_TIME, ("", None))[0] != PROBLEM
    return merged if stands else {key: entry for key, entry in merged.items() if key != _TIME}


def _merged(layers: Sequence[Layer], complaints: list[ConfigurationComplaint]) -> dict[str, tuple[str, Any]]:
    merged: dict[str, tuple[str, Any]] = {}
    for name, layer in layers:
        values = _flatten(name, layer, complaints)
        merged |= {key: (name, value) for key, value in _typed(name, values, complaints).items()}
    return merged


def check_layer(name: str, layer: Mapping[str, Any]) -> list[str]:
    """Complaints about a layer of a run configuration by itself. Empty if it is valid."""
    complaints: list[ConfigurationComplaint] = []
    values = _typed(name, _flatten(name, layer, complaints), complaints)
    _build({key: (name, value) for key, value in values.items()}, complaints)
    return [complaint.sentence for complaint in complaints]


def _invalid(layers: Sequence[Layer], complaints: Sequence[ConfigurationComplaint]) -> InvalidConfigurationError:
    written = dict(layers)
    placed = [dataclasses.replace(one, place=_place(written.get(one.layer, {}), one.key)) for one in complaints]
    return InvalidConfigurationError(placed)


def _place(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Names that lead through a layer, nested or dotted as written, to a dotted key, as far as they exist."""
    for word, value in values.items():
        if key in {word, SHORT.get(word)}:
            return (word,)
        if key.startswith(f"{word}.") and isinstance(value, Mapping):
            return (word, *_place(value, key.removeprefix(f"{word}.")))
    return ()


def read_config_file(path: Path) -> Layer:
    """Read a configuration file (.toml, .yaml, .yml or .json) as a layer.

    Raises:
        ConfigurationError: the file cannot be read, in a sentence.
    """
    try:
        return f"--config {path}", read_file(path)
    except DocumentError as error:
        raise ConfigurationError(str(error)) from error


def parse_set(text: str) -> dict[str, Any]:
    """Read `key=value`, such as `budget.evaluations=100`, into a layer with a dotted key.

    The value is a TOML literal (`0.5`, `true`, `"text"`, `{ tournament = 1 }`). Anything else is text.

    Raises:
        ConfigurationError: there is no `=`, or no key before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigurationError(f"--set {text[:80]}: write key=value, such as --set budget.evaluations=100")
    return {key.strip(): _literal(value.strip())}


def parse_sets(texts: Sequence[str]) -> Layer:
    """Read all `--set` flags of a command as a layer. The last of equal keys counts.

    Raises:
        ConfigurationError: a flag is not `key=value`.
    """
    merged: dict[str, Any] = {}
    for text in texts:
        merged |= parse_set(text)
    return "--set", merged


def config_as_json(config: RunConfig) -> dict[str, Any]:
    """Every key of a configuration, nested, for the run's record."""
    record = dataclasses.asdict(config)
    money = config.budget.money
    record["budget"]["money"] = None if money is None else str(money)
    return record


def config_from_json(record: Mapping[str, Any]) -> RunConfig:
    """The configuration from the record of `config_as_json`.

    Raises:
        ConfigurationError: the record holds keys that this version does not know.
    """
    return read_config([("the run's record", record)])


def known_keys() -> tuple[str, ...]:
    """Every key of a run configuration, dotted."""
    return tuple(_types())


@cache
def _types() -> dict[str, Any]:
    return dict(_leaves(RunConfig, ""))


def _leaves(group: type, prefix: str) -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, kind in typing.get_type_hints(group).items():
        nested = dataclasses.is_dataclass(kind)
        leaves += _leaves(typing.cast(type, kind), f"{prefix}{name}.") if nested else [(f"{prefix}{name}", kind)]
    return leaves


@cache
def _varied() -> tuple[str, ...]:
    """Keys and groups of keys in which islands may differ."""
    return tuple(entry.name for entry in dataclasses.fields(VariantConfig) if entry.name != "islands")


@cache
def _groups() -> dict[str, type]:
    hints = typing.get_type_hints(RunConfig)
    return {name: kind for name, kind in hints.items() if isinstance(kind, type) and dataclasses.is_dataclass(kind)}


@cache
def _tables() -> frozenset[str]:
    """Keys whose values are tables of names and shares."""
    return frozenset(name for name, kind in _types().items() if typing.get_origin(kind) is Mapping)


def _flatten(
    layer: str, values: Mapping[str, Any], complaints: list[ConfigurationComplaint], prefix: str = ""
) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for word, value in values.items():
        key = SHORT.get(prefix + word, prefix + word)
        if key in _groups():
            if isinstance(value, Mapping):
                inner = _flatten(layer, value, complaints, f"{key}.")
            else:
                inner, keys = {}, ", ".join(name for name in _types() if name.startswith(f"{key}."))
                complaints.append(_complaint(layer, key, f"{key} is a table with the keys {keys}"))
        elif key in _types():
            inner = {key: value}
        elif table := next((name for name in _tables() if key.startswith(f"{name}.")), ""):
            inner = {table: {**flat.get(table, {}), key.removeprefix(f"{table}."): value}}
        else:
            inner = {}
            complaints.append(_complaint(layer, key, _unknown(key)))
        twice = [name for name in inner if name in flat and name not in _tables()]
        complaints += [_complaint(layer, name, f"{name} is given twice") for name in twice]
        flat |= inner
    return flat


def _unknown(key: str) -> str:
    for absent, sentence in _ABSENT.items():
        if key == absent or key.startswith(f"{absent}."):
            return sentence
    return f"unknown key {key!r}{hint(key, [*_types(), *SHORT, *_groups()])}"


def _complaint(layer: str, key: str, detail: str) -> ConfigurationComplaint:
    return ConfigurationComplaint(layer=layer, key=key, detail=detail)


def _typed(layer: str, values: Mapping[str, Any], complaints: list[ConfigurationComplaint]) -> dict[str, Any]:
    typed = {}
    for key, value in values.items():
        kind = _types()[key]
        may_be_none = NoneType in typing.get_args(kind)
        if may_be_none and isinstance(value, str) and value.lower() == "none":
            value = None
        try:
            if isinstance(value, str) and not storable(value):
                detail = f"{key} holds a character that cannot be stored: write it as UTF-8"
                complaints.append(_complaint(layer, key, detail))
                continue
            if key == VARIANTS:
                value = [_variant(layer, table, complaints) for table in _TABLES.validate_python(value)]
            else:
                value = read_money(value) if value is not None and Money in typing.get_args(kind) else value
                value = TypeAdapter(kind, config=_STRICT).validate_python(value)
            typed[key] = value
        except ConfigurationError as error:
            complaints.append(_complaint(layer, key, f"{key}: {error}"))
        except ValidationError:
            complaints.append(_complaint(layer, key, f"{key} must be {_word(kind)}, not {_shown(value)}"))
    return typed


def _variant(layer: str, table: Mapping[str, Any], complaints: list[ConfigurationComplaint]) -> dict[str, Any]:
    """A table of keys for some islands, as a layer by itself, its keys dotted."""
    own = {key: value for key, value in table.items() if key != "islands" and value is not None}
    values = _flatten(f"{layer}: {VARIANTS}", own, complaints)
    strange = [key for key in values if key.partition(".")[0] not in _varied()]
    complaints += [
        _complaint(layer, VARIANTS, f"{VARIANTS}: islands may differ in {', '.join(_varied())}, not in {key}")
        for key in strange
    ]
    known = {key: value for key, value in values.items() if key not in strange}
    typed = _typed(f"{layer}: {VARIANTS}", known, complaints)
    return {"islands": _NUMBERS.validate_python(table.get("islands")), **typed}


def _word(kind: Any) -> str:
    if kind == _types()[VARIANTS]:
        return "a list of tables, each with islands = [0, 1] and their own values"
    options = [option for option in typing.get_args(kind) if option is not NoneType]
    if typing.get_origin(kind) is not None and NoneType in typing.get_args(kind):
        return f"{_word(options[0])} or none"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return words.get(kind, "a table of names and shares")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _build(merged: Mapping[str, tuple[str, Any]], complaints: list[ConfigurationComplaint]) -> RunConfig | None:
    parts: dict[str, Any] = {key: value for key, (_, value) in merged.items() if "." not in key}
    for name, kind in _groups().items():
        inner = {
            key.removeprefix(f"{name}."): value for key, (_, value) in merged.items() if key.startswith(f"{name}.")
        }
        try:
            parts[name] = kind(**inner)
        except ConfigurationError as error:
            complaints.append(_traced(error, merged))
    try:
        if VARIANTS in parts:
            parts[VARIANTS] = tuple(_differing(table, parts) for table in parts[VARIANTS])
        return RunConfig(**parts)
    except ConfigurationError as error:
        complaints.append(_traced(error, merged))
        return None


def _differing(table: Mapping[str, Any], parts: Mapping[str, Any]) -> VariantConfig:
    """The settings of a table on top of the common settings. Single keys of a group are replaced."""
    own = {key: value for key, value in table.items() if "." not in key}
    for name in _varied():
        inner = {key.removeprefix(f"{name}."): value for key, value in table.items() if key.startswith(f"{name}.")}
        if inner and name in parts:
            try:
                own[name] = dataclasses.replace(parts[name], **inner)
            except ConfigurationError as error:
                raise ConfigurationError(f"{VARIANTS}: {error}") from error
    return VariantConfig(**{**own, "islands": tuple(table["islands"])})


def _traced(error: ConfigurationError, merged: Mapping[str, tuple[str, Any]]) -> ConfigurationComplaint:
    """An error of the values together as a complaint about the key that it begins with, in the layer that set it."""
    key = max((key for key in merged if str(error).startswith(key)), key=len, default="")
    return _complaint(merged[key][0] if key else "", key, str(error))


def _literal(text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return table["value"] if list(table) == ["value"] else text
