"""GEPA and the AlphaEvolve client: projects whose scripts give a client a program and an evaluator."""

from pathlib import Path

import pytest

from evolve.problem import Objective
from service.errors import InvalidProblemError
from service.problems.load import load_problem
from service.problems.project import Project
from tests.unit.problems.folders import write
from tests.unit.problems.formats.bridged import bridged
from tests.unit.problems.formats.samples import (
    ALPHAEVOLVE_EVALUATE,
    ALPHAEVOLVE_PROGRAM,
    ALPHAEVOLVE_RUN,
    GEPA_MAIN,
)

GEPA: dict[str, str | bytes] = {"main.py": GEPA_MAIN, "goal.py": "GOAL = 10\n"}
CLIENT: dict[str, str | bytes] = {
    "src/run_evolution.py": ALPHAEVOLVE_RUN,
    "src/evaluate.py": ALPHAEVOLVE_EVALUATE,
    "src/program.py": ALPHAEVOLVE_PROGRAM,
}
COMMAND = """
import argparse
import json

EVALUATION_METRIC = "closeness"

parser = argparse.ArgumentParser()
parser.add_argument("--output-file")
parser.add_argument("--input-program-file")
arguments = parser.parse_args()
names = {}
exec(open(arguments.input_program_file).read(), names)
result = {"score": names["position"](), "insights": [{"label": "place", "text": "near"}]}
with open(arguments.output_file, "w") as file:
    json.dump(result, file)
"""


def test_a_script_of_gepa_is_run_up_to_its_call(tmp_path: Path) -> None:
    loaded = load_problem(write(tmp_path / "folder", GEPA))
    problem = loaded.problem
    assert loaded.form == "a GEPA optimize_anything script (main.py)"
    assert problem.description == "Walk to the goal.\n\nThe goal is far."
    assert problem.objectives == (Objective(name="score"),)
    assert problem.seeds[0].files[0][1].startswith("STEP = 1\n")
    found = bridged(loaded, tmp_path)
    assert found == {"score": -9.0, "feedback": "said: example 1\nsaid: example 3"}  # 3 on the way to 11 and to 13


def test_the_score_of_gepa_is_that_of_the_validation_set_and_feedback_that_of_the_training_set(tmp_path: Path) -> None:
    script = GEPA_MAIN.replace("dataset=[1, 3],", "dataset=[1, 3],\n        valset=[5],\n        test_set=[7],")
    loaded = load_problem(write(tmp_path / "folder", {**GEPA, "main.py": script}))
    assert loaded.problem.evaluator.holdout
    assert bridged(loaded, tmp_path / "a")["score"] == -12.0
    assert "example 5" not in bridged(loaded, tmp_path / "b")["feedback"]
    assert bridged(loaded, tmp_path / "c", function="holdout") == {"score": -14.0}


_ERROR = 'if example == 1:\n        return 99.0, {"error": "outside of the square"}\n    return score, {'
GEPA_ERROR = GEPA_MAIN.replace("return score, {", _ERROR)


def test_an_example_of_gepa_that_ends_with_an_error_counts_nothing(tmp_path: Path) -> None:
    loaded = load_problem(write(tmp_path / "folder", {**GEPA, "main.py": GEPA_ERROR}))
    assert bridged(loaded, tmp_path)["score"] == -5.0  # the mean of 0 for example 1 and -10 for example 3


def test_a_program_whose_every_score_of_gepa_comes_with_an_error_is_invalid(tmp_path: Path) -> None:
    script = GEPA_ERROR.replace("dataset=[1, 3]", "dataset=[1]")
    loaded = load_problem(write(tmp_path / "folder", {**GEPA, "main.py": script}))
    assert bridged(loaded, tmp_path) == {"error": "outside of the square", "feedback": "error: outside of the square"}


def test_several_texts_of_gepa_are_a_program_of_several_files(tmp_path: Path) -> None:
    script = GEPA_MAIN.replace('{"program": SEED}', '{"program": SEED, "advice": "Be quick."}')
    loaded = load_problem(write(tmp_path / "folder", {**GEPA, "main.py": script}))
    assert [path for path, _ in loaded.problem.seeds[0].files] == ["advice.txt", "program.py"]
    assert bridged(loaded, tmp_path)["score"] == -9.0


def test_an_experiment_of_alphaevolve_keeps_its_description_metric_and_block(tmp_path: Path) -> None:
    loaded = load_problem(write(tmp_path / "folder", CLIENT))
    problem = loaded.problem
    assert loaded.form == "an AlphaEvolve experiment (src/run_evolution.py)"
    assert (problem.name, problem.description, problem.language) == ("Walk", "Walk to the goal.", "python")
    assert problem.objectives == (Objective(name="closeness"),)
    assert problem.seeds[0].files[0][1] == ALPHAEVOLVE_PROGRAM
    assert bridged(loaded, tmp_path) == {"closeness": -7.0}


def test_insights_of_alphaevolve_are_feedback(tmp_path: Path) -> None:
    found = bridged(load_problem(write(tmp_path / "folder", CLIENT)), tmp_path, "x = 1\n")
    line = "structure: position is missing"
    assert found == {"error": line, "feedback": line}


