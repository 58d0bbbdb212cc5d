"""Which runs a list shows: read from an address, and written into one."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, get_args
from urllib.parse import urlencode

import httpx

from evolve.money import Money
from service.client import Call, calls
from service.dashboard.formatting import plain
from service.dashboard.scores import as_score
from service.errors import UsageError
from service.schemas.runs import Run, RunPage, State

STATES: tuple[str, ...] = get_args(State)
GROUPS = ("problem", "state", "policy", "owner")
# The columns of the list beside the run itself, in their order: key, heading, and whether they show where nobody chose.
COLUMNS = (
    ("state", "State", True), ("curve", "Curve", True), ("best", "Best", True), ("gap", "Gap closed", True),
    ("budget", "Evaluations", True), ("duration", "Time", True), ("rate", "Rate", False), ("tokens", "Tokens", True),
    ("cost", "Cost", False), ("age", "Age", True), ("owner", "Owner", False), ("policy", "Policy", True),
    ("labels", "Labels", True),
)  # fmt: skip
SHOWN_COLUMNS = tuple(key for key, _, shown in COLUMNS if shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsFilter:
    """What the address of a list says.

    Attributes:
        created_by: name of the key that they were submitted with.
        labels: as they were typed: `key=value, key=value`.
        group: by what the rows of a page are put together; empty: they are not.
        sort: the column by which the rows of a page are ordered, `-` before it: downwards; empty: newest first.
        columns: those that are shown; none: the usual ones.
    """

    states: tuple[str, ...] = ()
    problem: str = ""
    labels: str = ""
    batch_id: str = ""
    created_by: str = ""
    group: str = ""
    sort: str = ""
    columns: tuple[str, ...] = ()

    @classmethod
    def read(cls, query: str) -> Self:
        """What a query says; `unknown_filters` names the values that nobody offers."""
        pairs = httpx.QueryParams(query).multi_items()
        named = {key: value.strip() for key, value in pairs}
        states = {part.strip() for key, value in pairs if key == "state" for part in value.split(",")}
        return cls(
            states=tuple(state for state in STATES if state in states),
            problem=named.get("problem", ""),
            labels=named.get("labels", ""),
            batch_id=named.get("batch_id", ""),
            created_by=named.get("created_by", ""),
            group=named["group"] if named.get("group") in GROUPS else "",
            sort=named.get("sort", "") if named.get("sort", "").removeprefix("-") in SORTS else "",
            columns=_columns(part for key, value in pairs if key == "columns" for part in value.split(",")),
        )

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that are shown."""
        return self.columns or SHOWN_COLUMNS

    @property
    def narrows(self) -> bool:
        """Whether it leaves runs out."""
        return self != RunsFilter(group=self.group, sort=self.sort, columns=self.columns)

    def query(self, **more: str) -> str:
        """As the query of an address, always written the same way."""
        return urlencode([(key, value) for key, value in (*self.pairs(), *more.items()) if value])

    def pairs(self) -> list[tuple[str, str]]:
        """What it says, as names and values."""
        pairs = [("state", state) for state in self.states]
        pairs += [
            (name, getattr(self, name)) for name in ("problem", "labels", "batch_id", "created_by", "group", "sort")
        ]
        pairs.append(("columns", ",".join(self.columns)))
        return [(name, value) for name, value in pairs if value]

    def address(self, **more: str) -> str:
        """Where its list is."""
        query = self.query(**more)
        return f"/runs?{query}" if query else "/runs"

    def ordered(self, column: str) -> str:
        """Where the list is in the order of a column: largest first, then smallest first, then newest first again."""
        following = {f"-{column}": column, column: ""}.get(self.sort, f"-{column}")
        return replace(self, sort=following).address()

    def without(self, name: str) -> str:
        """Where the list is that one part of it does not narrow."""
        empty = RunsFilter()
        return replace(self, **{name: getattr(empty, name)}).address()

    def call(self, limit: int, *, count: bool = False) -> Call[RunPage]:
        """What the API is asked for.

        Raises:
            UsageError: the labels are no pairs.
        """
        return calls.list_runs(
            states=self.states,
            problem=self.problem,
            batch_id=self.batch_id,
            created_by=self.created_by,
            labels=read_labels(self.labels),
            limit=limit,
            count=count,
        )


