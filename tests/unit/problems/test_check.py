from dataclasses import replace
from pathlib import Path

import pytest

from evolve.evaluation import Evaluation, Outcome, ScoringRequest, read_result
from evolve.problem import Limits
from evolve.program import Program
from service.problems.advice import advise_limit
from service.problems.check import CheckReport, check_problem
from service.problems.load import load_problem
from tests.unit.problems.folders import NATIVE, native, project

MEASURED = NATIVE + '[[measures]]\nname = "m"\nlow = 0.0\nhigh = 1.0\n'


async def check(root: Path, returned: object) -> CheckReport:
    loaded = load_problem(root)

    async def evaluate(program: Program, wanted: ScoringRequest) -> Evaluation:
        assert program in loaded.problem.seeds
        return returned if isinstance(returned, Evaluation) else read_result(returned, loaded.problem)

    return await check_problem(loaded, evaluate)


async def test_sound_problem_has_no_complaint(tmp_path: Path) -> None:
    report = await check(native(tmp_path, MEASURED), {"gain": 3, "m": 0.5})
    assert report.ok
    assert report.complaints == ()
    assert [(seed.name, seed.fitness) for seed in report.seeds] == [("seed.py", 3.0)]


@pytest.mark.parametrize(
    ("document", "returned", "said"),
    [
        (NATIVE, {"x": 1}, "the seed seed.py fails (invalid): the evaluator returned no number for the objective gain"),
        (NATIVE, {"gain": float("nan")}, "not a finite number"),
        (NATIVE, "text", "instead of a dict of scores"),
        (NATIVE, Evaluation(outcome=Outcome.TIMEOUT, reason="it ran for 20 s"), "fails (timeout): it ran for 20 s"),
        (NATIVE, Evaluation(outcome=Outcome.CRASH), "fails (crash): no reason was given"),
        (NATIVE, {"gain": 11}, "scores 11, outside of the declared bounds 0 to 10: widen them"),
        (MEASURED, {"gain": 1, "m": 2}, "measure m: the seed seed.py has the value 2, outside of its bounds 0 to 1"),
        (MEASURED, {"gain": 1}, "no number for the measure m"),
        (MEASURED.replace('"m"', '"complexity"'), {"gain": 1}, "measure complexity: the seed seed.py has the value 26"),
        (NATIVE + "target = 12.0\n", {"gain": 1}, "the target 12 is outside of its bounds 0 to 10"),
        (NATIVE + "target = 0.5\n", {"gain": 1}, "already reaches the target"),
        (NATIVE + 'direction = "minimize"\ntarget = 2\n', {"gain": 1}, "already reaches the target"),
        ("known_best = 99\n" + NATIVE, {"gain": 1}, "known_best = 99 is outside of gain's bounds 0 to 10"),
    ],
)
async def test_what_would_go_wrong_is_explained(tmp_path: Path, document: str, returned: object, said: str) -> None:
    report = await check(native(tmp_path, document), returned)
    assert not report.ok
    assert len(report.complaints) == 1
    assert said in report.complaints[0]


@pytest.mark.parametrize("raised", ["ModuleNotFoundError: ", "RuntimeError: ", ""])
async def test_a_module_that_a_seed_lacks_has_a_remedy_whoever_reports_it(tmp_path: Path, raised: str) -> None:
    reason = f"the evaluator failed: {raised}No module named 'stim' (line 9 of evaluate.py, in main)"
    (complaint,) = (await check(native(tmp_path), Evaluation(outcome=Outcome.ERROR, reason=reason))).complaints
    assert f"{reason}: add the package of stim to requirements.txt and install it" in complaint


async def test_unpaired_marker_is_a_complaint(tmp_path: Path) -> None:
    root = native(tmp_path, seed__py="# EVOLVE-BLOCK-START\nx = 1\n")
    report = await check(root, {"gain": 1})
    assert report.complaints == ("the seed's seed.py: EVOLVE-BLOCK-START in line 1 has no EVOLVE-BLOCK-END after it",)