SKILL: dict[str, str | bytes] = {
    "initial_program.py": ALPHAEVOLVE_PROGRAM,
    "evaluator.py": COMMAND,
    "problem_description.md": "Walk.\n",
}


def test_a_folder_of_alphaevolves_skills_has_an_evaluator_that_openevolve_cannot_call(tmp_path: Path) -> None:
    loaded = load_problem(write(tmp_path / "folder", SKILL))
    assert loaded.problem.description == "Walk."
    assert bridged(loaded, tmp_path) == {"closeness": 3.0, "feedback": "place: near"}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("pass", "evaluator.py wrote no result"),
        ("raise SystemExit(3)", "evaluator.py ended with status 3 and wrote no result"),
        ('open(arguments.output_file, "w").write("{")', "evaluator.py wrote a result that is not JSON"),
        ('open(arguments.output_file, "w").write("[1]")', "evaluator.py wrote a result that is not a JSON object"),
        (
            'open(arguments.output_file, "w").write(" " * (100 * 2**20))',
            "evaluator.py wrote a result of 100 MB, and at most 16 MB are read",
        ),
    ],
)
def test_a_result_of_a_command_that_cannot_be_read_is_one_sentence(tmp_path: Path, line: str, error: str) -> None:
    command = f"{COMMAND.partition('names =')[0]}{line}\n"
    loaded = load_problem(write(tmp_path / "folder", {**SKILL, "evaluator.py": command}))
    assert bridged(loaded, tmp_path) == {"error": error}


def test_a_result_of_gepa_without_a_number_is_one_sentence(tmp_path: Path) -> None:
    script = GEPA_MAIN.replace("return score, {", "return None, {")
    loaded = load_problem(write(tmp_path / "folder", {**GEPA, "main.py": script}))
    with pytest.raises(AssertionError, match=r"the evaluator returned NoneType, not a number or \(number, info\)"):
        bridged(loaded, tmp_path)


WHOLE = "is not written out as a number, so the default budget holds: --evaluations N sets another"


@pytest.mark.parametrize(
    ("data", "calls", "evaluations", "warning"),
    [
        ("", "9", 9, ""),
        ("", "arguments.model", None, f"main.py: max_metric_calls {WHOLE}"),
        (
            "dataset=[1, 3],",
            "9",
            None,
            "main.py: max_metric_calls counts examples and is not honoured: --evaluations N",
        ),
    ],
)
def test_the_calls_of_gepa_are_the_budget_where_each_is_a_program(
    tmp_path: Path, data: str, calls: str, evaluations: int | None, warning: str
) -> None:
    engine = f"engine=EngineConfig(max_metric_calls={calls}, run_dir='x', frontier_type='y')"
    script = GEPA_MAIN.replace("dataset=[1, 3],", data).replace("model=arguments.model", engine)
    loaded = load_problem(write(tmp_path, {**GEPA, "main.py": script}))
    assert loaded.search.get("evaluations") == evaluations
    assert loaded.warnings[0].startswith("main.py: frontier_type is not honoured: the run configuration shapes")
    assert [one for one in loaded.warnings[1:] if warning not in one] == []
    assert len(loaded.warnings) == 2 - (not warning)


def test_the_number_of_programs_of_alphaevolve_is_the_budget(tmp_path: Path) -> None:
    assert load_problem(write(tmp_path / "a", CLIENT)).search == {"evaluations": 10}
    script = ALPHAEVOLVE_RUN.replace("walk_evaluation, 10", "walk_evaluation, max_programs_evaluated=count()")
    loaded = load_problem(write(tmp_path / "b", {**CLIENT, "src/run_evolution.py": script}))
    assert loaded.warnings == (f"src/run_evolution.py: max_programs_evaluated {WHOLE}",)


def test_a_folder_that_two_formats_can_score_is_named_by_its_format(tmp_path: Path) -> None:
    both = f"{COMMAND}\n\ndef evaluate(program_path):\n    return 1.0\n"
    folder = write(tmp_path / "folder", {**SKILL, "evaluator.py": both})
    with pytest.raises(InvalidProblemError, match="--format openevolve or --format alphaevolve"):
        load_problem(folder)
    assert bridged(load_problem(Project(folder=folder, form="alphaevolve")), tmp_path)["closeness"] == 3.0


def test_a_folder_above_experiments_of_alphaevolve_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError):
        load_problem(write(tmp_path / "folder", {f"walk/{path}": text for path, text in CLIENT.items()}))


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"main.py": GEPA_MAIN.replace('{"program": SEED}', "make()")}, "seed_candidate of optimize_anything is not a"),
        ({"main.py": GEPA_MAIN.replace("evaluator=", "batch_evaluator=")}, "is called without evaluator"),
        ({**CLIENT, "src/program.py": b"", "src/evaluate.py": "walk_evaluation = 1\n"}, "names no metric"),
        ({"src/run_evolution.py": ALPHAEVOLVE_RUN}, "is not a function of this folder: name one that lies in it"),
        ({key: text for key, text in CLIENT.items() if key != "src/program.py"}, "as main.py, which is missing"),
    ],
)
def test_half_a_problem_is_refused_with_the_cure(tmp_path: Path, files: dict[str, str | bytes], sentence: str) -> None:
    with pytest.raises(InvalidProblemError, match=sentence):
        load_problem(write(tmp_path, files))
