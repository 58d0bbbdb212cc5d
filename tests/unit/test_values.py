"""Values: programs by content, problems that can be searched on, results that are finite, fitness by one rule."""

import math
from dataclasses import replace

import pytest

from evolve.configuration import BudgetConfig, PromptConfig, RunConfig, SelectionOptions
from evolve.errors import ConfigurationError, ProblemError, ProgramError
from evolve.evaluation import Evaluation, Outcome, fitness, read_result, reward_vector
from evolve.problem import Direction, EvaluatorSpec, Limits, Measure, Objective, Problem
from evolve.program import Program

SEED = Program.of({"a.py": "x = 1\n"})
SPEC = EvaluatorSpec(entry="x")


def problem(*objectives: Objective, measures: tuple[Measure, ...] = ()) -> Problem:
    return Problem(name="p", seeds=(SEED,), evaluator=SPEC, objectives=objectives, measures=measures)


def test_a_program_is_its_content() -> None:
    assert Program.of({"b.py": "2", "a.py": "1"}).id == Program.of({"a.py": "1", "b.py": "2"}).id
    assert Program.of({"a.py": "1"}).id != Program.of({"b.py": "1"}).id
    assert len(SEED.id) == 4 + 32


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x.py", "a/../../x.py", "a\\b.py", "a//b.py", "x\x00.py", "./a.py"]
)
def test_a_path_that_leaves_the_program_is_refused(path: str) -> None:
    with pytest.raises(ProgramError):
        Program.of({path: "x"})


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_text_that_no_file_can_hold_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        Program.of({"a.py": text})


def test_several_objectives_need_bounds_with_a_hint() -> None:
    with pytest.raises(ProblemError, match="objective speed needs low and high"):
        problem(Objective(name="accuracy", low=0.0, high=1.0), Objective(name="speed"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Objective(name="x", low=0.0),
        lambda: Objective(name="x", low=1.0, high=1.0),
        lambda: Objective(name="x", weight=math.nan),
        lambda: Measure(name="x", bins=0),
        lambda: Limits(memory_mb=0),
        EvaluatorSpec,
        lambda: EvaluatorSpec(entry="x", repeats=0),
        lambda: problem(Objective(name="x"), Objective(name="x")),
        lambda: problem(Objective(name="x", weight=0.0)),
        lambda: Objective(name="x", low=-math.inf, high=0.0),
        lambda: Objective(name="x", low=-1e308, high=1e308),
        lambda: Objective(name="x", low=0.0, high=5e-324),
        lambda: Objective(name="x", target=math.nan),
        lambda: Objective(name="x", weight=1e300),
        lambda: Measure(name="x", low=0.0, high=math.inf),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(make: object) -> None:
    with pytest.raises(ProblemError):
        make()  # type: ignore[operator]  # a table of constructors


def test_fitness_of_one_objective_carries_the_sign_of_its_direction() -> None:
    one = problem(Objective(name="cost", direction=Direction.MINIMIZE))
    assert fitness(one, read_result({"cost": 3.0}, one)) == -3.0


def test_fitness_of_several_is_the_weighted_mean_over_declared_bounds() -> None:
    two = problem(
        Objective(name="a", low=0.0, high=10.0, weight=3.0),
        Objective(name="b", direction=Direction.MINIMIZE, low=0.0, high=4.0, weight=1.0),
    )
    evaluation = read_result({"a": 5.0, "b": 1.0}, two)
    assert fitness(two, evaluation) == pytest.approx((3 * 0.5 + 1 * 0.75) / 4)
    assert reward_vector(two, evaluation) == pytest.approx((0.5, 0.75))
    assert fitness(two, read_result({"a": 5.0, "b": 1.0, "combined_score": 9.0}, two)) == 9.0


def test_without_objectives_the_scalar_is_combined_score_else_the_mean_without_measures() -> None:
    free = problem(measures=(Measure(name="size"),))
    assert fitness(free, read_result({"a": 1.0, "b": 3.0, "size": 100}, free)) == 2.0
    assert fitness(free, read_result({"a": 1.0, "combined_score": 7, "size": 1}, free)) == 7.0


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "instead of a dict"),
        ("42", "the text '42'"),
        ({}, "no number for the objective score"),
        ({"score": "high"}, "the text 'high'"),
        ({"score": math.nan}, "nan"),
        ({"score": math.inf}, "inf"),
        ({"score": 1.0, "extra": -math.inf}, "extra"),
        ({"score": 1.7e308}, "1.7e+308, and numbers beyond 1e+100"),
        ({"score": 1.0, "extra": -(10**400)}, "extra is -inf"),
        ({"score": 1.0, "error": "too slow"}, "too slow"),
        ({"score": 1.0, "cases": [0.5, 2]}, "case 1"),
        ({"score": 1.0, "cases": "all"}, "cases"),
    ],
)
def test_what_is_no_finite_score_is_invalid_with_a_readable_reason(raw: object, reason: str) -> None:
    evaluation = read_result(raw, problem(Objective(name="score")))
    assert evaluation.outcome is Outcome.INVALID
    assert reason in evaluation.reason
    assert all(math.isfinite(value) for value in evaluation.scores.values())
    assert fitness(problem(Objective(name="score")), evaluation) is None


