"""A population agrees with a plain list however members come and go."""

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.archive import GridArchive, ParetoArchive, TopArchive
from evolve.population import Population
from evolve.problem import Measure
from tests.unit.individuals import individual

if TYPE_CHECKING:
    from evolve.proposal import Individual

FITNESS = st.floats(-1e6, 1e6).map(lambda value: round(value, 1))


@given(st.lists(st.tuples(FITNESS, st.booleans()), min_size=1, max_size=80))
def test_ranks_arrays_and_lookups_follow_every_change(changes: list[tuple[float, bool]]) -> None:
    members = Population(1)
    plain: list[Individual] = []
    for number, (fitness, remove) in enumerate(changes):
        if remove and plain:
            gone = plain.pop(number % len(plain))
            assert members.remove(gone.candidate_id) is gone
        added = individual(f"i{number}", fitness)
        members.add(added)
        plain.append(added)
    assert len(members) == len(plain)
    expected = sorted(plain, key=lambda one: -(one.fitness or 0))
    assert [members[members.ranked(rank)].fitness for rank in range(len(plain))] == [one.fitness for one in expected]
    assert all(members.get(one.candidate_id) is one for one in plain)
    for place, member in enumerate(members):
        assert members.fitness[place] == member.fitness
        assert tuple(members.rewards[place]) == member.rewards
    lowest = min(one.fitness or 0 for one in plain)
    assert members.worst() is next(one for one in plain if one.fitness == lowest)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=60))
def test_a_pareto_archive_is_an_antichain_that_covers_all_it_was_offered(points: list[tuple[int, int]]) -> None:
    archive = ParetoArchive(2, 100)
    for number, point in enumerate(points):
        archive.add(individual(f"i{number}", 0.0, (float(point[0]), float(point[1]))))
    kept = np.array([member.rewards for member in archive.members]).reshape(-1, 2)
    for row in kept:
        others = kept[np.any(kept != row, axis=1)]
        assert not np.any(np.all(others >= row, axis=1))
    for point in points:
        assert np.any(np.all(kept >= np.array(point), axis=1))


@given(st.lists(FITNESS, max_size=60), st.integers(1, 10))
def test_a_top_archive_holds_the_k_highest(values: list[float], size: int) -> None:
    archive = TopArchive(1, size)
    for number, value in enumerate(values):
        archive.add(individual(f"i{number}", value))
    assert sorted((m.fitness or 0 for m in archive.members), reverse=True) == sorted(values, reverse=True)[:size]


@given(st.lists(st.tuples(FITNESS, st.floats(-1e3, 1e3)), max_size=60))
@settings(deadline=None)
def test_a_grid_never_loses_its_fittest_and_holds_one_member_a_cell(offers: list[tuple[float, float]]) -> None:
    archive = GridArchive(1, [Measure(name="m", bins=5)])
    displaced: set[str] = set()
    kept: set[str] = set()
    for number, (fitness, measure) in enumerate(offers):
        insertion = archive.add(individual(f"i{number}", fitness, measures={"m": measure}))
        kept |= {f"i{number}"} if insertion.kept else set()
        displaced |= set(insertion.displaced)
    assert {member.candidate_id for member in archive.members} == kept - displaced
    assert len(archive.cells) == len(archive.members) <= 5
    if offers:
        assert max(member.fitness or 0 for member in archive.members) == max(fitness for fitness, _ in offers)
