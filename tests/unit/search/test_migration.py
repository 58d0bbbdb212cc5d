"""Migration: where migrants go, who they are, and whom an island that stands still begins anew from."""

from collections import Counter
from dataclasses import replace

import pytest

from evolve.archives import add
from evolve.archives.population import Population
from evolve.configuration import ArchiveConfig, RunConfig
from evolve.proposal import Individual
from evolve.search.islands import Island
from evolve.search.migration import migrants, survivor, targets
from evolve.search.state import SearchState
from tests.fakes.world import toy_problem
from tests.unit.individuals import individual

CONFIG = RunConfig(islands=5, archive=ArchiveConfig(kind="top"))


def islands_of(config: RunConfig, *best: float) -> list[Island]:
    """Islands of which each holds one individual of a fitness."""
    islands = SearchState(toy_problem(), config).islands
    for island, fitness in zip(islands, best, strict=True):
        add(island.archive, individual(f"of{island.number}", fitness))
        island.credit(fitness)
    return islands


def population(*members: Individual) -> Population:
    held = Population(len(members[0].rewards) if members else 1)
    for member in members:
        held.add(member)
    return held


def names(individuals: object) -> list[str]:
    return [one.candidate_id for one in individuals]  # type: ignore[attr-defined]  # any sequence of them


@pytest.mark.parametrize(
    ("topology", "expected"), [("ring", [4]), ("full", [4, 0, 1, 2]), ("none", [])], ids=["ring", "full", "none"]
)
def test_migrants_go_where_the_topology_says(topology: str, expected: list[int]) -> None:
    island = islands_of(CONFIG, 0, 0, 0, 0, 0)[3]
    assert targets(island, 5, replace(CONFIG, topology=topology)) == expected


def test_an_island_alone_sends_nobody() -> None:
    (island,) = islands_of(replace(CONFIG, islands=1), 0)
    for topology in ("ring", "full", "random", "none"):
        assert targets(island, 1, replace(CONFIG, islands=1, topology=topology)) == []


def test_a_random_target_is_any_other_island_and_a_matter_of_seed_and_count() -> None:
    config = replace(CONFIG, topology="random")
    island = islands_of(config, 0, 0, 0, 0, 0)[3]
    drawn = []
    for count in range(0, 20_000, 50):
        island.evaluated = count
        drawn += targets(island, 5, config)
        assert targets(island, 5, config) == drawn[-1:]
    counts = Counter(drawn)
    assert set(counts) == {0, 1, 2, 4}
    assert min(counts.values()) > 70  # 100 expected, with a standard deviation of 8.7
    other = []
    for count in range(0, 20_000, 50):
        island.evaluated = count
        other += targets(island, 5, replace(config, seed=1))
    assert other != drawn


def test_the_share_that_migrates_is_rounded_up_and_none_leaves_at_rate_0() -> None:
    members = population(*(individual(str(i), float(i)) for i in range(11)))
    empty = Population(1)
    assert names(migrants(members, empty, replace(CONFIG, migration_rate=0.1))) == ["10", "9"]
    assert migrants(members, empty, replace(CONFIG, migration_rate=0.0)) == []
    for choice in ("best", "front", "most_novel"):
        assert not migrants(empty, members, replace(CONFIG, migrants=choice))


def test_the_best_that_are_there_already_count_for_the_share_and_do_not_leave() -> None:
    members = population(*(individual(str(number), float(number)) for number in range(10)))
    receiver = population(individual("9", 9.0), individual("other", 20.0))
    assert names(migrants(members, receiver, replace(CONFIG, migration_rate=0.3))) == ["8", "7"]


def test_migrants_of_a_front_are_non_dominated_and_the_ends_of_it_come_first() -> None:
    members = population(
        individual("left", 1.0, (0.0, 1.0)),
        individual("right", 1.0, (1.0, 0.0)),
        individual("middle", 1.2, (0.6, 0.6)),
        individual("near", 1.21, (0.61, 0.6 - 1e-3)),
        individual("beaten", 1.1, (0.5, 0.5)),
    )
    chosen = migrants(members, Population(2), replace(CONFIG, migrants="front", migration_rate=1.0))
    assert set(names(chosen)) == {"left", "right", "middle", "near"}
    assert set(names(chosen)[:2]) == {"left", "right"}


def test_the_rarest_are_far_from_the_receiver_and_of_the_fitter_half() -> None:
    def at(name: str, fitness: float, place: float) -> Individual:
        return individual(name, fitness, measures={"m": place})

    members = population(at("same", 9.0, 0.0), at("far", 8.0, 7.0), at("near", 7.0, 1.0), at("weak", 0.0, 99.0))
    receiver = population(*(at(f"r{i}", float(i), i / 10) for i in range(5)))
    config = replace(CONFIG, migrants="most_novel", migration_rate=0.25)
    assert names(migrants(members, receiver, config)) == ["far"]
    assert names(migrants(members, receiver, replace(config, migration_rate=1.0))) == ["far", "same"]
    assert names(migrants(members, Population(1), config)) == ["same"]


def test_without_measures_rarity_is_that_of_the_rewards() -> None:
    members = population(
        individual("a", 1.0, (0.9, 0.1)), individual("b", 1.0, (0.1, 0.9)), individual("c", 0.0, (0.0, 0.0))
    )
    receiver = population(individual("r", 1.0, (0.2, 0.8)))
    config = replace(CONFIG, migrants="most_novel", migration_rate=1.0)
    assert names(migrants(members, receiver, config)) == ["a", "b"]


def test_an_island_begins_anew_from_the_best_unless_it_is_ahead() -> None:
    islands = islands_of(CONFIG, 1.0, 5.0, 3.0, 4.0, 2.0)
    found = survivor(islands[0], islands[1:], CONFIG)
    assert found is not None
    assert found.candidate_id == "of1"
    assert survivor(islands[1], [islands[0], *islands[2:]], CONFIG) is None


def test_a_survivor_of_the_better_half_is_any_of_it_and_never_worse_than_the_island() -> None:
    config = replace(CONFIG, reset_from="better_half")
    islands = islands_of(config, 1.0, 5.0, 3.0, 4.0, 2.0)

    def drawn(place: int) -> Counter[str]:
        found: Counter[str] = Counter()
        for islands[place].evaluated in range(100):
            founder = survivor(islands[place], [one for one in islands if one is not islands[place]], config)
            found[founder.candidate_id if founder else ""] += 1
        return found

    assert set(drawn(0)) == {"of1", "of3"}  # of 5, 4, 3 and 2
    assert set(drawn(3)) == {"of1"}  # of 5 and 3, of which 3 is less than its own 4
    assert set(drawn(1)) == {""}
