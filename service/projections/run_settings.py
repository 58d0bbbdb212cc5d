"""Settings of an active run: how they stand, and the change by which a person gives them other values."""

from collections.abc import Mapping, Sequence
from typing import Any

from evolve.change_events import RequestedChange, SettingsChanged
from evolve.configuration import BASELINES, RunConfig
from evolve.errors import ConfigurationError
from evolve.event_types import EventKind
from evolve.search.run_settings import (
    CHANGEABLE,
    POLICIES,
    check_settings,
    check_weights,
    read_settings,
    weights_of,
    with_settings,
)
from service.errors import ConflictError
from service.ports import ENDED, RunReader, RunRecord

_KINDS = (str(EventKind.SETTINGS_CHANGED),)
_BUDGET = "budget."


def current_settings(reader: RunReader, run: RunRecord, waiting: Sequence[RequestedChange] = ()) -> dict[str, Any]:
    """What may be changed of a run, by dotted key, as it is once what waits for its search is made."""
    settings = {key: value for key in CHANGEABLE if (value := _configured(run.config, key)) is not None}
    settings |= {f"{POLICIES}{one['name']}": float(one.get("weight", 1.0)) for one in _asked(run)}
    made = [entry.event.data for entry in reader.events(run.id, kinds=_KINDS)]
    for data in (*made, *(change.data for change in waiting)):
        if isinstance(data, SettingsChanged):
            settings |= data.settings
    return settings


def settings_change(
    reader: RunReader,
    run: RunRecord,
    waiting: Sequence[RequestedChange],
    given: Mapping[str, Any],
    change_id: str,
    by: str,
) -> RequestedChange:
    """The change by which a person gives settings of an active run other values, all of it checked.

    Raises:
        ConflictError: the run has ended.
        ConfigurationError: a key may not change, or a value cannot be.
    """
    if run.state in ENDED:
        raise ConflictError(f"run {run.id} has ended, it is {run.state}: fork it, or start another")
    budget = [key for key in given if key == _BUDGET.rstrip(".") or key.startswith(_BUDGET)]
    if budget:
        raise ConfigurationError(f"{budget[0][:80]} is not a setting: extend the run to change its budget")
    settings = read_settings(given)
    standing = current_settings(reader, run, waiting)
    weights = weights_of(standing)
    objectives = [str(objective["name"]) for objective in run.objectives]
    check_settings(settings, _config(run, standing), weights, objectives)
    check_weights((weights | weights_of(settings)).values())
    return RequestedChange(data=SettingsChanged(change_id=change_id, by=by, settings=settings))


def split_budget(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The limits of the budget among what a person gives, by their own keys, and the settings."""
    budget = {key.removeprefix(_BUDGET): value for key, value in given.items() if key.startswith(_BUDGET)}
    return budget, {key: value for key, value in given.items() if not key.startswith(_BUDGET)}


def _configured(config: Mapping[str, Any], key: str) -> Any:
    group, _, name = key.partition(".")
    value = config.get(group)
    return value.get(name) if name and isinstance(value, Mapping) else value


def _asked(run: RunRecord) -> list[Mapping[str, Any]]:
    """The policies that are asked for programs; others only judge or embed."""
    return [one for one in run.policies if one.get("role", "author") in ("author", "")]


def _config(run: RunRecord, settings: Mapping[str, Any]) -> RunConfig:
    """The configuration of a run, as far as its settings depend on it."""
    strategy = str(run.config.get("strategy", "islands"))
    base = RunConfig(strategy=strategy) if strategy in BASELINES else RunConfig()
    return with_settings(base, settings)
