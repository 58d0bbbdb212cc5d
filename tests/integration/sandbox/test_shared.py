"""Shared integrity: an evaluator that loads the program itself, as OpenEvolve's do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import Evaluation, Outcome, ScoringRequest
from evolve.problem import Integrity, Measure
from evolve.program import Program
from tests.integration.sandbox.bench import LIMITS, problem, program, sandbox

LOADS = """
import importlib.util
from openevolve.evaluation_result import EvaluationResult
import sibling

def evaluate(program_path):
    print("evaluating", program_path)
    spec = importlib.util.spec_from_file_location("program", program_path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return EvaluationResult(metrics={"combined_score": module.solve() * sibling.FACTOR, "note": "fine"},
                            artifacts={"log": b"seen", "table": "1 2"})
"""
STARTS = """
import json, subprocess, sys, tempfile, os

def evaluate(program_path):
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(f"import runpy; print(runpy.run_path({program_path!r})['solve']())")
    done = subprocess.run([sys.executable, file.name], capture_output=True, text=True, timeout=3)
    return {"combined_score": float(done.stdout)} if done.returncode == 0 else {"error": done.stderr.splitlines()[-1]}
"""
SIBLING = {"sibling.py": "FACTOR = 2\n", "data/table.txt": "7\n"}


async def shared(tmp_path: Path, evaluator: str, source: str | Program, **options: Any) -> Evaluation:
    given = program(source) if isinstance(source, str) else source
    async with sandbox(tmp_path, evaluator, files=SIBLING, integrity=Integrity.SHARED, **options) as opened:
        evaluation = await opened.evaluate(given, "evl_bad")
        again = await opened.evaluate(program("def solve():\n    return 1.0\n"), "evl_good")
        assert again.ok or options.get("main"), again.reason
    assert evaluation.isolation.endswith("/shared")
    return evaluation


async def test_an_evaluator_that_loads_the_program_runs_unchanged(tmp_path: Path) -> None:
    evaluation = await shared(tmp_path, LOADS, "def solve():\n    return 1.5\n")
    assert (evaluation.outcome, evaluation.scores) == (Outcome.OK, {"combined_score": 3.0})
    assert evaluation.feedback == "note: fine\nlog: seen\ntable: 1 2"


async def test_an_answer_comes_back_and_a_number_of_that_name_is_a_metric_as_ever(tmp_path: Path) -> None:
    evaluator = LOADS.replace('"note": "fine"', '"answer": module.solve.__doc__ or 7')
    told = await shared(tmp_path, evaluator, "def solve():\n    ' to  be '\n    return 1.5\n")
    assert (told.answer, told.scores) == ("to be", {"combined_score": 3.0})
    assert told.feedback.startswith("answer:  to  be \n")
    number = await shared(tmp_path, evaluator, "def solve():\n    return 1.5\n")
    assert (number.answer, number.scores) == (None, {"combined_score": 3.0, "answer": 7.0})


async def test_an_evaluator_that_starts_subprocesses_runs_unchanged(tmp_path: Path) -> None:
    evaluation = await shared(tmp_path, STARTS, "def solve():\n    return 1.5\n")
    assert (evaluation.outcome, evaluation.scores) == (Outcome.OK, {"combined_score": 1.5}), evaluation


@pytest.mark.parametrize("evaluator", [LOADS, STARTS])
@pytest.mark.parametrize(
    ("source", "outcomes"),
    [
        ("import time\ndef solve():\n    time.sleep(600)\n", {"timeout", "error"}),
        ("def solve():\n    return 3 ** (10 ** 9)\n", {"timeout", "error"}),
        ("def solve():\n    import sys; sys.exit(1)\n", {"error", "invalid"}),
        ("import os\nos._exit(0)\n", {"crash", "error"}),
        ("import ctypes\nctypes.string_at(0)\n", {"crash", "invalid", "error"}),
        ("def solve():\n    return float('inf')\n", {"invalid"}),
        ("def solve():\n    return bytearray(1 << 40)\n", {"memory", "invalid"}),
        ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(1)", {"crash", "error", "invalid"}),
    ],
)
async def test_a_bad_program_takes_only_itself_down(
    tmp_path: Path, evaluator: str, source: str, outcomes: set[str]
) -> None:
    evaluation = await shared(tmp_path, evaluator, source, limits=replace(LIMITS, wall_seconds=1.0))
    assert evaluation.outcome in outcomes, evaluation
    assert evaluation.reason
    assert "Traceback" not in evaluation.reason


async def test_the_project_is_a_writable_copy(tmp_path: Path) -> None:
    evaluator = """
        import os
        def evaluate(program_path):
            fresh = open("data/table.txt").read() == "7\\n" and not os.path.exists("made")
            open("data/table.txt", "w").write("changed")
            open("made", "w").write("x")
            return {"combined_score": float(fresh)}
    """
    evaluation = await shared(tmp_path, evaluator, "def solve(): return 1\n")
    assert evaluation.scores == {"combined_score": 1.0}, evaluation
    assert (tmp_path / "problem" / "data" / "table.txt").read_text() == "7\n"
    assert not (tmp_path / "problem" / "made").exists()


async def test_workers_threads_and_pools_of_an_evaluator_run(tmp_path: Path) -> None:
    evaluator = """
        import concurrent.futures as futures, multiprocessing
        def square(n): return n * n
        def evaluate(program_path):
            with futures.ThreadPoolExecutor(4) as pool: threads = sum(pool.map(square, range(4)))
            with multiprocessing.Pool(2) as pool: processes = sum(pool.map(square, range(4)))
            with futures.ProcessPoolExecutor(2) as pool: executor = sum(pool.map(square, range(4)))
            return {"threads": threads, "processes": processes, "executor": executor}
    """
    evaluation = await shared(tmp_path, evaluator, "x = 1\n")
    assert evaluation.scores == {"threads": 14.0, "processes": 14.0, "executor": 14.0}, evaluation


async def test_stages_run_while_the_score_reaches_the_threshold(tmp_path: Path) -> None:
    evaluator = """
        def evaluate_stage1(path): return {"combined_score": 0.6, "first": 1}
        def evaluate_stage2(path): return {"second": 0.5, "combined_score": 0.7, "artifacts": {"why": "second"}}
        def evaluate_stage3(path): return {"third": 1}
    """
    gates = ({"combined_score": 0.5}, {"combined_score": 0.75}, {"combined_score": 0.9})
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED, stage_thresholds=gates) as opened:
        evaluation = await opened.evaluate(program("x = 1\n"), "evl_1")
    assert evaluation.outcome is Outcome.STAGE
    assert evaluation.reason == "stopped after stage 2: combined_score is 0.7, and 0.75 is needed to go on"
    assert evaluation.scores == {"combined_score": 0.7, "first": 1.0, "second": 0.5}
    assert evaluation.feedback == "why: second"


async def test_a_lenient_program_keeps_the_scores_of_its_stages(tmp_path: Path) -> None:
    evaluator = """
        def evaluate_stage1(path): return {"combined_score": 0.6, "first": 1, "artifacts": {"why": "first"}}
        def evaluate_stage2(path): raise ValueError("no licence")
    """
    for wanted in (0.5, 0.9):
        gates = ({"combined_score": wanted},)
        spec: dict[str, Any] = {"integrity": Integrity.SHARED, "stage_thresholds": gates, "lenient": True}
        async with sandbox(tmp_path / str(wanted), evaluator, **spec) as opened:
            evaluation = await opened.evaluate(program("x = 1\n"), "evl_1")
        assert evaluation.outcome is Outcome.OK
        failed = {"stage2_passed": 0.0} if wanted == 0.5 else {}
        assert evaluation.scores == {"combined_score": 0.6, "first": 1.0, **failed}
        said = (
            "stage2_stderr: ValueError: no licence" if wanted == 0.5 else "stopped after stage 1: combined_score is 0.6"
        )
        assert evaluation.feedback.startswith("why: first")
        assert said in evaluation.feedback


async def test_a_lenient_program_that_lacks_a_measure_of_a_later_stage_names_the_stage(tmp_path: Path) -> None:
    evaluator = """
        def evaluate_stage1(path): return {"combined_score": 0.6}
        def evaluate_stage2(path): return {"combined_score": 0.6, "error_size": 0.25}
    """
    measures = (Measure(name="error_size", low=0.0, high=1.0),)
    outcomes = {}
    for wanted in (0.5, 0.9):
        gates = ({"combined_score": wanted},)
        spec: dict[str, Any] = {"integrity": Integrity.SHARED, "stage_thresholds": gates, "lenient": True}
        async with sandbox(tmp_path / str(wanted), evaluator, measures=measures, **spec) as opened:
            evaluation = await opened.evaluate(program("x = 1\n"), "evl_1")
        outcomes[wanted] = evaluation.outcome, evaluation.reason
    assert outcomes == {
        0.5: (Outcome.OK, ""),
        0.9: (
            Outcome.STAGE,
            "stopped after stage 1: combined_score is 0.6, and 0.9 is needed to go on; the evaluator returned no number"
            " for the measure error_size",
        ),
    }


async def test_a_lenient_program_that_fails_its_first_stage_fails(tmp_path: Path) -> None:
    evaluator = """
        def evaluate_stage1(path):
            return measure(path)
        def measure(path):
            raise ValueError("no licence")
    """
    gates = ({"combined_score": 0.5},)
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED, stage_thresholds=gates, lenient=True) as opened:
        evaluation = await opened.evaluate(program("x = 1\n"), "evl_1")
    assert evaluation.outcome is Outcome.ERROR
    assert evaluation.feedback.splitlines()[1:] == [
        "evaluator.py:3 in evaluate_stage1: return measure(path)",
        '  evaluator.py:5 in measure: raise ValueError("no licence")',
        "ValueError: no licence",
    ]


async def test_what_is_held_out_is_scored_by_a_function_of_its_own_and_by_no_stage(tmp_path: Path) -> None:
    evaluator = """
        def evaluate_stage1(path): return {"combined_score": 0.1}
        def evaluate_stage2(path): return {"combined_score": 0.2}
        async def holdout(program_path):
            with open(program_path) as file:
                return {"combined_score": float(len(file.read()))}
    """
    gates = ({"combined_score": 0.5},)
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED, stage_thresholds=gates, holdout=True) as opened:
        searched = await opened.evaluate(program("x = 1\n"), "evl_1")
        held = await opened.evaluate(program("x = 1\n"), "evl_2", ScoringRequest(holdout=True))
    assert searched.outcome is Outcome.STAGE
    assert (held.outcome, held.scores) == (Outcome.OK, {"combined_score": 6.0})


async def test_without_a_combined_score_the_mean_decides(tmp_path: Path) -> None:
    evaluator = """
        def evaluate_stage1(path): return {"a": 0.2, "b": 1.0}
        def evaluate_stage2(path): return {"c": 3}
        async def evaluate(path): return {"d": 4}
    """
    gates = ({"combined_score": 0.6},)
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED, stage_thresholds=gates) as opened:
        staged = await opened.evaluate(program("x = 1\n"), "evl_1")
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED) as opened:
        whole = await opened.evaluate(program("x = 1\n"), "evl_1")
    assert staged.scores == {"a": 0.2, "b": 1.0, "c": 3.0}
    assert whole.scores == {"d": 4.0}


@pytest.mark.parametrize(("value", "shown"), [("'high'", "the text 'high'"), ("None", "a NoneType"), ("[1]", "a list")])
async def test_text_or_nothing_instead_of_scores_is_invalid(tmp_path: Path, value: str, shown: str) -> None:
    evaluator = f"def evaluate(path):\n    return {value}\n"
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED) as opened:
        evaluation = await opened.evaluate(program("x = 1\n"), "evl_1")
    assert (evaluation.outcome, evaluation.reason) == (
        Outcome.INVALID,
        f"the evaluator returned {shown} instead of a dict of scores",
    )


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [
        ("x = 1\n", "evaluator.py defines no function evaluate(program_path)"),
        ("def evaluate(path:\n", "the evaluator failed: SyntaxError"),
        ("def evaluate(path):\n    return object()\n", "evaluate() returned a object instead of a dict of scores"),
    ],
)
async def test_a_broken_evaluator_is_named(tmp_path: Path, evaluator: str, reason: str) -> None:
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED) as opened:
        evaluation = await opened.evaluate(program("x = 1\n"), "evl_1")
    assert evaluation.outcome is Outcome.ERROR
    assert evaluation.reason.startswith(reason)


@pytest.mark.parametrize(
    ("line", "name", "module", "package"),
    [
        ("from openevolve import OpenEvolve", "OpenEvolve", "openevolve", "openevolve"),
        ("from openevolve.evaluation_result import Other", "Other", "openevolve.evaluation_result", "openevolve"),
        ("from shinka.core import EvolutionRunner", "EvolutionRunner", "shinka.core", "shinka"),
        ("from skydiscover.evaluation import Other", "Other", "skydiscover.evaluation", "skydiscover"),
    ],
)
async def test_a_name_that_a_stand_in_lacks_has_a_remedy_and_no_path(
    tmp_path: Path, line: str, name: str, module: str, package: str
) -> None:
    async with sandbox(tmp_path, f"{line}\n", integrity=Integrity.SHARED) as opened:
        evaluation = await opened.evaluate(program("x = 1\n"), "evl_1")
    assert evaluation.reason == (
        f"the evaluator failed: ImportError: cannot import name '{name}' from '{module}' (line 1 of evaluator.py): it"
        f" is not among the names of {package} that Evolve replaces, so name an interpreter that has the package with"
        " --python"
    )


async def test_a_name_that_a_module_from_elsewhere_lacks_has_its_path(tmp_path: Path) -> None:
    async with sandbox(tmp_path, "from json import absent\n", integrity=Integrity.SHARED) as opened:
        evaluation = await opened.evaluate(program("x = 1\n"), "evl_1")
    assert "json/__init__.py)" in evaluation.reason
    assert "--python" not in evaluation.reason


async def test_several_files_are_handed_on_as_a_folder_or_by_their_main(tmp_path: Path) -> None:
    evaluator = """
        import os
        def evaluate(path):
            return {"folder": os.path.isdir(path), "main": os.path.basename(path) == "b.py"}
    """
    files = Program.of({"a.py": "x = 1\n", "b.py": "y = 2\n"})
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED) as opened:
        assert (await opened.evaluate(files, "evl_1")).scores == {"folder": 1.0, "main": 0.0}
        opened._problem = replace(problem(integrity=Integrity.SHARED), main="b.py")
        assert (await opened.evaluate(files, "evl_2")).scores == {"folder": 0.0, "main": 1.0}
