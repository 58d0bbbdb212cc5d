"""The configuration of a run as fields of a form: what was typed becomes a configuration, and the other way round."""

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evolve.configuration import SELECTIONS, STRATEGIES, default_keys
from evolve.errors import ConfigurationError
from evolve.money import read_money
from evolve.search.run_settings import TABLES
from service.dashboard.formatting import plain
from service.dashboard.session import FormData
from service.dashboard.views.runs_filter import read_labels
from service.errors import UsageError

NO_LIMIT = "none"
# The time of a reader of TOML grows with the square of the text.
MAX_TOML = 8_000
DESCRIBED = "=described"  # a choice among names of policies that is none
FURTHER, LABELS, POLICY = "further", "labels", "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigField:
    """A key of the configuration that has a field of its own.

    Attributes:
        key: dotted; the field is called the same.
        choices: the values that there are; none: a number is typed.
        whole: of a number: whether it has no part behind the point.
    """

    key: str
    label: str
    note: str = ""
    choices: tuple[str, ...] = ()
    whole: bool = True


LIMITS = (
    ConfigField(key="budget.evaluations", label="Evaluations", note="candidates that are scored"),
    ConfigField(key="budget.target", label="Target", note="fitness at which the run ends", whole=False),
    ConfigField(key="budget.wall_seconds", label="Seconds", note="of work", whole=False),
    ConfigField(key="budget.patience", label="Patience", note="without a better best"),
    ConfigField(key="budget.answers", label="Answers", note="taken from the policy"),
    ConfigField(key="budget.tokens", label="Tokens", note="in and out"),
    ConfigField(key="budget.money", label="Money", note="in the currency of the prices"),
)
SEARCH = (
    ConfigField(key="strategy", label="Strategy", choices=STRATEGIES),
    ConfigField(key="islands", label="Islands"),
    ConfigField(key="selection", label="Selection", note="of parents", choices=SELECTIONS),
    ConfigField(key="seed", label="Seed", note="of every random draw"),
    ConfigField(key="answers", label="Answers in a chain"),
    ConfigField(key="samples", label="Chains in a proposal"),
)
KEYS = (*LIMITS, *SEARCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What a policy does beside who writes; its field is called the same."""

    name: str
    label: str
    note: str


ROLES = (
    Role(name="critic", label="Critic", note="reviews each parent for the policy"),
    Role(name="advisor", label="Advisor", note="proposes an idea for each answer of the policy"),
    Role(name="embedder", label="Embedder", note='for novelty.kind = "embedding" below'),
)


# How the service begins what it has against a policy that does not write.
_OF_ROLE = r"(nobody reads what the|the policy \S+ is an?|novelty\.kind = \S+ needs an?|.* both have the role) {}\b"
_NO_CANDIDATE = r"run \S+ has no candidate\b"


@dataclass(slots=True, kw_only=True)
class SubmittedForm:
    """What a form says of a run, and what is wrong with it by field."""

    config: dict[str, Any] = field(default_factory=dict)
    policy: str | dict[str, Any] | list[Any] | None = None
    labels: dict[str, str] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)

    def complain(self, place: str, words: str) -> None:
        """Say what is wrong with a field, beside what is said of it already."""
        held = self.complaints.get(place)
        if held != words:
            self.complaints[place] = f"{held}; {words}" if held else words


def held_words(key: str, value: Any) -> str:
    """What a value of the configuration means that nobody typed."""
    if key == "selection":
        return " and ".join(value) if value else "by the number of objectives"
    if key in {"answers", "samples"} and value == 0:
        return "as the policy says"
    if key == "islands" and value == 0:
        return "by the budget"
    return "no limit" if value is None else plain(value, 40)


def read_typed(form: FormData) -> SubmittedForm:
    """Read the configuration, the policy and the labels of a form."""
    typed = SubmittedForm()
    for key in KEYS:
        text = form.get(key.key, "").strip()
        if text:
            _set(typed, key, text)
    further = _table(typed, FURTHER, form.get(FURTHER, ""))
    for name in _merge(typed.config, further):
        typed.complain(FURTHER, f"{plain(name, 60)} is also set above: remove one of them")
    chosen = form.get(POLICY, "")
    if chosen == DESCRIBED:
        described = _table(typed, "policy_text", form.get("policy_text", ""))
        several = described.get("policies")  # as a policy file has them
        typed.policy = several if isinstance(several, list) and len(described) == 1 else described
        if not typed.policy:
            typed.complain("policy_text", "describe the policy: kind, base_url and model, for example")
    else:
        typed.policy = chosen or None
    _accompany(typed, form)
    _label(typed, form)
    return typed


def _accompany(typed: SubmittedForm, form: FormData) -> None:
    """Name the policies that do something else beside who writes: what is asked for takes the place of all others."""
    others = [name for role in ROLES if (name := form.get(role.name, ""))]
    if not others:
        return
    if typed.policy:
        writing = typed.policy if isinstance(typed.policy, list) else [typed.policy]
        typed.policy = [*writing, *others]
    elif "policy_text" not in typed.complaints:
        typed.complain(POLICY, "choose a policy too: a critic, an advisor and an embedder need it")


def _set(typed: SubmittedForm, key: ConfigField, text: str) -> None:
    try:
        value = _value(key, text)
    except UsageError as error:
        typed.complain(key.key, str(error))
        return
    _merge(typed.config, nested(key.key, value))


def _value(key: ConfigField, text: str) -> Any:
    if key.choices:
        if text not in key.choices:
            raise UsageError(f"choose one of {', '.join(key.choices)}")
        return {text: 1.0} if key.key == "selection" else text
    if text.lower() == NO_LIMIT and key in LIMITS:
        return NO_LIMIT
    if key.key == "budget.money":
        return _money(text)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or abs(number) > 2**53:
        raise UsageError(f"{plain(text, 40)} is not a number: write one such as 500")
    if key.whole and not number.is_integer():
        raise UsageError(f"{plain(text, 40)} is not a whole number")
    return int(number) if number.is_integer() else number


def _money(text: str) -> str:
    try:
        return str(read_money(text))
    except ConfigurationError as error:
        raise UsageError(plain(error, 160)) from error


def _table(typed: SubmittedForm, place: str, text: str) -> dict[str, Any]:
    """A table that was typed as JSON or TOML; empty where it cannot be read, which is complained of."""
    is_json = text.lstrip().startswith("{")
    if not is_json and len(text) > MAX_TOML:
        typed.complain(place, f"TOML of more than {MAX_TOML} characters is not read here: write it as JSON")
        return {}
    try:
        value = json.loads(text) if is_json else tomllib.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        typed.complain(place, f"this is neither TOML nor JSON with finite numbers: {plain(error, 160)}")
        return {}
    return dict(value)


def _label(typed: SubmittedForm, form: FormData) -> None:
    try:
        typed.labels |= read_labels(form.get(LABELS, ""))
    except UsageError as error:
        typed.complain(LABELS, str(error).removeprefix("labels: "))
    if name := form.get("run_name", "").strip():
        typed.labels["name"] = name


def nested(key: str, value: Any) -> dict[str, Any]:
    """A dotted key as tables in tables."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested configuration by dotted keys; tables of numbers stay one value."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and key not in TABLES:
            found |= flat(value, f"{key}.")
        else:
            found[key] = value
    return found


DEFAULTS: dict[str, Any] = json.loads(json.dumps(default_keys()))


def _merge(into: dict[str, Any], more: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Add tables to tables; the dotted keys that were there already stay and are returned."""
    clashes = []
    for name, value in more.items():
        held = into.get(name)
        if isinstance(held, dict) and isinstance(value, Mapping):
            clashes += _merge(held, value, f"{prefix}{name}.")
        elif name in into:
            clashes.append(f"{prefix}{name}")
        else:
            into[name] = value
    return clashes


def fields_of(config: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, str]:
    """The fields that say what of a configuration is other than what holds anyway, which `base` has by dotted keys."""
    found = dict[str, str]()
    further: dict[str, Any] = {}
    fields = {key.key: key for key in KEYS}
    for name, value in flat(config).items():
        if name in base and base[name] == value:
            continue
        text = _text(fields[name], value) if name in fields else None
        if text is None:
            _merge(further, nested(name, NO_LIMIT if value is None else value))
        else:
            found[name] = text
    if further:
        found[FURTHER] = json.dumps(further, indent=2, ensure_ascii=False)
    return found


def _text(key: ConfigField, value: Any) -> str | None:
    """A value as it is typed; None where its field cannot say it."""
    if key.key == "selection":
        value = next(iter(value)) if isinstance(value, Mapping) and list(value.values()) in ([1], [1.0]) else None
    if key.choices:  # an extension is not among them
        return value if value in key.choices else None
    return NO_LIMIT if value is None else str(value)


def place_of(complaint: str, form: FormData) -> tuple[str, str]:
    """The field that a complaint about a run is about, and the words without what only programs need.

    The service names the key at the beginning of a sentence.
    """
    words = complaint.removeprefix("the request: ").strip()
    for role in ROLES:
        if re.match(_OF_ROLE.format(role.name), words):
            return role.name, words
    for key in sorted((key.key for key in KEYS), key=len, reverse=True):
        if re.match(rf"{re.escape(key)}\b", words):
            typed_here = form.get(key, "").strip()
            return (key if typed_here else FURTHER), words
    beginnings = {
        "policy": POLICY,
        "no policy": POLICY,
        "there is no policy": POLICY,
        "labels": LABELS,
        "the label": LABELS,
        "problem": "problem",
        "candidate": "candidate",
        "no candidate": "candidate",
        "selection_options.": FURTHER,
    }
    for beginning, place in beginnings.items():
        if words.startswith(beginning):
            return place, words
    if re.match(_NO_CANDIDATE, words):
        return "candidate", words
    return ("problem" if words.startswith("no problem") else FURTHER if complaint != words else ""), words
