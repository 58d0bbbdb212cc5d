"""Whatever the members are, a selection chooses one of them, and never one that its rule forbids."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.archives.population import Population
from evolve.lineage import Lineage
from evolve.multiobjective.pareto import crowding, ranks
from evolve.problem import MAX_MAGNITUDE
from evolve.selection import REGISTRY, ArchiveView, SelectionParams
from evolve.selection.case_table import CaseTable
from tests.unit.individuals import individual
from tests.unit.selecting import choose, view_of

if TYPE_CHECKING:
    from evolve.proposal import Individual

VALUES = st.sampled_from(
    [0.0, -0.0, 1.0, 0.5, -MAX_MAGNITUDE, MAX_MAGNITUDE, MAX_MAGNITUDE**2, 1e-300, 5e-324]
) | st.floats(-10, 10)
ROWS = st.integers(1, 5).flatmap(
    lambda k: st.lists(st.lists(VALUES, min_size=k, max_size=k).map(tuple), min_size=1, max_size=12)
)
GRID = st.integers(1, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 4).map(float), min_size=k, max_size=k).map(tuple), min_size=1, max_size=14
    )
)
CASES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]), max_size=6)
KNOBS = st.builds(
    SelectionParams,
    dirichlet_alpha=st.sampled_from([1e-300, 0.5, 1.0, 1e90]),
    objective_weights=st.dictionaries(st.sampled_from(["o0", "o1"]), st.sampled_from([5e-324, 1.0, MAX_MAGNITUDE])),
    power_law_exponent=st.sampled_from([0.0, 1e-300, 0.5, 1e90]),
    exploration=st.sampled_from([0.0, 1.0, MAX_MAGNITUDE]),
    cases=st.sampled_from([1e-9, 0.25, 1.0]),
)


@pytest.mark.parametrize("name", sorted(REGISTRY))
@given(rows=ROWS, data=st.data(), seed=st.integers(0, 1000), params=KNOBS)
@settings(max_examples=40, deadline=None)
def test_the_place_is_one_of_the_view(
    name: str, rows: list[tuple[float, ...]], data: st.DataObject, seed: int, params: SelectionParams
) -> None:
    many = st.lists(VALUES.filter(lambda value: abs(value) <= MAX_MAGNITUDE), min_size=len(rows), max_size=len(rows))
    cases = data.draw(st.none() | st.lists(CASES, min_size=len(rows), max_size=len(rows)))
    reference = data.draw(st.none() | st.just((0.0,) * len(rows[0])))
    view = view_of(data.draw(many), rows, cases=cases, reference=reference)
    assert all(0 <= chosen.place < len(rows) for chosen in choose(name, view, 5, seed, params))


@given(rows=GRID, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_lexicase_never_chooses_who_is_more_than_epsilon_worse_than_another_at_every_case(
    rows: list[tuple[float, ...]], seed: int
) -> None:
    results = np.array(rows)
    epsilons = np.median(np.abs(results - np.median(results, axis=0)), axis=0)
    for chosen in choose("lexicase", view_of([0.0] * len(rows), rows), 20, seed):
        assert not (results > results[chosen.place] + epsilons).all(axis=1).any()


@given(rows=GRID, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_nsga2_tells_the_rank_and_the_crowding_within_it(rows: list[tuple[float, ...]], seed: int) -> None:
    layers, rewards = ranks(np.array(rows)), np.array(rows)
    for chosen in choose("nsga2", view_of([0.0] * len(rows), rows), 10, seed):
        layer = layers == layers[chosen.place]
        alone = crowding(rewards[layer])[np.flatnonzero(layer).tolist().index(chosen.place)]
        assert chosen.rationale["rank"] == layers[chosen.place]
        assert chosen.rationale["crowding"] == (pytest.approx(alone, rel=1e-5) if np.isfinite(alone) else None)


@given(rows=GRID, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_nsga3_tells_the_rank_and_a_direction(rows: list[tuple[float, ...]], seed: int) -> None:
    layers = ranks(np.array(rows))
    for chosen in choose("nsga3", view_of([0.0] * len(rows), rows), 10, seed):
        assert chosen.rationale["rank"] == layers[chosen.place]
        assert sum(chosen.rationale["direction"]) == pytest.approx(1.0, abs=1e-4)


@given(st.lists(st.tuples(CASES, st.sampled_from(["add", "remove", "replace", "read"])), max_size=40))
@settings(deadline=None)
def test_a_table_of_cases_is_what_the_members_bring_however_they_came(
    changes: list[tuple[Mapping[str, float], str]],
) -> None:
    members = Population(1)
    table = CaseTable(members)
    for number, (cases, change) in enumerate(changes):
        place = number % max(1, len(members))
        if change == "add" or not len(members):
            members.add(with_cases(f"i{number}", cases))
        elif change == "remove":
            members.remove(members[place].candidate_id)
        elif change == "replace":
            members.replace(with_cases(members[place].candidate_id, cases))
        if change == "read":
            check(table, members)
    check(table, members)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
@settings(deadline=None)
def test_standings_are_those_of_the_members_however_they_came_and_went(changes: list[bool]) -> None:
    view, lineage = view_of([0.0]), Lineage()
    lineage.evaluate("m0", 0, 0.0, (0.0,))
    view = ArchiveView(view.members, lineage, ["o0"])
    for number, comes in enumerate(changes, start=1):
        lineage.propose(number, f"m{number // 2 if number > 1 else 0}")
        lineage.evaluate(f"m{number}", number, float(number), (float(number),))
        if not comes and len(view) > 1:
            view.members.remove(view.members[number % len(view)].candidate_id)
        view.members.add(individual(f"m{number}", float(number)))
        expected = [lineage.standing(member.candidate_id) for member in view.members]
        assert view.visits.tolist() == [standing.visits for standing in expected]
        assert view.expansions.tolist() == [standing.expansions for standing in expected]
        assert view.descended.tolist() == [standing.best for standing in expected]


def with_cases(name: str, cases: Mapping[str, float]) -> "Individual":
    one = individual(name, 0.0)
    return replace(one, evaluation=replace(one.evaluation, cases=cases))


def check(table: CaseTable, members: Population) -> None:
    held = [member.evaluation.cases for member in members]
    expected = [name for name in "abcdef" if 2 * sum(name in cases for cases in held) >= max(1, len(held))]
    names, values = table.read()
    assert list(names) == expected
    assert values.tolist() == [[cases.get(name, -np.inf) for name in expected] for cases in held]
