"""What sets runs apart, and their curves over several axes."""

from service.dashboard.views.compare import ComparisonQuery, differences, table_of, titles_of, verdicts_of
from service.projections.grouping import leaves, titled
from service.schemas.series import ComparedRun, Gap, Lead, RunComparison
from tests.unit.dashboard.told_runs import told_run


def compared(best: list[list[float | None]], axis: list[int | float]) -> RunComparison:
    """Runs of one seed each, by their best over an axis."""
    runs = [
        ComparedRun(
            run_id=f"run_{place}",
            problem="packing",
            state="succeeded",
            seed=place,
            policies=["syntax"],
            group="g",
            evaluations=4,
            best=values,
            final_fitness=None,
            best_candidate_id=None,
            known_best=None,
        )
        for place, values in enumerate(best)
    ]
    return RunComparison(axis=axis, runs=runs, groups=[])


def gap(seeds: int, sentence: str) -> Gap:
    return Gap(difference=1, low=None, high=None, paired=True, seeds=seeds, others=1, ahead=0, sentence=sentence)


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


def test_the_table_goes_evenly_to_the_end_of_the_longest() -> None:
    best: list[list[float | None]] = [[1, 1, 2, 2, None, None, None, None], [0, 0.5, 0.5, 1, 1, 1, 1, 3]]
    told = compared(best, [1, 2, 3, 4, 5, 6, 7, 8])
    assert table_of(told, rows=4) == [(2, [1, 0.5]), (4, [2, 1]), (6, [None, 1]), (8, [None, 3])]
    assert [place for place, _ in table_of(told, rows=20)] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert table_of(compared([[]], [])) == []


def test_what_can_be_told_of_two_groups_is_what_can_be_at_the_last_budget() -> None:
    told = compared([[1]], [1])
    lead = Lead(first="a", second="b", gaps=[gap(1, "early"), gap(2, "late")])
    assert verdicts_of(told.model_copy(update={"leads": [lead]})) == ["late"]
    alone = Lead(first="a", second="b", gaps=[gap(1, "of one seed")])
    assert verdicts_of(told.model_copy(update={"leads": [alone]})) == []


def test_the_address_keeps_what_is_chosen() -> None:
    chosen = ComparisonQuery(runs=["run_1", "run_2"], axis="tokens", by="archive.kind")
    assert chosen.address(axis="time") == "?run=run_1&run=run_2&axis=time&by=archive.kind"
    assert ComparisonQuery(runs=["run_1"], axis="tokens", by="").address() == "?run=run_1&axis=tokens"


def test_runs_of_one_name_are_told_apart() -> None:
    runs = [told_run("a"), told_run("b"), told_run("c", labels={"name": "mine"})]
    assert titles_of(runs) == ["packing · seed 7 · 0000 (000a)", "packing · seed 7 · 0000 (000b)", "mine"]


def test_a_group_by_a_key_is_told_with_the_key_where_its_value_is_not_a_text() -> None:
    told = {
        ("prompt_pool", "4"): "prompt_pool 4",
        ("tune.unknown", "(none)"): "tune.unknown (none)",
        ("insights.every", "null"): "insights.every null",
        ("strategy", "best_of_n"): "best_of_n",
        ("policy", "7"): "7",
        ("labels.variant", "4"): "4",
        ("name", "(none)"): "(none)",
    }
    assert {(key, group): titled(group, key) for key, group in told} == told
