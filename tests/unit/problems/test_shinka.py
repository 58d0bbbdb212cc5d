from pathlib import Path

import pytest

from evolve.problem import Integrity
from service.errors import InvalidProblemError
from service.problems.load import load_bundle, load_problem
from tests.unit.problems.folders import write

EVALUATE = "if __name__ == '__main__':\n    pass\n"
START = 'search_task_sys_msg = """\nMake the sum large.\n"""\n'


def test_a_project_of_shinka_is_read_with_its_description(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "initial.rs": "fn main() {}\n",
        "evaluate.py": EVALUATE,
        "run_evo.py": START,
        "shinka_large.yaml": "a: 1\n",
    }
    loaded = load_problem(write(tmp_path, files))
    problem = loaded.problem
    assert (problem.language, problem.evaluator.file, problem.evaluator.integrity) == (
        "rust",
        "evolve_evaluator.py",
        Integrity.SHARED,
    )
    assert problem.seeds[0].files == (("initial.rs", "fn main() {}\n"),)
    assert loaded.search["prompt"]["system"] == "Make the sum large."
    assert not [warning for warning in loaded.warnings if "shinka_large" in warning]
    assert load_bundle(loaded.bundle, problem.name).problem == problem


@pytest.mark.parametrize(
    "start",
    ["job = Config(task_sys_msg='Make the sum large.')", "task_sys_msg = 'Make the sum large.'"],
)
def test_a_description_stands_where_the_search_is_started(tmp_path: Path, start: str) -> None:
    loaded = load_problem(write(tmp_path, {"initial.py": "x = 1\n", "evaluate.py": EVALUATE, "run_evo.py": start}))
    assert loaded.search["prompt"]["system"] == "Make the sum large."


@pytest.mark.parametrize("start", ["task_sys_msg = make()", "task_sys_msg =", "", "x = 1"])
def test_a_description_that_is_no_text_is_left_out(tmp_path: Path, start: str) -> None:
    loaded = load_problem(write(tmp_path, {"initial.py": "x = 1\n", "evaluate.py": EVALUATE, "run_evo.py": start}))
    assert "system" not in loaded.search.get("prompt", {})


def test_settings_that_are_written_out_are_taken(tmp_path: Path) -> None:
    start = (
        START
        + """
job = LocalJobConfig(eval_program_path="evaluate.py", time="02:00:05")
database = DatabaseConfig(num_islands=2)
evolution = EvolutionConfig(task_sys_msg=search_task_sys_msg, num_generations=70, max_parallel_jobs=count())
"""
    )
    loaded = load_problem(write(tmp_path, {"initial.py": "x = 1\n", "evaluate.py": EVALUATE, "run_evo.py": start}))
    assert loaded.problem.limits.wall_seconds == 7205
    assert loaded.search == {"evaluations": 70, "islands": 2, "prompt": {"system": "Make the sum large."}}


def test_settings_that_are_not_honoured_are_named_in_one_warning(tmp_path: Path) -> None:
    start = """
parent = dict(parent_selection_strategy="weighted", parent_selection_lambda=10.0)
other = dict(unrelated=1)
database = DatabaseConfig(db_path="x.sqlite", num_islands=2, archive_size=40, **parent)
evolution = EvolutionConfig(num_generations=70, patch_types=["diff"], llm_models=models(), results_dir="r")
"""
    loaded = load_problem(write(tmp_path, {"initial.py": "x = 1\n", "evaluate.py": EVALUATE, "run_evo.py": start}))
    assert loaded.warnings == (
        "run_evo.py: patch_types, llm_models, archive_size, parent_selection_strategy, parent_selection_lambda are not"
        " honoured: the run configuration shapes the search (--config FILE, --set islands=2)",
    )


def test_a_number_of_generations_that_is_not_written_out_is_named(tmp_path: Path) -> None:
    start = "EvolutionConfig(num_generations=arguments.generations)\n"
    loaded = load_problem(write(tmp_path, {"initial.py": "x = 1\n", "evaluate.py": EVALUATE, "run_evo.py": start}))
    assert loaded.warnings == (
        "run_evo.py: num_generations is not written out as a number, so the default budget holds: --evaluations N sets"
        " another",
    )


@pytest.mark.parametrize("time", ["5", "a:b:c", "1:2", "0:0:0", "999999999:0:0"])
def test_a_time_that_is_none_leaves_the_usual_one(tmp_path: Path, time: str) -> None:
    files: dict[str, str | bytes] = {
        "initial.py": "x = 1\n",
        "evaluate.py": EVALUATE,
        "run_evo.py": f"f(time='{time}')",
    }
    assert load_problem(write(tmp_path, files)).problem.limits.wall_seconds == 300


def test_half_a_task_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match=r"^evaluate\.py is missing: a ShinkaEvolve task has"):
        load_problem(write(tmp_path, {"initial.py": "x = 1\n", "run_evo.py": START}))


def test_a_file_called_initial_makes_no_project(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="holds neither"):
        load_problem(write(tmp_path, {"initial.py": "x = 1\n", "notes.txt": "none"}))


@pytest.mark.parametrize(("document", "edits"), [("true", "diff"), ("false", "rewrite")])
def test_the_keys_of_skydiscover_are_those_of_openevolve(tmp_path: Path, document: str, edits: str) -> None:
    config = f"diff_based_generation: {document}\nmax_solution_length: 60000\nmonitor: {{enabled: true}}\n"
    evaluator = "def evaluate(program_path):\n    return {'combined_score': 1}\n"
    files: dict[str, str | bytes] = {
        "initial_program.py": "x = 1\n",
        "evaluator/evaluator.py": evaluator,
        "evaluator/evaluate.sh": "exit 1\n",
        "config.yaml": config + "max_iterations: 3\nllm: {primary_model: m}\n",
    }
    loaded = load_problem(write(tmp_path, files))
    assert loaded.problem.evaluator.file == "evaluator/evaluator.py"
    assert [policy["edits"] for policy in loaded.policies] == [edits]
    assert loaded.warnings == (
        "config.yaml: max_solution_length is not honoured: the policy's max_tokens bounds an answer",
        "config.yaml: monitor is not needed: `evolve serve` has a dashboard",
    )


@pytest.mark.parametrize(
    ("database", "named"),
    [
        ("{fitness_key: gain, higher_is_better: {gain: false}, decay: 0.9}", "search.database.decay"),
        ("{higher_is_better: false}", "search.database.higher_is_better"),
    ],
)
def test_keys_of_skydiscovers_search_that_are_not_honoured_are_named(tmp_path: Path, database: str, named: str) -> None:
    config = f"max_iterations: 3\nsearch: {{type: adaevolve, num_context_programs: 4, database: {database}}}\n"
    evaluator = "def evaluate(program_path):\n    return {'gain': 1}\n"
    files: dict[str, str | bytes] = {"initial_program.py": "x = 1\n", "evaluator.py": evaluator, "config.yaml": config}
    assert load_problem(write(tmp_path, files)).warnings == (
        f"config.yaml: search.type, search.num_context_programs, {named} are not honoured: the run configuration shapes"
        " the search (--config FILE, --set islands=2)",
    )


def test_a_wrong_value_is_named_by_the_key_of_skydiscover(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "initial_program.py": "x = 1\n",
        "evaluator.py": "def evaluate(program_path):\n    return {'gain': 1}\n",
        "config.yaml": "diff_based_generation: 3\nllm: {primary_model: m}\n",
    }
    with pytest.raises(InvalidProblemError, match="diff_based_generation should be true or false, not 3"):
        load_problem(write(tmp_path, files))