def read_labels(text: str) -> Mapping[str, str]:
    """Labels as people type them, `key=value, key=value`.

    Raises:
        UsageError: one of them is no pair.
    """
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not key:
            raise UsageError(f"labels: {plain(part, 40)} is not a label: write key=value, with a comma between two")
        found[key] = value
    return found


def write_labels(labels: Mapping[str, str]) -> str:
    """Labels as `read_labels` reads them."""
    return ", ".join(f"{key}={value}" for key, value in labels.items())


def policy_name(policy: Mapping[str, Any]) -> str:
    """What a policy is called by people."""
    return str(policy.get("name") or policy.get("model") or policy.get("kind") or "")


def gap_closed(run: Run) -> float | None:
    """The share of the way from the seed to the best known score that a run has gone; None: that is not known."""
    best, seed = as_score(run.best_fitness, run), as_score(run.seed_fitness, run)
    if best is None or seed is None or run.known_best is None or run.known_best == seed:
        return None
    return (best - seed) / (run.known_best - seed)


def _cost(run: Run) -> float:
    return float(Money.read(run.usage.cost).amount) if run.usage.cost else -1.0


SORTS: Mapping[str, Callable[[Run], Any]] = {
    "state": lambda run: run.state,
    "best": lambda run: -math.inf if run.best_fitness is None else run.best_fitness,
    "gap": lambda run: -math.inf if (gap := gap_closed(run)) is None else gap,
    "budget": lambda run: run.progress.evaluated,
    "duration": lambda run: run.usage.active_seconds,
    "rate": lambda run: run.progress.evaluated / run.usage.active_seconds if run.usage.active_seconds else 0.0,
    "tokens": lambda run: run.usage.tokens_input + run.usage.tokens_output,
    "cost": _cost,
    "age": lambda run: run.created_at,
    "owner": lambda run: run.created_by,
    "policy": lambda run: ", ".join(map(policy_name, run.policies)),
}


def ordered(runs: Sequence[Run], sort: str) -> list[Run]:
    """The runs of a page by a column; those that are equal stay newest first."""
    if not sort:
        return list(runs)
    return sorted(runs, key=SORTS[sort.removeprefix("-")], reverse=sort.startswith("-"))


_CHOICES: Mapping[str, Sequence[str]] = {
    "state": STATES,
    "group": GROUPS,
    "sort": tuple(SORTS),
    "columns": tuple(key for key, _, _ in COLUMNS),
}
_FILTERS = ("state", "problem", "labels", "batch_id", "created_by", "group", "sort", "columns")
_MAX_TOLD = 5


def unknown_filters(query: str) -> list[str]:
    """A sentence for each part of a query that `RunsFilter.read` leaves out."""
    found = []
    for name, value in httpx.QueryParams(query).multi_items():
        if name not in (*_FILTERS, "cursor"):
            found.append(
                f"This list has no filter {plain(name, 40)}, so it was left out. It has {', '.join(_FILTERS)}."
            )
        for one in map(str.strip, value.split(",")):
            word = one.removeprefix("-") if name == "sort" else one
            if word and name in _CHOICES and word not in _CHOICES[name]:
                choices = ", ".join(_CHOICES[name])
                found.append(f"{name}: {plain(one, 40)} was left out, since it is not one of {choices}.")
    return list(dict.fromkeys(found))[:_MAX_TOLD]


def _columns(names: Iterable[str]) -> tuple[str, ...]:
    wanted = set(names)
    found = tuple(key for key, _, _ in COLUMNS if key in wanted)
    return () if found == SHOWN_COLUMNS else found


def grouped(runs: Iterable[Run], group: str) -> Sequence[tuple[str, Sequence[Run]]]:
    """Runs by what they share, in the order in which the groups first appear; without a group one that has no name."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(_shared(run, group), []).append(run)
    return list(groups.items())


def _shared(run: Run, group: str) -> str:
    if group == "problem":
        return run.problem
    if group == "state":
        return run.state
    if group == "owner":
        return run.created_by or "nobody named"
    return ", ".join(map(policy_name, run.policies)) if group == "policy" else ""
