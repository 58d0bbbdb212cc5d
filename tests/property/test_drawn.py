"""What charts draw of a run equals what was told of it, however it comes in, and leaves out nothing that shows."""

import math
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.events import Event, EventKind
from service.api.serializers.columns import shown_columns
from service.ports import LoggedEvent, RunReader, ScoredCandidate
from service.projections.chart_data import draw, evenly, extremes, rounded
from service.projections.columns import MAX_MARKS, Columns
from service.timestamps import rfc3339
from tests.property.test_columns import run_of

START = datetime(2026, 3, 1, 12, 0, 0, 123457, tzinfo=UTC)
MARKED: Mapping[EventKind, Mapping[str, Any]] = {
    EventKind.ISLAND_MIGRATED: {"from": 1, "to": 2, "candidate_ids": []},
    EventKind.ISLAND_RESET: {"island": 3, "survivor": "cnd_0", "displaced": []},
    EventKind.RUN_PAUSED: {"by": "me"},
    EventKind.RUN_RESUMED: {"by": "me"},
    EventKind.BUDGET_EXTENDED: {"key": "evaluations", "from": 10, "to": 20, "by": "me"},
}
COLUMNS = (
    "place",
    "proposal_number",
    "position",
    "island",
    "outcome",
    "operator",
    "policy",
    "parent",
    "fitness",
    "seconds",
)
Happened = ScoredCandidate | LoggedEvent


class Log:
    """A reader of one run of which everything up to a sequence has happened."""

    def __init__(self, happened: Sequence[Happened]) -> None:
        self.happened, self.now = happened, 0

    def sequences(self, run_ids: Sequence[str]) -> Mapping[str, tuple[int, str]]:
        return dict.fromkeys(run_ids, (self.now, "running"))

    def scored(self, run_id: str, after: int = 0) -> Iterator[ScoredCandidate]:
        return (one for one in self.happened[after : self.now] if isinstance(one, ScoredCandidate))

    def events(self, run_id: str, after: int, limit: None = None, kinds: Sequence[str] = ()) -> Iterator[LoggedEvent]:
        told = (one for one in self.happened[after : self.now] if isinstance(one, LoggedEvent))
        return (one for one in told if one.event.kind in kinds)

    def fold(self, columns: Columns, now: int) -> Columns:
        """The columns, caught up with to an event."""
        self.now = now
        columns.catch_up(cast(RunReader, self))
        return columns


def evaluated(sequence: int, rewards: tuple[float, ...] | None, **told: Any) -> ScoredCandidate:
    """An evaluation told by the event of a sequence; without rewards it failed."""
    fields: dict[str, Any] = {
        "candidate_id": f"cnd_{sequence}", "proposal_number": sequence // 3, "position": sequence % 3, "island": 0,
        "parent_id": None, "operator": "mutate", "policy": "syntax", "outcome": "ok" if rewards else "error",
        "fitness": sum(rewards) if rewards else None, "scores": dict(zip("abcde", rewards or (), strict=False)),
        "grid_measures": {}, "seconds": 0.5, "at": START,
    }  # fmt: skip
    return ScoredCandidate(sequence=sequence, rewards=rewards, **fields | told)


@st.composite
def histories(draw: st.DrawFn) -> list[Happened]:
    """Evaluations of children of any that came before, with marks between them."""
    happened: list[Happened] = []
    for sequence in range(1, draw(st.integers(0, 30)) + 1):
        at = START + timedelta(seconds=draw(st.floats(0, 1e6)))
        if draw(st.integers(0, 4)) == 0:
            kind = draw(st.sampled_from(list(MARKED)))
            event = Event.stored(kind, payload=MARKED[kind])
            happened.append(LoggedEvent(run_id="run_1", sequence=sequence, at=at, event=event))
            continue
        rewards = draw(st.none() | st.tuples(*[st.floats(-1e3, 1e3)] * 2))
        parent = draw(st.none() | st.integers(0, sequence).map(lambda one: f"cnd_{one}"))
        outcome = "ok" if rewards else draw(st.sampled_from(["timeout", "error"]))
        scored = evaluated(sequence, rewards, island=draw(st.integers(0, 3)), parent_id=parent, outcome=outcome, at=at)
        operator, policy = draw(st.sampled_from(["mutate", "seed"])), draw(st.sampled_from(["", "vpo", "\ud800"]))
        happened.append(scored._replace(operator=operator, policy=policy))
    return happened


