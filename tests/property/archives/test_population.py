"""A population agrees with a plain list however members come and go."""

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.archives import (
    Archive,
    CellArchive,
    CvtPartition,
    DominatedNoveltyArchive,
    GridPartition,
    ParetoArchive,
    TopArchive,
    add,
)
from evolve.archives.centroids import centroids, nearest
from evolve.archives.dominated_novelty import novelty
from evolve.archives.population import Population
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
        add(archive, individual(f"i{number}", 0.0, (float(point[0]), float(point[1]))))
    kept = np.array([member.rewards for member in archive.members]).reshape(-1, 2)
    for row in kept:
        others = kept[np.any(kept != row, axis=1)]
        assert not np.any(np.all(others >= row, axis=1))
    for point in points:
        assert np.any(np.all(kept >= np.array(point), axis=1))


HUGE = st.sampled_from([-1e300, -1e10, -1.0, 0.0, 1e-300, 1.0, 1.0 + 2**-52, 2.0, 3.0, 1e10, 1e300])


@given(st.integers(1, 4).flatmap(lambda k: st.lists(st.tuples(*[HUGE] * k), max_size=40)), st.integers(1, 6))
@settings(deadline=None)
def test_a_front_by_volume_is_a_bounded_antichain_of_what_was_not_let_go(
    points: list[tuple[float, ...]], size: int
) -> None:
    archives = [ParetoArchive(len(points[0]) if points else 1, size, "hypervolume") for _ in range(2)]
    there: set[str] = set()
    for number, point in enumerate(points):
        told, again = (add(archive, individual(f"i{number}", 0.0, point)) for archive in archives)
        assert told == again
        assert set(told.displaced) <= there
        there = (there - set(told.displaced)) | ({f"i{number}"} if told.kept else set())
    members = archives[0].members
    assert {member.candidate_id for member in members} == there
    assert len(members) <= size
    assert sorted(members.ages.tolist()) == sorted(set(members.ages.tolist()))
    by_age = sorted(members, key=lambda member: members.ages[members.place(member.candidate_id)])
    assert [one.candidate_id for one in by_age] == sorted(there, key=lambda name: int(name[1:]))
    scores = members.signed_scores
    assert not any((scores[i] >= scores[j]).all() for i in range(len(scores)) for j in range(len(scores)) if i != j)


@given(st.lists(FITNESS, max_size=60), st.integers(1, 10))
def test_a_top_archive_holds_the_k_highest(values: list[float], size: int) -> None:
    archive = TopArchive(1, size)
    for number, value in enumerate(values):
        add(archive, individual(f"i{number}", value))
    assert sorted((m.fitness or 0 for m in archive.members), reverse=True) == sorted(values, reverse=True)[:size]


@given(st.lists(st.tuples(FITNESS, st.floats(-1e3, 1e3)), max_size=60))
@settings(deadline=None)
def test_a_grid_never_loses_its_fittest_and_holds_one_member_a_cell(offers: list[tuple[float, float]]) -> None:
    archive = CellArchive(1, GridPartition([Measure(name="m", bins=5)]))
    displaced: set[str] = set()
    kept: set[str] = set()
    for number, (fitness, measure) in enumerate(offers):
        insertion = add(archive, individual(f"i{number}", fitness, measures={"m": measure}))
        kept |= {f"i{number}"} if insertion.kept else set()
        displaced |= set(insertion.displaced)
    assert {member.candidate_id for member in archive.members} == kept - displaced
    assert len(archive.cells) == len(archive.members) <= 5
    if offers:
        assert max(member.fitness or 0 for member in archive.members) == max(fitness for fitness, _ in offers)


SPACE = [Measure(name="a", bins=3), Measure(name="b", bins=4, low=0.0, high=1.0)]
UNIT = st.floats(0, 1)
REWARDS = st.tuples(st.integers(0, 5), st.integers(0, 5))
OFFERS = st.lists(st.tuples(REWARDS, st.floats(-9, 9), UNIT), max_size=50)


def offer(archive: Archive, offers: list[tuple[tuple[int, int], float, float]], first: int = 0) -> set[str]:
    """Who should be there, by what the archive said."""
    there = {member.candidate_id for member in archive.members}
    for number, (rewards, a, b) in enumerate(offers, start=first):
        pair = (float(rewards[0]), float(rewards[1]))
        told = add(archive, individual(f"i{number}", sum(pair), pair, {"a": a, "b": b}))
        assert set(told.displaced) <= there
        there -= set(told.displaced)
        there |= {f"i{number}"} if told.kept else set()
    return there


