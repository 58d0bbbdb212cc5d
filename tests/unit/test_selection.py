"""Selections follow their published distributions."""

import itertools
import json
import math
import statistics
import sys
from typing import Any

import numpy as np
import pytest

from evolve.configuration import SELECTIONS, RunConfig, SelectionOptions
from evolve.errors import ConfigurationError
from evolve.lineage import Lineage
from evolve.problem import MAX_MAGNITUDE
from evolve.selection import REGISTRY, SelectionParams, draw_selection
from evolve.selection.fronts import directions
from tests.unit.selecting import choose, shares, view_of

DRAWS, NEAR = 8_000, 0.022  # four standard deviations at the most


def exponent(value: float) -> SelectionParams:
    return SelectionParams(power_law_exponent=value)


HARMONIC = exponent(1.0)


def draw(name: str, fitness: list[float], times: int, seed: int, params: SelectionParams = HARMONIC) -> list[int]:
    return [chosen.place for chosen in choose(name, view_of(fitness), times, seed, params)]


def test_power_law_draws_rank_r_in_proportion_to_r_to_the_minus_exponent() -> None:
    drawn = draw("power_law", [3.0, 1.0, 2.0, 0.0], 20_000, seed=1)
    total = 1 + 1 / 2 + 1 / 3 + 1 / 4
    expected = np.array([1, 1 / 3, 1 / 2, 1 / 4]) / total
    assert np.bincount(drawn, minlength=4) / 20_000 == pytest.approx(expected, abs=0.015)


def test_a_steeper_power_law_prefers_the_best_more() -> None:
    fitness = [float(i) for i in range(20)]
    flat, steep = (
        draw("power_law", fitness, 4000, seed=2, params=exponent(value)).count(19) / 4000 for value in (0.1, 3.0)
    )
    assert flat < 0.1
    assert steep > 0.7


def test_the_power_law_falls_with_the_square_of_the_rank_by_itself() -> None:
    view = view_of([float(i) for i in range(20)])
    plain, squares = (choose("power_law", view, 500, 2, one) for one in (SelectionParams(), exponent(2.0)))
    assert plain == squares != choose("power_law", view, 500, 2, exponent(1.0))


def test_the_weights_of_dirichlet_are_uniform_on_the_simplex_by_themselves() -> None:
    view = view_of([0.5, 0.5], [(1.0, 0.0), (0.0, 1.0)])
    plain, uniform, equal = (
        [chosen.weights for chosen in choose("dirichlet", view, 50, 2, params)]
        for params in (SelectionParams(), SelectionParams(dirichlet_alpha=1.0), SelectionParams(dirichlet_alpha=2.0))
    )
    assert plain == uniform != equal


@pytest.mark.parametrize(
    ("weights", "mean"), [({"o1": 3.0}, (0.2, 0.6, 0.2)), ({"o0": 0.0, "o2": 4.0}, (0.0, 0.2, 0.8)), ({}, (1 / 3,) * 3)]
)
def test_the_mean_of_the_weights_of_dirichlet_is_in_proportion_to_those_of_the_objectives(
    weights: dict[str, float], mean: tuple[float, ...]
) -> None:
    view = view_of([0.5] * 3, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
    params = SelectionParams(objective_weights=weights)
    drawn = np.array([chosen.weights for chosen in choose("dirichlet", view, DRAWS, 5, params)])
    assert drawn.mean(axis=0) == pytest.approx(np.array(mean), abs=NEAR)
    # Var(w_i) = m_i (1 - m_i) / (alpha k + 1): the concentration of all objectives together stays.
    assert drawn.var(axis=0) == pytest.approx(np.array(mean) * (1 - np.array(mean)) / 4, abs=0.01)


def test_the_weights_of_objectives_are_those_of_the_problem_and_leave_one() -> None:
    options = SelectionOptions(objective_weights={"speed": 0.0, "size": 2.0})
    options.check_objectives(["speed", "size"])
    options.check_objectives([])
    with pytest.raises(ConfigurationError, match="no objective 'size': its objectives are speed, memory"):
        options.check_objectives(["speed", "memory"])
    with pytest.raises(ConfigurationError, match="needs a weight above 0"):
        SelectionOptions(objective_weights={"speed": 0.0}).check_objectives(["speed"])
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(ConfigurationError, match=r"objective_weights\.speed must lie between 0 and"):
            SelectionOptions(objective_weights={"speed": weight})


def test_tournament_draws_the_best_of_four() -> None:
    drawn = draw("tournament", [float(i) for i in range(10)], 20_000, seed=3)
    assert drawn.count(9) / 20_000 == pytest.approx(1 - 0.9**4, abs=0.015)


def test_uniform_draws_each_as_often_as_the_others() -> None:
    assert shares("uniform", view_of([0.0, 1e9, -5.0, 2.0]), DRAWS, seed=3) == pytest.approx([0.25] * 4, abs=NEAR)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e60])