async def test_warnings_are_no_complaints(tmp_path: Path) -> None:
    report = await check(project(tmp_path, "checkpoint_interval: 5\nmax_iterations: 3\n"), {"combined_score": 1})
    assert report.ok
    assert report.warnings == ("config.yaml: checkpoint_interval is not needed: every result is committed at once",)


async def test_every_seed_is_run_once(tmp_path: Path) -> None:
    document = NATIVE.replace('["seed.py"]', '["seed.py", "other.py"]')
    report = await check(native(tmp_path, document, other__py="x = 2"), {"gain": 1})
    assert [seed.name for seed in report.seeds] == ["seed.py", "other.py"]


async def test_a_seed_that_fails_beside_a_good_seed_is_a_warning(tmp_path: Path) -> None:
    document = NATIVE.replace('["seed.py"]', '["seed.py", "other.py"]')
    loaded = load_problem(native(tmp_path, document, other__py="x = 2"))

    async def evaluate(program: Program, wanted: ScoringRequest) -> Evaluation:
        broken = Evaluation(outcome=Outcome.ERROR, reason="it broke")
        return broken if "x = 2" in program.text else read_result({"gain": 1}, loaded.problem)

    report = await check_problem(loaded, evaluate)
    assert report.ok
    assert report.warnings == ("the seed other.py fails (error): it broke. A run starts from the other seeds",)


async def test_seeds_are_not_run_without_what_they_need(tmp_path: Path) -> None:
    loaded = load_problem(native(tmp_path))
    evaluator = replace(loaded.problem.evaluator, requirements=("no-such-distribution-at-all",))
    loaded = replace(loaded, problem=replace(loaded.problem, evaluator=evaluator))

    async def evaluate(program: Program, wanted: ScoringRequest) -> Evaluation:
        raise AssertionError(program.id)

    report = await check_problem(loaded, evaluate)
    assert report.seeds == ()
    assert "no-such-distribution-at-all is not installed for" in report.complaints[0]


async def test_what_is_held_out_is_tried_on_a_seed(tmp_path: Path) -> None:
    loaded = load_problem(native(tmp_path))
    loaded = replace(loaded, problem=replace(loaded.problem, evaluator=replace(loaded.problem.evaluator, holdout=True)))

    async def evaluate(program: Program, wanted: ScoringRequest) -> Evaluation:
        broken = Evaluation(outcome=Outcome.ERROR, reason="KeyError: 'unseen'")
        return broken if wanted.holdout else read_result({"gain": 1}, loaded.problem)

    report = await check_problem(loaded, evaluate)
    assert report.complaints == ("holdout fails for the seed seed.py (error): KeyError: 'unseen'",)


@pytest.mark.parametrize(
    ("seconds", "limit", "said"),
    [
        (0.18, 20.0, "limits.wall_seconds is 20: with 2,"),
        (0.01, 20.0, "limits.wall_seconds is 20: with 1,"),
        (1.9, 20.0, ""),
        (12.0, 20.0, "of limits.wall_seconds = 20: slower programs are cut off, raise it to 120"),
    ],
)
def test_a_limit_of_time_is_proposed_by_what_the_seed_takes(seconds: float, limit: float, said: str) -> None:
    advice = advise_limit([seconds / 2, seconds], Limits(wall_seconds=limit))
    assert said in advice
    assert bool(advice) == bool(said)


async def test_how_long_a_run_takes_follows_from_its_budget_the_seed_and_the_cores(tmp_path: Path) -> None:
    document = NATIVE + "[search]\nevaluations = 90\n"
    report = await check(native(tmp_path, document), Evaluation(outcome=Outcome.OK, scores={"gain": 3.0}, seconds=0.5))
    assert report.evaluations == 90
    assert report.run_seconds(4) == 0.5 * 23
    assert report.run_seconds(1) == 0.5 * 90
