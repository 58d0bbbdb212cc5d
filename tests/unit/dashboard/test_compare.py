"""What sets runs apart, and their curves over several axes."""

from datetime import timedelta

from service.dashboard.views.compare import best_at, curve_of, differences, leaves, notes_of, table_of, titles_of
from service.schemas.series import Metrics, SeriesPoint
from tests.unit.dashboard.told_runs import AT, told_run


def metrics(*points: tuple[int, float | None, int, float]) -> Metrics:
    """Evaluations, the best by then, tokens read, seconds."""
    told = [
        SeriesPoint(
            evaluations=evaluations,
            at=AT + timedelta(seconds=seconds),
            best_fitness=best,
            valid_share=1,
            duplicate_share=0,
            rejected_share=0,
            hypervolume=None,
            tokens_input=tokens,
            tokens_output=1,
            cost=f"{tokens / 1000} USD",
        )
        for evaluations, best, tokens, seconds in points
    ]
    return Metrics(run_id="run_1", points=told, operators=[], policies=[], positions=[])


def test_only_keys_that_differ_are_told() -> None:
    other = {"islands": 4, "budget": {"evaluations": 300, "tokens": None}, "seed": 8}
    runs = [told_run("a"), told_run("b", seed=8, config=other)]
    assert [(row.key, list(row.values)) for row in differences(runs)] == [
        ("budget.evaluations", ["200", "300"]),
        ("seed", ["7", "8"]),
    ]
    assert differences([told_run("a"), told_run("b")]) == []


def test_a_policy_differs_by_its_own_keys() -> None:
    warm = [{"name": "m", "kind": "openai", "temperature": 1.0}]
    cold = [{"name": "m", "kind": "openai", "temperature": 0.5}]
    (row,) = differences([told_run("a", policies=warm), told_run("b", policies=cold)])
    assert (row.key, list(row.values)) == ("policy.m.temperature", ["1.0", "0.5"])


def test_leaves_have_the_path_to_them() -> None:
    assert dict(leaves({"a": {"b": 1, "c": {}}, "d": "x"})) == {"a.b": "1", "a.c": "{}", "d": "x"}


def test_curves_are_over_the_axis_that_is_asked_for() -> None:
    told = metrics((1, None, 10, 0), (2, 1.0, 20, 4), (3, 2.0, 30, 9))
    assert curve_of(told, "evaluations") == [(2, 1.0), (3, 2.0)]
    assert curve_of(told, "tokens") == [(21, 1.0), (31, 2.0)]
    assert curve_of(told, "time") == [(4, 1.0), (9, 2.0)]
    assert curve_of(told, "money") == [(0.02, 1.0), (0.03, 2.0)]
    assert curve_of(metrics(), "tokens") == []


def test_a_run_whose_cost_is_not_known_has_no_curve_over_money() -> None:
    told = metrics((1, 1.0, 10, 0), (2, 2.0, 20, 4))
    unknown = [point.model_copy(update={"cost": None}) for point in told.points]
    assert curve_of(told.model_copy(update={"points": unknown}), "money") == []


def test_a_curve_holds_until_the_next_point_and_ends_with_its_run() -> None:
    curve = [(2.0, 1.0), (5.0, 3.0)]
    assert [best_at(curve, place) for place in (1, 2, 4.9, 5, 5.1)] == [None, 1.0, 1.0, 3.0, None]


def test_the_table_goes_to_the_end_of_the_longest() -> None:
    table = table_of([[(1.0, 1.0), (4.0, 2.0)], [(1.0, 0.5), (8.0, 0.75)], []], rows=4)
    assert table == [
        (2.0, [1.0, 0.5, None]),
        (4.0, [2.0, 0.5, None]),
        (6.0, [None, 0.5, None]),
        (8.0, [None, 0.75, None]),
    ]
    assert table_of([[]]) == []


def test_the_last_row_of_the_table_has_the_last_values_whatever_the_numbers() -> None:
    for end in (1.1, 0.7, 3.3, 49.099999):
        assert table_of([[(end / 3, 1.0), (end, 2.0)]])[-1] == (end, [2.0])


def test_runs_of_one_name_are_told_apart() -> None:
    runs = [told_run("a"), told_run("b"), told_run("c", labels={"name": "mine"})]
    assert titles_of(runs) == ["packing · seed 7 (000a)", "packing · seed 7 (000b)", "mine"]


def test_what_does_not_compare_is_said() -> None:
    assert notes_of([told_run("a"), told_run("b")]) == []
    assert "different problems" in notes_of([told_run("a"), told_run("b", problem="maze")])[0]
    assert "different versions" in notes_of([told_run("a"), told_run("b", bundle_hash="c" * 64)])[0]
    assert "not ended" in notes_of([told_run("a", state="running")])[0]