def test_boltzmann_is_a_softmax_over_the_range_at_its_standard_deviation_whatever_the_scale(scale: float) -> None:
    level = [0.0, 0.25, 0.5, 1.0]
    weights = [math.exp(value / statistics.pstdev(level)) for value in level]
    drawn = shares("boltzmann", view_of([scale * (value - 3) for value in level]), DRAWS, seed=4)
    assert drawn == pytest.approx([weight / sum(weights) for weight in weights], abs=NEAR)


def test_offspring_weighs_fitness_against_children() -> None:
    lineage = Lineage()
    fitness, children = [1.0, 2.0, 3.0, 4.0, 5.0], [0, 1, 0, 4, 2]
    for place, value in enumerate(fitness):
        lineage.evaluate(f"m{place}", 0, value, (value,))
    number = 0
    for place, count in enumerate(children):
        for _ in range(count):
            number += 1
            lineage.propose(number, f"m{place}")
            lineage.evaluate(f"c{number}", number, None, ())
    # Median 3, and the median of the distances 2, 1, 0, 1, 2 from it is 1.
    weights = [1 / (1 + math.exp(-10 * (f - 3))) / (1 + c) for f, c in zip(fitness, children, strict=True)]
    drawn = shares("offspring", view_of(fitness, lineage=lineage), DRAWS, seed=5)
    assert drawn == pytest.approx([weight / sum(weights) for weight in weights], abs=NEAR)


def test_offspring_tells_the_median_from_what_is_above_it_where_most_are_equal() -> None:
    drawn = shares("offspring", view_of([1.0, 1.0, 1.0, 2.0, 0.0]), DRAWS, seed=6)
    assert drawn == pytest.approx([0.2, 0.2, 0.2, 0.4, 0.0], abs=NEAR)


def test_dirichlet_finds_every_corner_of_a_front_and_hardly_a_dominated_member() -> None:
    view = view_of([0.0] * 4, [(1.0, 0.0), (0.0, 1.0), (0.75, 0.75), (0.1, 0.1)])
    drawn = choose("dirichlet", view, 4000, seed=4)
    counts = np.bincount([chosen.place for chosen in drawn], minlength=4) / 4000
    # The corner wins where its weight exceeds 3/4, the middle elsewhere: a quarter, a quarter and a half of Dir(1).
    assert counts[:3] == pytest.approx([0.25, 0.25, 0.5], abs=0.05)
    assert counts[3] < 0.005
    assert all(sum(chosen.weights) == pytest.approx(1.0) for chosen in drawn)


RESULTS = [
    {"a": 1.0, "b": 0.0, "c": 0.2},
    {"a": 0.9, "b": 0.6, "c": 0.3},
    {"a": 0.2, "b": 1.0, "c": 0.3},
    {"a": 0.5, "b": 0.5, "c": 0.5},
    {"a": 0.1, "b": 0.2, "c": 1.0},
]


