"""EoH, LLM4AD, FunSearch and AlgoTune: projects in which a function or a class is searched."""

import json
from pathlib import Path

import pytest

from evolve.problem import Direction, Objective
from service.cli.command_run import read_command_options
from service.errors import InvalidProblemError
from service.problems.bundle import open_bundle
from service.problems.load import LoadedProblem, load_problem
from tests.unit.problems.folders import write
from tests.unit.problems.formats.bridged import bridged
from tests.unit.problems.formats.samples import (
    ALGOTUNE,
    EOH_PROBLEM,
    EOH_START,
    FUNSEARCH,
    LLM4AD_TASK,
    LLM4AD_TEMPLATE,
)

EOH: dict[str, str | bytes] = {"prob.py": EOH_PROBLEM, "runEoH.py": EOH_START, "distances.py": "STEPS = 3\n"}
LLM4AD: dict[str, str | bytes] = {
    "evaluation.py": LLM4AD_TASK,
    "template.py": LLM4AD_TEMPLATE,
    "distances.py": "STEPS = 3\n",
}
STEP = "def step(position):\n    return position + 4\n"


def loaded_from(place: Path, files: dict[str, str | bytes]) -> LoadedProblem:
    return load_problem(write(place / "folder", files))


def test_a_problem_of_eoh_keeps_its_goal_its_time_and_the_arguments_of_its_start(tmp_path: Path) -> None:
    loaded = loaded_from(tmp_path, EOH)
    problem = loaded.problem
    assert loaded.form == "an EoH problem (prob.py, runEoH.py)"
    assert problem.description == "Walk to the goal in few steps."
    assert problem.objectives == (Objective(name="fitness", direction=Direction.MINIMIZE),)
    assert problem.limits.wall_seconds == 7
    assert problem.seeds[0].files[0][1].startswith("import math\n")
    assert bridged(loaded, tmp_path) == {"fitness": 9.0}  # three steps of 1 towards 12


def test_a_problem_of_eoh_without_a_start_script_has_the_defaults_of_its_class(tmp_path: Path) -> None:
    loaded = loaded_from(tmp_path, {key: text for key, text in EOH.items() if key != "runEoH.py"})
    assert loaded.problem.limits.wall_seconds == 40
    assert bridged(loaded, tmp_path, STEP) == {"fitness": 2.0}  # from 12 to 10


def test_the_populations_of_eoh_are_the_budget_and_the_rest_of_its_search_is_named(tmp_path: Path) -> None:
    search = "EoH(llm=llm, problem=task, pop_size=4, n_pop=3, operators=['e1'], n_parents=2, output_dir='./')\n"
    loaded = loaded_from(tmp_path / "a", {**EOH, "runEoH.py": EOH_START + search})
    assert loaded.search == {"evaluations": 21}  # two populations, one for each generation, and the seed
    assert loaded.warnings == (
        "runEoH.py: operators, n_parents are not honoured: the run configuration shapes the search (--config FILE,"
        " --set islands=2)",
    )
    loaded = loaded_from(tmp_path / "b", {**EOH, "runEoH.py": EOH_START + search.replace("=3", "=count()")})
    assert loaded.warnings[1:] == (
        "runEoH.py: pop_size or n_pop is not written out as a number, so the default budget holds: --evaluations N"
        " sets another",
    )


def test_eoh_gives_programs_numpy_and_the_imports_of_the_template(tmp_path: Path) -> None:
    program = "def step(position):\n    return position + float(np.float64(math.floor(4.5)))\n"
    assert bridged(loaded_from(tmp_path, EOH), tmp_path, program) == {"fitness": 0.0}


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("def walk(position):\n    return 1\n", "the program does not define step"),
        ("def step(position):\n    return -1\n", "evaluate_program returned None: the program is not valid"),
    ],
)
@pytest.mark.parametrize("files", [EOH, LLM4AD])
def test_a_program_that_is_not_valid_has_a_sentence(
    tmp_path: Path, files: dict[str, str | bytes], program: str, sentence: str
) -> None:
    assert bridged(loaded_from(tmp_path, files), tmp_path, program) == {"error": sentence}


@pytest.mark.parametrize(("files", "name"), [(EOH, "prob.py"), (LLM4AD, "evaluation.py")])
def test_a_score_that_is_not_a_number_has_a_sentence(tmp_path: Path, files: dict[str, str | bytes], name: str) -> None:
    scorer = str(files[name]).replace("return None if position < 0 else", "return 'far' if position > 0 else")
    found = bridged(loaded_from(tmp_path, {**files, name: scorer}), tmp_path)
    assert found == {"error": "evaluate_program returned str, not a number"}


