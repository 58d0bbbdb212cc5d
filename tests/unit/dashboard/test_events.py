"""Events in words, and which of them an address asks for."""

import json
from typing import Any
from urllib.parse import parse_qs

import pytest

from evolve.identity import candidate_id, candidate_name
from service.dashboard.views.events import MAX_NAMED, EventFilter, candidates_in, line_of, only_of
from service.errors import UsageError

RUN = "run_0190aaaa"
ONE, TWO = candidate_id("run_1", 1, 0), candidate_id("run_1", 12, 3)


def event(kind: str, **told: Any) -> dict[str, Any]:
    return {"schema": 1, "run_id": RUN, "sequence": 9, "kind": kind, "at": "2026-03-01T12:00:00Z", **told}


def test_what_an_event_names_is_linked() -> None:
    line = line_of(
        RUN, event("proposal.created", proposal_number=3, parents=[[ONE, "parent"], [TWO, "crossover"]], island=0)
    )
    links = [(word.name, word.href) for word in line.words if word.href]
    assert links == [
        ("proposal", f"/runs/{RUN}/proposals/3"),
        ("parents", f"/candidates/{ONE}"),
        ("parents", f"/candidates/{TWO}"),
    ]
    assert ("island", "0") in [(word.name, word.text) for word in line.words]


def test_a_text_that_only_looks_like_an_id_is_no_link() -> None:
    line = line_of(RUN, event("proposal.failed", reason="cnd_/../../admin"))
    assert [(word.text, word.href) for word in line.words] == [("cnd_/../../admin", "")]


def test_seeds_come_of_no_proposal() -> None:
    (word,) = line_of(RUN, event("candidate.created", proposal_number=0)).words
    assert (word.name, word.text, word.href) == ("proposal_number", "0", "")


def test_of_many_candidates_some_are_named_and_all_stand_in_the_raw_event() -> None:
    ids = [candidate_id(RUN, number, 0) for number in range(MAX_NAMED + 3)]
    line = line_of(RUN, event("island.migrated", candidate_ids=ids))
    assert len(line.words) == MAX_NAMED + 1
    assert line.words[-1].text == "and 3 more"
    assert json.loads(line.raw)["candidate_ids"] == ids


def test_candidates_are_found_wherever_they_stand() -> None:
    assert list(candidates_in({"a": [[ONE, "parent"]], "b": {"c": TWO}, "d": "cnd_short"})) == [ONE, TWO]


@pytest.mark.parametrize(
    ("told", "holds"),
    [
        (event("individual.inserted", island=1, candidate_id=ONE), True),
        (event("individual.inserted", island=2, candidate_id=ONE), False),
        (event("island.migrated", **{"from": 1, "to": 2}), True),
        (event("budget.extended", **{"from": 1, "to": 2}), False),
    ],
)
def test_only_what_names_an_island_stands_under_it(told: dict[str, Any], holds: bool) -> None:
    assert EventFilter(island="1").holds(told) is holds


@pytest.mark.parametrize("word", [ONE, candidate_name(ONE)])
def test_a_candidate_is_found_by_its_id_and_by_its_name(word: str) -> None:
    assert EventFilter(candidate=word).holds(event("candidate.duplicate", candidate_id=TWO, of=ONE))
    assert not EventFilter(candidate=word).holds(event("best.improved", candidate_id=TWO))


def test_an_address_keeps_what_is_chosen() -> None:
    only = only_of(["best.improved", "run.finished"], "2", " 3f ", 0)
    query = parse_qs(only.query(after=40))
    assert query == {"kind": ["best.improved", "run.finished"], "island": ["2"], "candidate": ["3f"], "after": ["40"]}
    assert EventFilter(after=7).query(after=0) == ""


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(UsageError, match="no events of kind"):
        only_of(["run.exploded"], "", "", 0)
    with pytest.raises(UsageError, match="not an island"):
        only_of([], "two", "", 0)