def lexicase_by_hand(results: list[dict[str, float]]) -> list[float]:
    """Every order of the cases, each as likely; the epsilon of a case is the MAD of its column."""
    names = sorted(results[0])
    columns = {name: [result[name] for result in results] for name in names}
    mads = {
        name: statistics.median(abs(value - statistics.median(column)) for value in column)
        for name, column in columns.items()
    }
    chances = [0.0] * len(results)
    orders = list(itertools.permutations(names))
    for order in orders:
        pool = list(range(len(results)))
        for name in order:
            best = max(columns[name][place] for place in pool)
            pool = [place for place in pool if columns[name][place] >= best - mads[name]]
        for place in pool:
            chances[place] += 1 / len(pool) / len(orders)
    return chances


def test_lexicase_takes_the_cases_in_every_order() -> None:
    drawn = shares("lexicase", view_of([0.0] * 5, cases=RESULTS), DRAWS, seed=7)
    assert drawn == pytest.approx(lexicase_by_hand(RESULTS), abs=NEAR)


def test_lexicase_over_rewards_where_there_are_no_cases() -> None:
    rewards = [(result["a"], result["b"], result["c"]) for result in RESULTS]
    drawn = choose("lexicase", view_of([0.0] * 5, rewards), DRAWS, seed=8)
    counts = np.bincount([chosen.place for chosen in drawn], minlength=5) / DRAWS
    assert counts == pytest.approx(lexicase_by_hand(RESULTS), abs=NEAR)
    assert {name for chosen in drawn for name in chosen.rationale["cases"]} == {"o0", "o1", "o2"}


def test_downsampled_lexicase_draws_its_cases_anew() -> None:
    view = view_of([0.0] * 5, cases=RESULTS)
    drawn = shares("downsampled_lexicase", view, DRAWS, seed=9, params=SelectionParams(cases=0.34))  # two of three
    expected = np.mean(
        [
            lexicase_by_hand([{name: result[name] for name in pair} for result in RESULTS])
            for pair in ("ab", "ac", "bc")
        ],
        axis=0,
    )
    assert drawn == pytest.approx(expected, abs=NEAR)
    all_of_them = shares("downsampled_lexicase", view, DRAWS, seed=9, params=SelectionParams(cases=1.0))
    assert all_of_them == pytest.approx(lexicase_by_hand(RESULTS), abs=NEAR)
    single = choose("downsampled_lexicase", view, 50, seed=9, params=SelectionParams(cases=1e-9))
    assert max(len(chosen.rationale["cases"]) for chosen in single) == 1


def test_a_case_that_a_member_lacks_is_one_that_it_fails() -> None:
    cases = [{"a": 0.0, "b": 1.0}, {"b": 1.0}, {"a": 0.0, "b": 1.0}, {"a": 0.0, "b": 0.0, "rare": 1.0}]
    drawn = shares("lexicase", view_of([0.0] * 4, cases=cases), 4000, seed=10)
    assert drawn == pytest.approx([0.5, 0, 0.5, 0], abs=0.03)


def test_nsga2_takes_the_lower_rank_and_then_the_less_crowded() -> None:
    # One front of four, of which the second is the most crowded, and one member behind it.
    rewards = [(0.0, 10.0), (1.0, 9.0), (2.0, 7.0), (10.0, 0.0), (0.0, 0.0)]
    drawn = choose("nsga2", view_of([0.0] * 5, rewards), DRAWS, seed=11)
    counts = np.bincount([chosen.place for chosen in drawn], minlength=5) / DRAWS
    # In order: the two ends, as good as each other, then 18/10 against 5/10 apart, then the second rank.
    wins = {
        pair: min(pair, key=lambda p: {0: 0, 3: 0, 2: 1, 1: 2, 4: 3}[p])
        for pair in itertools.product(range(5), repeat=2)
    }
    expected = np.bincount(list(wins.values()), minlength=5) / 25
    assert counts == pytest.approx(expected, abs=NEAR)
    assert {chosen.place: chosen.rationale for chosen in drawn} == {
        0: {"rank": 0, "crowding": None},
        1: {"rank": 0, "crowding": pytest.approx(2 / 10 + 3 / 10)},
        2: {"rank": 0, "crowding": pytest.approx(9 / 10 + 9 / 10)},
        3: {"rank": 0, "crowding": None},
        4: {"rank": 1, "crowding": 0.0},
    }