def test_a_task_of_llm4ad_is_maximised_and_finds_its_own_files_by_the_names_of_the_package(tmp_path: Path) -> None:
    loaded = loaded_from(tmp_path, LLM4AD)
    assert loaded.form == "an LLM4AD task (evaluation.py, template.py)"
    assert loaded.problem.description == "Walk to the goal in few steps."
    assert loaded.problem.objectives == (Objective(name="score"),)
    assert loaded.problem.limits.wall_seconds == 9
    assert bridged(loaded, tmp_path) == {"score": -7.0}  # three steps of 1 towards 10


def test_several_scores_of_llm4ad_are_their_mean_and_each_by_itself(tmp_path: Path) -> None:
    several = LLM4AD_TASK.replace("-abs(self.goal - position)", "(-abs(self.goal - position), -1.0)")
    loaded = loaded_from(tmp_path, {**LLM4AD, "evaluation.py": several})
    assert bridged(loaded, tmp_path) == {"score": -4.0, "score_1": -7.0, "score_2": -1.0}


def test_paras_yaml_of_llm4ad_gives_the_class_its_arguments_and_its_time(tmp_path: Path) -> None:
    written = "name: WalkEvaluation\ngoal(1~100): 30\ntimeout_seconds: 5\nunknown: 3\n"
    loaded = loaded_from(tmp_path, {**LLM4AD, "paras.yaml": written})
    assert loaded.form == "an LLM4AD task (evaluation.py, template.py, paras.yaml)"
    assert loaded.problem.limits.wall_seconds == 5
    assert bridged(loaded, tmp_path) == {"score": -27.0}  # three steps of 1 towards 30


def test_the_switches_of_llm4ad_protect_divisions_and_seed_numpy(tmp_path: Path) -> None:
    switches = "timeout_seconds=timeout_seconds, use_protected_div=True, random_seed=7"
    task = LLM4AD_TASK.replace("timeout_seconds=timeout_seconds", switches)
    program = "def step(position):\n    return position + 0 * np.random.random() + (1e-5 / 0)\n"
    loaded = loaded_from(tmp_path, {**LLM4AD, "evaluation.py": task})
    assert bridged(loaded, tmp_path, program) == {"score": pytest.approx(-7.0)}  # 1e-5 / (0 + 1e-5), three times


def test_a_program_that_a_task_of_llm4ad_changes_is_that_of_its_template(tmp_path: Path) -> None:
    task = LLM4AD_TASK.replace("template_program=template_program", "template_program=changed(template_program)")
    loaded = loaded_from(tmp_path, {**LLM4AD, "evaluation.py": task})
    assert loaded.problem.seeds[0].files[0][1].startswith("import math")


def test_programs_of_llm4ad_may_have_annotations_that_nothing_defines(tmp_path: Path) -> None:
    program = "def step(position: Position) -> List[Position]:\n    return position + 4\n"
    assert bridged(loaded_from(tmp_path, LLM4AD), tmp_path, program) == {"score": -2.0}


def test_a_file_outside_of_the_folder_is_named(tmp_path: Path) -> None:
    task = LLM4AD_TASK.replace(
        "from llm4ad.base", "from llm4ad.task.optimization.shared import roads\nfrom llm4ad.base"
    )
    with pytest.raises(
        AssertionError, match=r"roads of llm4ad\.task\.optimization\.shared lies outside of the problem's"
    ):
        bridged(loaded_from(tmp_path, {**LLM4AD, "evaluation.py": task}), tmp_path)


def test_a_module_of_llm4ad_from_above_the_folder_comes_along(tmp_path: Path) -> None:
    task = LLM4AD_TASK.replace("from llm4ad.base", "from llm4ad.task.shared import FACTOR\nfrom llm4ad.base")
    task = task.replace("-abs(", "-FACTOR * abs(")
    write(tmp_path, {"pyproject.toml": "", "llm4ad/task/shared.py": "FACTOR = 2\n"})
    write(tmp_path / "llm4ad" / "task" / "walk", {**LLM4AD, "evaluation.py": task})
    loaded = load_problem(tmp_path / "llm4ad" / "task" / "walk")
    assert bridged(loaded, tmp_path) == {"score": -14.0}


def test_only_the_marked_function_of_funsearch_is_the_program(tmp_path: Path) -> None:
    loaded = loaded_from(tmp_path, {"specification.txt": FUNSEARCH})
    program = loaded.problem.seeds[0].files[0][1]
    assert program.startswith("def priority(place: int) -> float:")
    assert "evaluate" not in program
    assert "def evaluate" in loaded.problem.description
    assert bridged(loaded, tmp_path) == {"score": 4.0, "score_1": 3.0, "score_2": 4.0}  # the last input counts