def told(happened: Sequence[Happened]) -> list[dict[str, Any]]:
    """The evaluations of a history one by one, as charts want them."""
    rows: list[dict[str, Any]] = []
    scored = [one for one in happened if isinstance(one, ScoredCandidate)]
    for place, one in enumerate(scored):
        before = [other.candidate_id for other in scored[:place]]
        rows.append({
            "place": place, "proposal_number": one.proposal_number, "position": one.position, "island": one.island,
            "outcome": one.outcome, "operator": one.operator, "policy": one.policy.replace("\ud800", "\\ud800"),
            "parent": before.index(one.parent_id) if one.parent_id in before else -1, "fitness": one.fitness,
            "seconds": (one.at - scored[0].at).total_seconds(), "rewards": one.rewards or (None, None),
        })  # fmt: skip
    return rows


def shown(columns: Columns, after: int = 0) -> dict[str, Any]:
    return shown_columns("run_1", draw(columns, after)).model_dump()


def joined(older: Mapping[str, Any], newer: Mapping[str, Any]) -> dict[str, Any]:
    """What a page has that draws something new on top of what it had."""
    return {
        **newer,
        "begin": older["begin"],
        **{name: older[name] + newer[name] for name in COLUMNS},
        "rewards": [old + new for old, new in zip(older["rewards"], newer["rewards"], strict=True)],
        "marks": [mark for mark in older["marks"] if mark["place"] < newer["begin"]] + newer["marks"],
    }


@given(histories())
def test_columns_tell_each_evaluation_as_it_was(happened: list[Happened]) -> None:
    found = shown(Log(happened).fold(Columns(run_of(2)), len(happened)))
    rows = told(happened)
    assert (found["total"], found["begin"], found["sampled"]) == (len(rows), 0, False)
    assert found["objectives"] == ["a", "b"]
    for name in ("place", "proposal_number", "position", "island", "parent"):
        assert found[name] == [row[name] for row in rows]
    for name, names in (("outcome", "outcomes"), ("operator", "operators"), ("policy", "policies")):
        assert [found[names][code] for code in found[name]] == [row[name] for row in rows]
    for told_so, row in zip(found["fitness"], rows, strict=True):
        assert told_so == (None if row["fitness"] is None else pytest.approx(row["fitness"], rel=1e-6))
    for column, rewards in enumerate(found["rewards"]):
        for told_so, row in zip(rewards, rows, strict=True):
            worth = row["rewards"][column]
            assert told_so == (None if worth is None else pytest.approx(worth, rel=1e-6))
    assert found["seconds"] == pytest.approx([row["seconds"] for row in rows], abs=0.000501)
    marks = [one for one in happened if isinstance(one, LoggedEvent)]
    before = [sum(isinstance(one, ScoredCandidate) for one in happened[: mark.sequence]) for mark in marks]
    assert [(mark["kind"], mark["place"], mark["at"]) for mark in found["marks"]] == [
        (str(mark.event.kind), place, rfc3339(mark.at)) for mark, place in zip(marks, before, strict=True)
    ]
    ways = {"island.migrated": (1, 2), "island.reset": (None, 3)}
    for mark in found["marks"]:
        assert (mark["from_island"], mark["to_island"]) == ways.get(mark["kind"], (None, None))


@given(histories(), st.lists(st.integers(0, 30), max_size=4))
def test_what_is_new_joined_to_what_was_there_is_the_whole(happened: list[Happened], cuts: list[int]) -> None:
    log, columns = Log(happened), Columns(run_of(2))
    page = shown(columns)
    for cut in (*sorted(min(cut, len(happened)) for cut in cuts), len(happened)):
        page = joined(page, shown(log.fold(columns, cut), page["total"]))
    whole = shown(Log(happened).fold(Columns(run_of(2)), len(happened)))
    assert page == whole
    beyond = shown(columns, page["total"] + 5)
    assert (beyond["begin"], beyond["place"]) == (page["total"], [])


FITNESS = st.none() | st.integers(-9, 9).map(float)