def test_crowding_within_a_tiny_rank_beside_a_far_one_is_finite_arithmetic() -> None:
    view = view_of(
        [0.0] * 4, [(5e-324, -1.0), (0.0, 0.0), (-MAX_MAGNITUDE, -MAX_MAGNITUDE), (-MAX_MAGNITUDE, -MAX_MAGNITUDE)]
    )
    drawn = choose("nsga2", view, 20, seed=3)
    assert {chosen.place for chosen in drawn} <= {0, 1, 2, 3}
    assert all(chosen.rationale["crowding"] is None for chosen in drawn if chosen.place < 2)


@pytest.mark.parametrize(("k", "count"), [(1, 1), (2, 100), (3, 91), (4, 84), (5, 70 + 35), (8, 36 + 8), (200, 200)])
def test_directions_are_the_lattice_of_das_and_dennis(k: int, count: int) -> None:
    points = directions(k)
    assert len(points) == count
    assert len(np.unique(points.round(9), axis=0)) == count
    assert points.sum(axis=1) == pytest.approx(np.ones(count))
    assert (points >= 0).all()


def test_nsga3_serves_every_direction_alike_and_in_it_the_lower_rank_then_the_nearer() -> None:
    # In three objectives, losses over the range: three corners and a crowd on one edge, behind a member of the front.
    rewards = [(1.0, 1.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.5, 0.5, 1.0), (0.4, 0.4, 1.0), (0.49, 0.5, 1.0)]
    view = view_of([0.0] * 6, rewards)
    drawn = choose("nsga3", view, DRAWS, seed=12)
    counts = np.bincount([chosen.place for chosen in drawn], minlength=6) / DRAWS
    # Four directions; in the crowd of three the best wins unless neither of two draws is it.
    assert counts == pytest.approx([1 / 4, 1 / 4, 1 / 4, 5 / 36, 1 / 36, 3 / 36], abs=NEAR)
    assert drawn[0].rationale["rank"] == 0
    told = {tuple(chosen.rationale["direction"]) for chosen in drawn if chosen.place == 0}
    assert told == {(0.0, 0.0, 1.0)}


def test_hypervolume_draws_in_proportion_to_what_would_be_lost() -> None:
    # From (0, 0), the staircase (1, 4), (3, 3), (4, 1) has the corners 1 x 1, 2 x 2 and 1 x 1.
    rewards = [(1.0, 4.0), (3.0, 3.0), (4.0, 1.0), (2.0, 2.0)]
    view = view_of([0.0] * 4, rewards, reference=(0.0, 0.0))
    assert shares("hypervolume", view, DRAWS, seed=13) == pytest.approx([1 / 6, 4 / 6, 1 / 6, 0], abs=NEAR)
    twins = view_of([0.0] * 3, [(1.0, 4.0), (3.0, 3.0), (3.0, 3.0)], reference=(0.0, 0.0))
    # Together the twins hold 2 x 3, the other 1 x 1.
    assert shares("hypervolume", twins, DRAWS, seed=13) == pytest.approx([1 / 7, 3 / 7, 3 / 7], abs=NEAR)


def test_hypervolume_without_a_reference_reaches_a_tenth_of_the_range_below_the_worst() -> None:
    # From (0.9, -0.1): corners of 0.1 x 1 and 1 x 0.1 either side of 1 x 1.
    drawn = shares("hypervolume", view_of([0.0] * 2, [(1.0, 1.0), (2.0, 0.0)]), DRAWS, seed=14)
    assert drawn == pytest.approx([1 / 2, 1 / 2], abs=NEAR)
    nowhere = view_of([0.0] * 2, [(1.0, 1.0), (2.0, 0.0)], reference=(5.0, 5.0))
    assert shares("hypervolume", nowhere, DRAWS, seed=14) == pytest.approx([1 / 2, 1 / 2], abs=NEAR)