@pytest.mark.parametrize("huge", [1e100, -1e100])
def test_the_largest_numbers_that_are_taken_stay_finite_in_every_sum(huge: float) -> None:
    narrow = Objective(name="a", low=0.0, high=1e-99, weight=1e100)
    wide = Objective(name="b", direction=Direction.MINIMIZE, low=-1e100, high=1e100, weight=1e100)
    two, free = problem(narrow, wide), problem()
    evaluation = read_result({"a": huge, "b": huge}, two)
    value = fitness(two, evaluation)
    assert value is not None
    assert 0 <= value <= 1
    assert all(math.isfinite(reward) for reward in reward_vector(two, evaluation))
    assert fitness(free, read_result({"a": huge, "b": huge}, free)) == huge


def test_a_result_of_nothing_but_a_built_in_measure_is_invalid() -> None:
    free = problem(measures=(Measure(name="complexity"),))
    evaluation = read_result({"complexity": 5.0}, free)
    assert evaluation.outcome is Outcome.INVALID
    assert "no numeric score" in evaluation.reason


def test_booleans_count_cases_have_names_and_the_rest_is_feedback() -> None:
    one = problem(Objective(name="passed"))
    raw = {"passed": True, "cases": [1, 0.5], "artifacts": {"stderr": "warned"}, "note": "close", "feedback": "try"}
    evaluation = read_result(raw, one)
    assert evaluation.scores == {"passed": 1.0}
    assert evaluation.cases == {"0": 1.0, "1": 0.5}
    assert set(evaluation.feedback.splitlines()) == {"stderr: warned", "note: close", "try"}


def test_a_missing_measure_is_invalid_but_built_in_ones_are_ours() -> None:
    measured = problem(Objective(name="s"), measures=(Measure(name="complexity"), Measure(name="depth")))
    assert read_result({"s": 1.0}, measured).outcome is Outcome.INVALID
    assert read_result({"s": 1.0, "depth": 3}, measured).measures == {"depth": 3.0}


def test_targets_and_normalisation_follow_the_direction() -> None:
    cost = Objective(name="c", direction=Direction.MINIMIZE, low=0.0, high=10.0, target=2.0)
    assert cost.reached(2.0)
    assert cost.reached(1.0)
    assert not cost.reached(2.1)
    assert cost.normalise(0.0) == 1.0
    assert cost.normalise(25.0) == 0.0
    assert cost.scale(-10.0) == 2.0


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_wherever_they_are_declared(number: float) -> None:
    for key in ("target", "wall_seconds", "evaluations", "patience"):
        with pytest.raises(ConfigurationError, match=rf"budget\.{key}"):
            BudgetConfig(**{key: number})  # type: ignore[arg-type] # as a file or a caller may have it
    with pytest.raises(ConfigurationError, match=r"prompt\.feedback_kb"):
        PromptConfig(feedback_kb=number)
    with pytest.raises(ProblemError, match="limits: wall_seconds"):
        Limits(wall_seconds=number)
    with pytest.raises(ProblemError, match="threshold a of stage 1"):
        EvaluatorSpec(entry="x", stage_thresholds=({"a": number},))
    with pytest.raises(ProblemError, match="known_best"):
        replace(problem(), known_best=number)


def test_hypervolume_is_measured_from_the_reference_or_the_worse_bound() -> None:
    gain = Objective(name="g", low=0.0, high=10.0)
    cost = Objective(name="c", direction=Direction.MINIMIZE, low=0.0, high=4.0, reference=3.0)
    assert problem(gain, cost).reference_point == (0.0, -3.0)
    assert (gain.floor, cost.floor) == pytest.approx((0.0, 0.25))
    assert problem(replace(cost, reference=None), gain).reference_point == (-4.0, 0.0)
    assert problem(Objective(name="free")).reference_point is None
    assert problem().reference_point is None


@pytest.mark.parametrize(
    ("evaluations", "islands"), [(1, 1), (200, 1), (7999, 1), (8000, 2), (15999, 3), (16000, 4), (10**6, 4), (None, 4)]
)
def test_islands_that_nobody_counted_are_as_many_as_the_budget_feeds(evaluations: int | None, islands: int) -> None:
    config = RunConfig(budget=BudgetConfig(evaluations=evaluations))
    assert config.islands == islands
    longer = replace(config, budget=BudgetConfig(evaluations=10**6))
    assert longer.islands == islands, "a budget that is extended leaves them as they were"
    assert RunConfig(islands=7, budget=config.budget).islands == 7


@pytest.mark.parametrize(
    "make",
    [
        lambda: RunConfig(strategy="luck"),
        lambda: RunConfig(topology="star"),
        lambda: RunConfig(islands=-1),
        lambda: RunConfig(migration_rate=1.5),
        lambda: SelectionOptions(power_law_exponent=-0.5),
        lambda: SelectionOptions(power_law_exponent=1e308),
        lambda: SelectionOptions(dirichlet_alpha=0.0),
        lambda: SelectionOptions(dirichlet_alpha=1e308),
        lambda: RunConfig(selection={"power_law": 0.0}),
        lambda: RunConfig(selection={"power_law": math.inf, "tournament": 1.0}),
        lambda: BudgetConfig(evaluations=0),
        lambda: BudgetConfig(wall_seconds=0.0),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(make: object) -> None:
    with pytest.raises(ConfigurationError):
        make()  # type: ignore[operator]  # a table of constructors


def test_an_evaluation_that_failed_has_no_fitness() -> None:
    assert fitness(problem(Objective(name="s")), Evaluation(outcome=Outcome.TIMEOUT, scores={"s": 1.0})) is None