@given(OFFERS, st.integers(1, 6), st.sampled_from([GridPartition(SPACE).size, 2, 9]), st.integers(1, 4))
@settings(deadline=None)
def test_each_cell_holds_a_bounded_antichain_and_what_was_said_of_it_adds_up(
    offers: list[tuple[tuple[int, int], float, float]], seed: int, size: int, front: int
) -> None:
    partition = GridPartition(SPACE) if size == 12 else CvtPartition(SPACE, size, seed)
    archive = CellArchive(2, partition, front)
    there = offer(archive, offers)
    assert {member.candidate_id for member in archive.members} == there
    cells = archive.cells
    assert sorted(name for held in cells.values() for name in held) == sorted(there)
    assert len(cells) <= partition.size
    for cell, held in cells.items():
        assert 1 <= len(held) <= front
        assert all(archive.partition.cell(archive.members.get(name).measures) == cell for name in held)
        rewards = [archive.members.get(name).rewards for name in held]
        assert not any(a != b and all(x >= y for x, y in zip(a, b, strict=True)) for a in rewards for b in rewards)
    if offers and front == 1:
        assert archive.members.best()[0].fitness == max(float(sum(rewards)) for rewards, _, _ in offers)


@given(
    st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=300), st.integers(1, 60), st.integers(1, 2), st.integers(0, 3)
)
@settings(deadline=None)
def test_the_nearest_centre_is_that_of_all_and_one_point_lies_where_many_do(
    points: list[tuple[float, float]], size: int, width: int, seed: int
) -> None:
    values = np.array(points)[:, :width]
    centres = centroids(size, width, seed)
    squares = np.square(values[:, None, :] - centres).sum(axis=2)
    assert nearest(values, centres).tolist() == squares.argmin(axis=1).tolist()
    measures = [Measure(name=name, low=0.0, high=1.0) for name in "ab"[:width]]
    partition = CvtPartition(measures, size, seed)
    one_by_one = [partition.cell(dict(zip("ab", row, strict=False))) for row in values.tolist()]
    assert [tuple(row) for row in partition.cells(values).tolist()] == one_by_one


@given(OFFERS, st.integers(1, 12), st.integers(1, 4))
@settings(deadline=None)
def test_dominated_novelty_kept_up_to_date_is_that_of_its_definition(
    offers: list[tuple[tuple[int, int], float, float]], size: int, neighbours: int
) -> None:
    archive = DominatedNoveltyArchive(2, SPACE, size, neighbours)
    there = offer(archive, offers)
    members = list(archive.members)
    assert {member.candidate_id for member in members} == there
    assert len(members) == min(size, len(offers))
    seen = [a for _, a, _ in offers]
    if not offers:
        return
    span = archive._axes[0].span
    assert span >= max(seen) - min(seen)
    for place, member in enumerate(members):
        age, worth = int(member.candidate_id[1:]), member.fitness or 0.0
        fitter = [one for one in members if (one.fitness or 0.0, int(one.candidate_id[1:])) > (worth, age)]
        distances = sorted(
            np.hypot(
                (one.measures["a"] - member.measures["a"]) / span if span else 0.0,
                one.measures["b"] - member.measures["b"],
            )
            for one in fitter
        )[:neighbours]
        expected = sum(distances) / len(distances) if distances else np.inf
        assert archive.novelty[place] == pytest.approx(expected)
    assert archive.novelty.max() == np.inf
    assert max(member.fitness or 0.0 for member in members) == max(float(sum(rewards)) for rewards, _, _ in offers)


def test_novelty_without_neighbours_is_infinite() -> None:
    assert novelty(np.array([[np.inf, np.inf], [1.0, np.inf], [1.0, 3.0]])).tolist() == [np.inf, 1.0, 2.0]


@given(OFFERS, st.integers(1, 6), st.sampled_from([ParetoArchive, TopArchive]))
@settings(deadline=None)
def test_a_bounded_archive_never_exceeds_its_size_and_what_was_said_of_it_adds_up(
    offers: list[tuple[tuple[int, int], float, float]], size: int, kind: type[ParetoArchive] | type[TopArchive]
) -> None:
    archive = kind(2, size)
    for count in range(len(offers)):
        offer(archive, offers[count : count + 1], count)
        assert len(archive.members) <= size
    assert {member.candidate_id for member in archive.members} == offer(again := kind(2, size), offers)
    assert [member.candidate_id for member in again.members] == [member.candidate_id for member in archive.members]