@pytest.mark.parametrize("library", ["moocore", "none"])
@pytest.mark.parametrize("k", [4, 5, 7])
def test_hypervolume_of_many_objectives_is_computed_or_sampled_anew_for_each_choice(
    k: int, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library == "none":
        monkeypatch.setitem(sys.modules, "moocore", None)
    rewards = [*np.where(np.eye(k) > 0, 1.0, 0.5), np.full(k, 0.4)]
    view = view_of([0.0] * (k + 1), rewards, reference=(0.0,) * k)
    # By symmetry all arms have the same volume to themselves.
    assert shares("hypervolume", view, DRAWS, seed=15) == pytest.approx([*[1 / k] * k, 0], abs=NEAR)
    chosen = choose("hypervolume", view, 20, seed=16)
    assert {tuple(one.rationale) for one in chosen} == {("share",) if library == "moocore" and k < 7 else ("sampled",)}
    assert chosen == choose("hypervolume", view, 20, seed=16)


def grown() -> Lineage:
    """m0 -> m1 -> m3, m0 -> m2; a failed proposal from m2; m4 alone."""
    lineage = Lineage()
    lineage.evaluate("m0", 0, 1.0, (1.0,))
    lineage.evaluate("m4", 0, 2.0, (2.0,))
    for number, parent, child, fitness in ((1, "m0", "m1", 2.5), (2, "m0", "m2", 0.0), (3, "m1", "m3", 4.0)):
        lineage.propose(number, parent)
        lineage.await_score(number)
        lineage.evaluate(child, number, fitness, (fitness,))
        lineage.settle(number)
        lineage.settle(number)
    lineage.propose(4, "m2")
    lineage.settle(4)
    return lineage


def puct_by_hand(exploration: float) -> list[float]:
    best = [4.0, 4.0, 0.0, 4.0, 2.0]
    prior = [2 / 15, 4 / 15, 1 / 15, 5 / 15, 3 / 15]
    expansions = [4, 1, 1, 0, 0]  # m0: its own two, and those from m1 and m2
    urge = [exploration * 4.0 * p * math.sqrt(1 + 4) / (1 + n) for p, n in zip(prior, expansions, strict=True)]
    return [q + u for q, u in zip(best, urge, strict=True)]


@pytest.mark.parametrize("exploration", [0.1, 1.0, 30.0])
def test_puct_takes_the_highest_value_of_a_tree_computed_by_hand(exploration: float) -> None:
    view = view_of([1.0, 2.5, 0.0, 4.0, 2.0], lineage=grown())
    values = puct_by_hand(exploration)
    drawn = choose("puct", view, 5, seed=16, params=SelectionParams(exploration=exploration))
    assert {chosen.place for chosen in drawn} == {int(np.argmax(values))}
    told = drawn[0].rationale
    assert told["best"] + told["exploration"] == pytest.approx(max(values), rel=1e-5)
    assert told["expansions"] == 0


def test_puct_without_exploration_draws_among_those_whose_descendants_are_best() -> None:
    view = view_of([1.0, 2.5, 0.0, 4.0, 2.0], lineage=grown())
    drawn = shares("puct", view, 6000, seed=17, params=SelectionParams(exploration=0.0))
    assert drawn == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3, 0], abs=0.03)


def test_puct_lets_what_is_in_flight_and_its_lineage_wait() -> None:
    lineage = grown()
    view = view_of([1.0, 2.5, 0.0, 4.0, 2.0], lineage=lineage)
    greedy = SelectionParams(exploration=0.0)
    lineage.propose(5, "m1")  # with it wait m0 above and m3 below, not m2 beside it
    assert {chosen.place for chosen in choose("puct", view, 50, 18, greedy)} == {4}
    lineage.propose(6, "m4")
    assert {chosen.place for chosen in choose("puct", view, 50, 18, greedy)} == {2}
    lineage.propose(7, "m2")  # nobody is left: all may be chosen
    assert {chosen.place for chosen in choose("puct", view, 200, 18, greedy)} == {0, 1, 3}