def test_a_file_alone_is_a_specification(tmp_path: Path) -> None:
    write(tmp_path / "folder", {"walks.py": FUNSEARCH})
    loaded = load_problem(tmp_path / "folder" / "walks.py")
    assert loaded.problem.name == "walks"
    assert bridged(loaded, tmp_path)["score"] == 4.0


@pytest.mark.parametrize(
    ("line", "run", "evolve"),
    [
        ("import funsearch", "@funsearch.run", "@funsearch.evolve"),
        ("import funsearch as fs", "@fs.run", "@fs.evolve"),
        ("from funsearch import evolve, run", "@run", "@evolve"),
    ],
)
def test_a_specification_and_its_programs_may_import_funsearch(
    tmp_path: Path, line: str, run: str, evolve: str
) -> None:
    text = FUNSEARCH.replace("import math", f"import math\n{line}")
    text = text.replace("@funsearch.run", run).replace("@funsearch.evolve", evolve)
    loaded = loaded_from(tmp_path, {"walks.py": text})
    program = f"{line}\n{evolve}\ndef priority(place):\n    return 2.0\n"
    assert bridged(loaded, tmp_path / "seed")["score"] == 4.0
    assert bridged(loaded, tmp_path / "program", program)["score"] == 8.0


def test_a_module_funsearch_of_the_folder_is_imported_as_it_is(tmp_path: Path) -> None:
    text = FUNSEARCH.replace("import math", "import math\nimport funsearch").replace(
        "return walk", "return funsearch.FACTOR * walk"
    )
    loaded = loaded_from(tmp_path, {"walks.txt": text, "funsearch.py": "FACTOR = 5\n"})
    assert bridged(loaded, tmp_path)["score"] == 20.0


def test_the_scorer_of_funsearch_cannot_be_replaced(tmp_path: Path) -> None:
    program = "def walk(n):\n    return 1e9\n\n\ndef priority(place):\n    return 1.0\n"
    found = bridged(loaded_from(tmp_path, {"specification.txt": FUNSEARCH}), tmp_path, program)
    assert found == {"error": "the program defines walk, which belongs to the scorer: leave it out"}


def test_the_inputs_of_funsearch_lie_in_a_file_or_are_the_calls_of_a_notebook(tmp_path: Path) -> None:
    bare = FUNSEARCH.replace("inputs = [3, 4]\n", "")
    loaded = loaded_from(tmp_path / "a", {"specification.txt": bare, "inputs.json": "[5]"})
    assert bridged(loaded, tmp_path / "a") == {"score": 5.0}
    cells = [bare.replace("@funsearch", "# @funsearch"), "for n in range(2, 4):\n  print(n, evaluate(n=n))"]
    notebook = {"cells": [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]}
    loaded = loaded_from(tmp_path / "b", {"walks.ipynb": json.dumps(notebook)})
    assert bridged(loaded, tmp_path / "b") == {"score": 3.0, "score_1": 2.0, "score_2": 3.0}


def test_a_specification_may_be_a_text_of_a_script_or_a_notebook(tmp_path: Path) -> None:
    bare = FUNSEARCH.replace("inputs = [3, 4]\n", "").replace('"""', "'")
    script = f'"""Searches."""\nimport sampler\n\nspecification = r"""\n{bare}"""\nsampler.begin(specification)\n'
    loaded = loaded_from(tmp_path / "a", {"search.py": script, "inputs.json": "[5]"})
    assert loaded.problem.description.startswith("Finds long walks.")
    assert bridged(loaded, tmp_path / "a") == {"score": 5.0}
    cells = [f'specification = r"""\n{bare}"""\n', "sampler.begin(specification)"]
    notebook = {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}
    loaded = loaded_from(tmp_path / "b", {"walks.ipynb": json.dumps(notebook), "inputs.json": "[5]"})
    assert bridged(loaded, tmp_path / "b") == {"score": 5.0}


@pytest.mark.parametrize("name", ["walks.py", "walks.txt"])
def test_the_inputs_of_a_specification_that_is_named_as_a_file_lie_beside_it(tmp_path: Path, name: str) -> None:
    bare = FUNSEARCH.replace("inputs = [3, 4]\n", "")
    folder = write(tmp_path / "folder", {name: bare, "inputs.json": "[5]", "other.json": "[6]"})
    loaded = load_problem(folder / name)
    assert bridged(loaded, tmp_path) == {"score": 5.0}
    assert "other.json" not in open_bundle(loaded.bundle).files