@given(st.lists(FITNESS, max_size=60), st.integers(1, 20))
def test_each_stretch_keeps_its_best_and_its_worst(values: list[float | None], stretches: int) -> None:
    fitness = np.array([math.nan if value is None else value for value in values])
    kept = extremes(fitness, stretches).tolist()
    for stretch in range(stretches):
        inside = [place for place in range(len(values)) if place * stretches // len(values) == stretch]
        there = [cast(float, values[place]) for place in inside if values[place] is not None]
        left = [cast(float, values[place]) for place in inside if place in kept]
        assert len(left) <= 2
        assert (min(left, default=None), max(left, default=None)) == (
            min(there, default=None),
            max(there, default=None),
        )


@given(st.integers(0, 2**32 - 1), st.integers(100, 300), st.integers(1, 3), st.floats(0, 1))
def test_a_sample_keeps_what_shows_and_is_small(seed: int, points: int, width: int, failing: float) -> None:
    rng = np.random.default_rng(seed)
    rewards = rng.normal(size=(600, width)) + np.linspace(0, rng.integers(0, 20), 600)[:, None]
    failed = rng.random(600) < failing
    rows = [evaluated(place + 1, None if failed[place] else tuple(rewards[place].tolist())) for place in range(600)]
    columns = Log(rows).fold(Columns(run_of(width)), 600)
    found = draw(columns, points=points)
    assert (found.sampled, found.total, found.begin) == (True, 600, 0)
    places = found.places.tolist()
    assert places == sorted(set(places))
    best, records = -math.inf, []
    for place, worth in enumerate(columns.fitness.tolist()):
        if worth > best:
            best = worth
            records.append(place)
    assert set(records) <= set(places)
    assert 599 in places
    assert len(places) <= max(points, points * 6 // 10 + len(records) + 1 + points // 4)
    assert min(points // 10, failed.sum()) <= np.isnan(found.fitness).sum()
    front = columns.front().tolist()
    if width > 1 and len(front) <= points // 4:
        assert set(front) <= set(places)
    whole = draw(columns)
    for name in ("numbers", "parents", "fitness", "seconds"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name)[places])
    assert draw(columns, after=1, points=points).places.tolist() == list(range(1, 600))
    assert not draw(columns, points=600).sampled


@given(st.lists(st.integers(0, 99), unique=True).map(sorted), st.integers(1, 30))
def test_some_of_many_are_spread_over_them(places: list[int], maximum: int) -> None:
    some = evenly(np.array(places, dtype=np.intp), maximum).tolist()
    assert len(some) == min(maximum, len(places))
    assert set(some) <= set(places)
    gaps = np.diff([places.index(one) for one in some] + [len(places)])
    assert not some or max(gaps) - min(gaps) <= 1


@given(st.floats(-1e300, 1e300) | st.floats(-10, 10) | st.integers(-(10**9), 10**9).map(float))
def test_numbers_are_told_to_seven_digits(value: float) -> None:
    (found,) = rounded(np.array([value])).tolist()
    assert found == pytest.approx(value, rel=5.0001e-7)
    if 1e-15 < abs(value) < 1e15:
        assert found == float(f"{found:.7g}")


@pytest.mark.parametrize("value", [0.0, -0.0, math.inf, -math.inf, 5e-324, 1e23, 0.1, 123456.75])
def test_numbers_that_have_no_more_digits_stay(value: float) -> None:
    assert rounded(np.array([value, math.nan]))[0] == pytest.approx(value, rel=1e-6)
    assert math.isnan(rounded(np.array([math.nan]))[0])


def test_of_many_marks_the_newest_are_told() -> None:
    paused = Event.stored(EventKind.RUN_PAUSED, payload={"by": "me"})
    happened = [
        LoggedEvent(run_id="run_1", sequence=sequence, at=START + timedelta(seconds=sequence), event=paused)
        for sequence in range(1, MAX_MARKS + 4)
    ]
    found = shown(Log(happened).fold(Columns(run_of(1)), len(happened)))
    assert [mark["at"] for mark in found["marks"]] == [rfc3339(one.at) for one in happened[3:]]


def test_columns_know_what_they_take() -> None:
    rows = [evaluated(sequence, (1.0, 2.0), candidate_id=f"cnd_{sequence:032x}") for sequence in range(1, 5001)]
    log, names = Log(rows), [one.candidate_id for one in rows]
    tracemalloc.start()
    try:
        columns = log.fold(Columns(run_of(2)), len(rows))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    texts = sum(name.__sizeof__() for name in names)  # told by the log, and held by the columns from then on
    assert columns.size == pytest.approx(taken + texts, rel=0.35)