def test_ucb_takes_the_highest_bound_computed_by_hand() -> None:
    lineage = Lineage()
    for name, fitness in (("m0", 10.0), ("m1", 10.001), ("m2", 4.0), ("m3", 0.0)):
        lineage.evaluate(name, 0, fitness, (fitness,))
    lineage.propose(1, "m0")
    lineage.settle(1)
    lineage.propose(2, "m2")
    view = view_of([10.0, 10.001, 4.0, 0.0], lineage=lineage)
    level = [10 / 10.001, 1.0, 4 / 10.001, 0.0]
    seen = [3, 3, 2, 1]  # to three digits the first two are one outcome: two results and the start of a proposal
    airborne = [0, 0, 1, 0]
    for exploration in (0.0, 0.5, 1.0, 3.0):
        bounds = [
            u + exploration * (math.sqrt(math.log(1 + 6) / n) - b / 1)
            for u, n, b in zip(level, seen, airborne, strict=True)
        ]
        (chosen,) = choose("ucb", view, 1, seed=19, params=SelectionParams(exploration=exploration))
        assert chosen.place == int(np.argmax(bounds))
        assert (chosen.rationale["seen"], chosen.rationale["in_flight"]) == (seen[chosen.place], airborne[chosen.place])


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_selection_takes_a_single_member_and_members_alike(name: str) -> None:
    assert draw(name, [1.0], 3, seed=5) == [0, 0, 0]
    assert set(draw(name, [1.0, 1.0], 200, seed=5)) == {0, 1}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_selection_is_a_function_of_its_generator(name: str) -> None:
    fitness = [float(i % 7) for i in range(50)]
    assert draw(name, fitness, 10, seed=6) == draw(name, fitness, 10, seed=6)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_why_is_a_few_values_of_json(name: str) -> None:
    names = [f"case {'x' * 400} {number}" for number in range(40)]
    cases = [{case: float((place * 7 + n * 3) % 11) / 11 for n, case in enumerate(names)} for place in range(30)]
    rewards = np.random.default_rng(1).random((30, 4))
    for chosen in choose(name, view_of([float(i) for i in range(30)], rewards.tolist(), cases=cases), 20, seed=7):
        assert len(json.dumps(chosen.rationale, allow_nan=False)) < 600


def test_what_is_remembered_follows_every_change_of_the_members() -> None:
    view = view_of([0.0] * 3, [(1.0, 4.0), (3.0, 3.0), (4.0, 1.0)], reference=(0.0, 0.0))
    assert shares("hypervolume", view, 3000, seed=8)[0] > 0
    view.members.remove("m1")
    # Now (1, 4) and (4, 1): corners 1 x 3 and 3 x 1.
    assert shares("hypervolume", view, 3000, seed=8) == pytest.approx([0.5, 0.5], abs=0.04)


def test_a_mix_draws_by_share() -> None:
    rng = np.random.default_rng(7)
    drawn = [draw_selection({"tournament": 3.0, "power_law": 1.0}, rng) for _ in range(4000)]
    assert drawn.count("tournament") / 4000 == pytest.approx(0.75, abs=0.03)


def test_the_names_of_a_configuration_are_those_of_the_registry() -> None:
    assert tuple(sorted(REGISTRY)) == SELECTIONS


def test_an_unknown_selection_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"boltzmann, dirichlet, .*, uniform"):
        RunConfig(selection={"roulette": 1.0})


@pytest.mark.parametrize("options", [{"exploration": -1.0}, {"exploration": math.inf}, {"cases": 0.0}, {"cases": 1.1}])
def test_an_option_out_of_range_is_refused_by_its_name(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"selection_options.{next(iter(options))} must"):
        SelectionOptions(**options)