@pytest.mark.parametrize(
    ("text", "form", "script"),
    [
        (FUNSEARCH, None, False),
        ("print('score', 1)\n", "funsearch", False),
        ("print('score', 1)\n", None, True),
        (FUNSEARCH.replace("@funsearch.run", ""), None, True),
    ],
)
def test_a_file_is_a_script_unless_it_is_a_problem_or_has_a_format(
    tmp_path: Path, text: str, form: str | None, script: bool
) -> None:
    place = write(tmp_path, {"walks.py": text}) / "walks.py"
    names = (
        "evaluator",
        "command",
        "source",
        "metric",
        "pattern",
        "read",
        "path",
        "python",
        "minimize",
        "goal",
        "save",
    )
    words = {**dict.fromkeys(names), "problem": place, "format": form, "trust_score": False}
    assert read_command_options(words).order.script == (place if script else None)


def test_the_reference_of_algotune_is_the_program_without_its_scorer(tmp_path: Path) -> None:
    loaded = loaded_from(tmp_path, {"doubling.py": ALGOTUNE, "description.txt": "Double a list.\n"})
    program = loaded.problem.seeds[0].files[0][1]
    assert "class Solver:" in program
    assert "def _twice" in program
    assert "AlgoTune" not in program
    assert "is_solution" not in program
    assert loaded.problem.description.startswith("Double a list.")
    assert bridged(loaded, tmp_path)["speedup"] > 0


def test_a_class_solver_that_the_reference_of_algotune_imports_keeps_its_own_name(tmp_path: Path) -> None:
    task = ALGOTUNE.replace("[self._twice(", "[Solver(value=2).value and self._twice(")
    assert task != ALGOTUNE
    files: dict[str, str | bytes] = {
        "doubling.py": f"from types import SimpleNamespace as Solver\n{task}",
        "description.txt": "Double a list.\n",
    }
    loaded = loaded_from(tmp_path, files)
    assert "ImportedSolver(value=2)" in loaded.problem.seeds[0].files[0][1]
    assert bridged(loaded, tmp_path)["speedup"] > 0


def test_a_wrong_solution_has_the_tasks_own_reason(tmp_path: Path) -> None:
    program = "class Solver:\n    def solve(self, problem):\n        return []\n"
    error = bridged(loaded_from(tmp_path, {"doubling.py": ALGOTUNE}), tmp_path, program)["error"]
    assert error.startswith("is_solution refuses the solution of instance 1 of size")
    assert error.endswith(": the lengths differ")


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"prob.py": "from eoh import BaseProblem\n"}, "prob.py has no class of BaseProblem with a method"),
        ({"prob.py": EOH_PROBLEM.replace('"""\nimport', 'f"""\nimport')}, "template_program of Walk is not the text"),
        ({**LLM4AD, "template.py": "template_program = make()\n"}, "write it out there or in template.py"),
        ({"evaluation.py": LLM4AD_TASK.replace("def evaluate_program", "def judge")}, "has no class of Evaluation"),
        ({"a.txt": FUNSEARCH.replace("inputs = [3, 4]\n", "")}, "does not say what evaluate is called with"),
        ({"a.txt": FUNSEARCH, "inputs.json": "[1"}, "inputs.json is not JSON"),
        ({"a.txt": FUNSEARCH, "inputs.json": "[]"}, "does not say what evaluate is called with"),
        ({"a.txt": FUNSEARCH, "b.txt": FUNSEARCH}, "one file with both marks, not a.txt, b.txt: name one of them"),
        ({"a.txt": FUNSEARCH.replace("@funsearch.evolve", "@funsearch.evolve\n\n")}, "put it directly above"),
        ({"a.txt": FUNSEARCH + FUNSEARCH}, "has @funsearch.run more than once: mark one function"),
        (
            {"a.txt": FUNSEARCH.replace("@funsearch.run", "")},
            "a.txt has @funsearch.evolve and no @funsearch.run: mark the function that scores with it",
        ),
        (
            {"a.py": FUNSEARCH.replace("@funsearch.evolve", "")},
            "a.py has @funsearch.run and no @funsearch.evolve: mark the function that may change with it",
        ),
        ({"a.py": ALGOTUNE.replace("def is_solution", "def judge")}, "the class Doubling lacks is_solution"),
    ],
)
def test_half_a_problem_is_refused_with_the_cure(tmp_path: Path, files: dict[str, str | bytes], sentence: str) -> None:
    with pytest.raises(InvalidProblemError, match=sentence):
        load_problem(write(tmp_path, files))


@pytest.mark.parametrize(
    "files",
    [
        {"prob.py": "class Walk(BaseProblem):\n    pass\n"},
        {"prob.py": "from eoh import ("},
        {"evaluation.py": LLM4AD_TASK.replace("llm4ad", "other")},
        {"a.ipynb": "{"},
        {"a.py": ALGOTUNE.replace("AlgoTuneTasks", "other")},
    ],
)
def test_files_of_other_projects_are_not_taken(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    with pytest.raises(InvalidProblemError, match="holds neither"):
        load_problem(write(tmp_path, files))
