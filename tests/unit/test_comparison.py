"""Runs side by side: axes, groups, and what can be told of a lead."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from evolve.statistics.intervals import lead, mean_over_runs
from evolve.statistics.significance import paired_p_value
from service.errors import UsageError
from service.ports import Counters, RunRecord
from service.projections.comparison import Comparison, Order, compare
from service.projections.progress_curve import ProgressCurve, best_so_far
from service.projections.significance import ENOUGH_APART, ENOUGH_PAIRS, Gap, compared, measure

AT = datetime(2026, 3, 1, tzinfo=UTC)


def told_run(seed: int = 0, **changes: Any) -> RunRecord:
    fields: dict[str, Any] = {
        "id": f"run_{changes.get('config', {}).get('strategy', 'islands')}_{seed}",
        "tenant": "default",
        "problem_name": "packing",
        "bundle_hash": "b" * 64,
        "state": "succeeded",
        "desired_state": "running",
        "waiting": None,
        "reason": "evaluations",
        "config": {"strategy": "islands", "archive": {"kind": "grid"}},
        "policies": [{"name": "syntax"}],
        "seed": seed,
        "integrity": "separate",
        "isolation": "strong",
        "objectives": [],
        "known_best": None,
        "source": "",
        "best_candidate_id": None,
        "best_fitness": None,
        "seed_fitness": None,
        "counters": Counters(),
        "sequence": 1,
        "active_seconds": 1.0,
        "created_at": AT,
        "started_at": AT,
        "finished_at": AT,
    }
    return RunRecord(**(fields | changes))


def trail(fitness: Sequence[float], run: RunRecord | None = None, cost: float | None = 0.5) -> ProgressCurve:
    """A run whose every evaluation took a hundred tokens, two seconds, and so much money."""
    steps = np.arange(1.0, len(fitness) + 1)
    used: dict[Any, Any] = {"evaluations": steps, "tokens": 100 * steps, "time": 2 * (steps - 1)}
    if cost is not None:
        used["money"] = cost * steps
    return ProgressCurve(run=run or told_run(), best=best_so_far(fitness), used=used, currency="USD" if cost else "")


def strategies(ahead: Iterable[float], behind: Iterable[float]) -> list[ProgressCurve]:
    """Runs of `islands` and `best_of_n` on seeds 0, 1, ..., by their best at the end; half of that in the middle."""
    plain = {"strategy": "best_of_n", "archive": {"kind": "grid"}}
    return [trail([best / 2, best], told_run(seed)) for seed, best in enumerate(ahead)] + [
        trail([best / 2, best], told_run(seed, config=plain)) for seed, best in enumerate(behind)
    ]


def by_strategy(trails: Sequence[ProgressCurve], **order: Any) -> Comparison:
    return compare(trails, Order(by="strategy", **order))


def test_a_lead_over_paired_seeds_is_told_with_its_interval() -> None:
    # Seeds differ by far more than strategies do: only pairs can tell.
    base = np.arange(8.0)
    gaps = np.array([0.5, 0.7, 0.6, 0.4, 0.5, 0.6, 0.7, 0.8])
    found = by_strategy(strategies(base + gaps, base))
    expected = mean_over_runs(gaps)
    gap = found.leads[0].gaps[-1]
    assert expected is not None
    assert (gap.difference, gap.low, gap.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert (gap.paired, gap.seeds, gap.others, gap.ahead) == (True, 8, 8, 1)
    assert gap.sentence == (
        f"islands is ahead of best_of_n by 0.6 (95 % interval {gap.low:.3g} to {gap.high:.3g}) at 2 evaluations"
        " over 8 seeds"
    )


def test_the_sentence_names_first_who_is_ahead() -> None:
    base = np.arange(8.0)
    gap = by_strategy(strategies(base, base + 1)).leads[0].gaps[-1]
    assert (gap.difference, gap.ahead) == (-1, -1)
    assert gap.sentence.startswith("best_of_n is ahead of islands by 1 (95 % interval 1 to 1)")


def test_seeds_that_do_not_match_are_compared_unpaired() -> None:
    own, their = np.array([3.0, 3.1, 3.2, 3.3]), np.array([1.0, 1.1, 1.2, 1.3])
    plain = {"strategy": "best_of_n"}
    trails = [trail([best], told_run(seed)) for seed, best in enumerate(own)]
    trails += [trail([best], told_run(seed + 100, config=plain)) for seed, best in enumerate(their)]
    gap = by_strategy(trails).leads[0].gaps[-1]
    expected = lead(own, their)
    assert expected is not None
    assert (gap.difference, gap.low, gap.high) == (expected.value, expected.low, expected.high)
    assert (gap.paired, gap.seeds, gap.others, gap.ahead) == (False, 4, 4, 1)
    assert gap.sentence.endswith("over 4 and 4 seeds, unpaired")


def test_no_difference_is_told_where_the_interval_holds_zero() -> None:
    gap = by_strategy(strategies([1, 2, 3, 4, 5, 6.0], [2, 1, 4, 3, 6, 5.0])).leads[0].gaps[-1]
    assert (gap.ahead, gap.difference) == (0, 0)
    assert gap.sentence.startswith("no measurable difference between islands and best_of_n at 2 evaluations")


def families(count: int, groups: int, seeds: int) -> list[list[Gap]]:
    """All pairs of groups that differ by luck alone, again and again."""
    rng, found = np.random.default_rng(0), []
    for _ in range(count):
        values = [dict(enumerate(rng.normal(size=seeds))) for _ in range(groups)]
        keyed = [{("packing", seed): float(value) for seed, value in group.items()} for group in values]
        found.append([measure(*pair, ("a", "b"), "at 2 evaluations") for pair in combinations(keyed, 2)])
    return [compared(family) for family in found]


def test_of_many_equal_groups_none_is_told_to_be_ahead_more_often_than_of_two() -> None:
    found = families(150, groups=8, seeds=10)
    told = np.mean([any(gap.ahead for gap in family) for family in found])
    alone = np.mean([any((gap.low or 0) > 0 or (gap.high or 0) < 0 for gap in family) for family in found])
    # 0.05 and three standard errors of 150 families; without a correction it is 0.6.
    assert told < 0.11
    assert alone > 0.4


def test_what_is_told_of_a_pair_depends_on_how_many_are_compared() -> None:
    gaps = [0.9, 0.1, 0.5, 0.4, -0.1, 0.8, 0.05, 0.6]
    ahead = {("packing", seed): gap for seed, gap in enumerate(gaps)}
    zero = dict.fromkeys(ahead, 0.0)
    pair = measure(ahead, zero, ("a", "b"), "at 2 evaluations")
    (alone,) = compared([pair])
    among = compared([pair, *[measure(zero, zero, ("c", "d"), "at 2 evaluations")] * 27])[0]
    assert (alone.ahead, alone.p_value) == (1, None)
    assert among.ahead == 0
    assert among.p_value == pytest.approx(28 * paired_p_value(gaps))
    assert (among.difference, among.low, among.high) == (alone.difference, alone.low, alone.high)
    assert among.sentence.startswith("no measurable difference between a and b at 2 evaluations over 8 seeds (0.406, ")
    assert among.sentence.endswith("; among 28 pairs it may be chance")


def test_a_clear_lead_is_told_among_many() -> None:
    base = {("packing", seed): float(seed) for seed in range(8)}
    clear = {key: value + 1 + 0.01 * value for key, value in base.items()}
    gaps = compared([measure(clear, base, ("a", "b"), "x"), *[measure(base, base, ("c", "d"), "x")] * 27])
    assert [gap.ahead for gap in gaps] == [1, *[0] * 27]


def test_few_seeds_tell_nothing_however_clear_they_look() -> None:
    few = ENOUGH_PAIRS - 1
    gap = by_strategy(strategies([2.0 + seed for seed in range(few)], [float(seed) for seed in range(few)])).leads[0]
    assert (gap.gaps[-1].ahead, gap.gaps[-1].low, gap.gaps[-1].difference) == (0, None, 2.0)
    assert gap.gaps[-1].sentence == (
        "no measurable difference between islands and best_of_n at 2 evaluations over 5 seeds (2):"
        " these are too few, use at least 6"
    )
    apart = measure({("p", 1): 1.0, ("p", 2): 2.0}, {("p", 3): 0.0, ("p", 4): 1.0}, ("a", "b"), "at 2 evaluations")
    assert compared([apart])[0].sentence == (
        "no measurable difference between a and b at 2 evaluations over 2 and 2 seeds, unpaired (1):"
        " these are too few, use 4 or more of each"
    )
    assert (ENOUGH_PAIRS, ENOUGH_APART) == (6, 4)


def test_one_seed_has_no_interval() -> None:
    found = by_strategy(strategies([2.0], [1.0]))
    gap = found.leads[0].gaps[-1]
    assert (gap.difference, gap.low, gap.high, gap.ahead) == (1.0, None, None, 0)
    assert "no comparison of" in gap.sentence
    assert [(group.levels[-1].mean, group.levels[-1].low) for group in found.groups] == [(2.0, None), (1.0, None)]


def test_repeated_runs_of_one_seed_count_once() -> None:
    twice = [*strategies([2.0], [1.0]), trail([3.0, 4.0], told_run(0, id="run_again"))]
    found = by_strategy(twice)
    assert (found.groups[0].levels[-1].mean, found.groups[0].levels[-1].seeds) == (3.0, 1)
    assert found.leads[0].gaps[-1].low is None


def test_pairs_are_of_one_problem_and_one_seed() -> None:
    plain = {"strategy": "best_of_n"}
    trails = []
    for name in ("a", "b"):
        for seed in range(4):
            about = {"problem_name": name, "id": f"run_{name}{seed}"}
            trails.append(trail([10.0 * (name == "b") + 1 + seed / 10], told_run(seed, **about)))
            about["id"] += "p"
            trails.append(trail([10.0 * (name == "b") + seed / 10], told_run(seed, config=plain, **about)))
    found = by_strategy(trails)
    gap = found.leads[0].gaps[-1]
    assert gap.difference == pytest.approx(1.0)
    assert gap.seeds == 8
    assert "over 8 pairs of problem and seed" in gap.sentence
    assert "different problems" in found.notes[0]


def test_budgets_end_where_the_shortest_run_does_and_not_where_one_had_won() -> None:
    trails = strategies([2.0, 3.0], [1.0, 1.0])
    trails.append(trail([5.0], told_run(2, reason="target")))
    trails.append(trail([1, 2, 3, 4.0], told_run(2, config={"strategy": "best_of_n"})))
    found = by_strategy(trails)
    assert found.budgets == [1, 2]
    # The one that had reached its target keeps what it came to.
    assert found.groups[0].levels[-1].mean == pytest.approx((2 + 3 + 5) / 3)
    assert found.leads[0].gaps[-1].difference == pytest.approx((2 + 3 + 5) / 3 - (1 + 1 + 2) / 3)


def test_of_runs_that_ended_before_a_budget_the_others_are_compared_and_that_is_said() -> None:
    trails = [*strategies([2.0, 3.0], [1.0, 1.0]), trail([1, 2, 3, 4.0], told_run(2))]
    found = by_strategy(trails, budgets=[4])
    assert [group.levels[-1].seeds for group in found.groups] == [1, 0]
    assert found.leads[0].gaps[-1].sentence == "no comparison at 4 evaluations: no run of best_of_n got that far"
    assert "4 of these runs ended before the last budget" in found.notes[-1]


@pytest.mark.parametrize(
    ("over", "axis", "where"),
    [
        ("evaluations", [1, 2], "at 2 evaluations"),
        ("tokens", [100, 200], "at 200 tokens"),
        ("money", [0.5, 1.0], "at 1 USD"),
        ("time", [1.0, 2.0], "after 2 s"),
    ],
)
def test_every_axis_is_there(over: str, axis: list[float], where: str) -> None:
    found = by_strategy(strategies([2.0], [1.0]), over=over, points=2)
    assert found.axis == axis
    assert found.curves[0].best == [1.0, 2.0]
    assert where in found.leads[0].gaps[-1].sentence
    assert found.currency == ("USD" if over == "money" else "")


def test_a_run_of_unknown_cost_is_on_no_axis_of_money() -> None:
    trails = [trail([1.0, 2.0]), trail([1.0, 2.0], told_run(1), cost=None)]
    found = compare(trails, Order(over="money"))
    assert found.curves[1].best == [None] * 200
    assert "What 1 of these runs cost is not known" in found.notes[0]


def test_two_currencies_are_not_compared() -> None:
    euros = ProgressCurve(run=told_run(1), best=np.array([1.0]), used={"money": np.array([1.0])}, currency="EUR")
    with pytest.raises(UsageError, match="EUR and USD"):
        compare([trail([1.0]), euros], Order(over="money"))


def test_runs_that_used_nothing_are_told_to_be_compared_over_something_else() -> None:
    free = [trail([1.0], cost=0.0), trail([2.0], told_run(1), cost=0.0)]
    found = compare(free, Order(over="money"))
    assert (found.axis, found.budgets) == ([], [])
    assert "used no money" in found.notes[0]


def test_groups_are_made_by_any_key() -> None:
    tops = {"strategy": "islands", "archive": {"kind": "top"}}
    runs = [
        trail([1.0], told_run(0, labels={"name": "mine", "arm": "x"})),
        trail([1.0], told_run(1, config=tops, policies=[{"name": "small"}, {"name": "large"}])),
    ]

    def names(by: str) -> list[str]:
        return [group.name for group in compare(runs, Order(by=by)).groups]

    assert names("archive.kind") == ["grid", "top"]
    assert names("policy") == ["syntax", "small, large"]
    assert names("name") == ["mine", "(none)"]
    assert names("labels.arm") == ["x", "(none)"]
    assert names("problem") == ["packing"]
    assert names("archive") == ['{"kind": "grid"}', '{"kind": "top"}']
    with pytest.raises(UsageError, match=r"none of these runs has the key 'selection\.kind'"):
        names("selection.kind")


def test_groups_that_are_not_named_are_called_by_what_sets_them_apart() -> None:
    trails = strategies([2.0, 3.0], [1.0, 1.0])
    assert [group.title for group in compare(trails, Order()).groups] == ["strategy islands", "strategy best_of_n"]


def test_groups_are_named_run_by_run() -> None:
    found = compare(strategies([2.0], [1.0]), Order(names=["mine", "theirs"]))
    assert [(lead.first, lead.second) for lead in found.leads] == [("mine", "theirs")]
    with pytest.raises(UsageError, match="give one of them"):
        Order(names=["a"], by="strategy")


@pytest.mark.parametrize(
    "order", [{"over": "joy"}, {"budgets": [0.0]}, {"budgets": [float("nan")]}, {"budgets": [1.0] * 11}]
)
def test_what_is_no_order_is_refused(order: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Order(**order)


def test_what_does_not_compare_is_said() -> None:
    def notes(**changes: Any) -> Sequence[str]:
        return compare([trail([1.0]), trail([1.0], told_run(1, **changes))], Order()).notes

    assert notes() == []
    assert "different problems" in notes(problem_name="maze")[0]
    assert "different versions" in notes(bundle_hash="c" * 64)[0]
    assert "not ended" in notes(state="running")[0]
