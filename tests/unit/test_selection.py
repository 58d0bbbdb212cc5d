"""Selections follow their published distributions."""

import numpy as np
import pytest

from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError
from evolve.population import Population
from evolve.selection import REGISTRY, draw_selection, select_dirichlet
from tests.unit.individuals import individual


def population(fitness: list[float], rewards: list[tuple[float, ...]] | None = None) -> Population:
    rewards = rewards or [(value,) for value in fitness]
    members = Population(len(rewards[0]))
    for place, (value, reward) in enumerate(zip(fitness, rewards, strict=True)):
        members.add(individual(f"m{place}", value, reward))
    return members


def draw(name: str, members: Population, times: int, seed: int, alpha: float = 1.0) -> list[int]:
    rng = np.random.default_rng(seed)
    return [REGISTRY[name](members, rng, alpha).place for _ in range(times)]


def test_power_law_draws_rank_r_in_proportion_to_r_to_the_minus_alpha() -> None:
    drawn = draw("power_law", population([3.0, 1.0, 2.0, 0.0]), 20_000, seed=1)
    total = 1 + 1 / 2 + 1 / 3 + 1 / 4
    expected = np.array([1, 1 / 3, 1 / 2, 1 / 4]) / total
    assert np.bincount(drawn, minlength=4) / 20_000 == pytest.approx(expected, abs=0.015)


def test_a_steeper_power_law_prefers_the_best_more() -> None:
    members = population([float(i) for i in range(20)])
    flat, steep = (draw("power_law", members, 4000, seed=2, alpha=alpha).count(19) / 4000 for alpha in (0.1, 3.0))
    assert flat < 0.1
    assert steep > 0.7


def test_tournament_draws_the_best_of_four() -> None:
    drawn = draw("tournament", population([float(i) for i in range(10)]), 20_000, seed=3)
    assert drawn.count(9) / 20_000 == pytest.approx(1 - 0.9**4, abs=0.015)


def test_dirichlet_finds_every_corner_of_a_front_and_hardly_a_dominated_member() -> None:
    members = population([0.0] * 4, [(1.0, 0.0), (0.0, 1.0), (0.75, 0.75), (0.1, 0.1)])
    rng = np.random.default_rng(4)
    drawn = [select_dirichlet(members, rng, 1.0) for _ in range(4000)]
    counts = np.bincount([chosen.place for chosen in drawn], minlength=4) / 4000
    # The corner wins where its weight exceeds 3/4, the middle elsewhere: a quarter, a quarter and a half of Dir(1).
    assert counts[:3] == pytest.approx([0.25, 0.25, 0.5], abs=0.05)
    assert counts[3] < 0.005
    assert all(sum(chosen.weights) == pytest.approx(1.0) for chosen in drawn)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_selection_takes_a_single_member_and_members_alike(name: str) -> None:
    assert draw(name, population([1.0]), 3, seed=5) == [0, 0, 0]
    assert set(draw(name, population([1.0, 1.0]), 200, seed=5)) == {0, 1}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_selection_is_a_function_of_its_generator(name: str) -> None:
    members = population([float(i % 7) for i in range(50)])
    assert draw(name, members, 10, seed=6) == draw(name, members, 10, seed=6)


def test_a_mix_draws_by_share() -> None:
    rng = np.random.default_rng(7)
    drawn = [draw_selection({"tournament": 3.0, "power_law": 1.0}, rng) for _ in range(4000)]
    assert drawn.count("tournament") / 4000 == pytest.approx(0.75, abs=0.03)


def test_an_unknown_selection_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="dirichlet, power_law, tournament"):
        RunConfig(selection={"roulette": 1.0})
