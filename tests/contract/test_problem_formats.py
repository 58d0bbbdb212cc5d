"""Problem formats of the product keep the rules that those of users are held to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve.errors import ExtensionError
from evolve.extensions import ExtensionKind, Extensions, built_in_names
from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles, open_format
from evolve.testing import PROBLEM_FORMAT_RULES, converts_equally, recognises_its_form, refuses_half_a_form
from service.problems.folder import Folder
from service.problems.load import load_bundle, load_files, read_project
from service.problems.project import Project
from tests.unit.problems.folders import EVALUATE, NATIVE, SCORE, SEED, write
from tests.unit.problems.formats.samples import (
    ALGOTUNE,
    ALPHAEVOLVE_EVALUATE,
    ALPHAEVOLVE_PROGRAM,
    ALPHAEVOLVE_RUN,
    EOH_PROBLEM,
    EOH_START,
    FUNSEARCH,
    GEPA_MAIN,
    LLM4AD_TASK,
    LLM4AD_TEMPLATE,
)

FOLDERS: dict[str, dict[str, str]] = {
    "native": {"problem.toml": NATIVE, "seed.py": SEED, "evaluator.py": SCORE},
    "openevolve": {"initial_program.py": SEED, "evaluator.py": EVALUATE, "config.yaml": "max_iterations: 3\n"},
    "codeevolve": {
        "input/evaluate.py": "pass\n",
        "input/src/init_program.py": SEED,
        "configs/config.yaml": "EVOLVE_CONFIG: {fitness_key: gain}\n",
    },
    "gigaevo": {
        "validate.py": "def validate(output):\n    return {'fitness': output, 'is_valid': 1}\n",
        "metrics.yaml": "specs: {fitness: {is_primary: true, higher_is_better: true}}\n",
        "initial_programs/a.py": "def entrypoint():\n    return 1\n",
    },
    "shinka": {"initial.py": SEED, "evaluate.py": "pass\n", "run_evo.py": "task_sys_msg = 'Solve it.'\n"},
    "skydiscover": {"initial_program.py": SEED, "evaluator/evaluator.py": EVALUATE},
    "eoh": {"prob.py": EOH_PROBLEM, "runEoH.py": EOH_START},
    "llm4ad": {"evaluation.py": LLM4AD_TASK, "template.py": LLM4AD_TEMPLATE},
    "funsearch": {"specification.txt": FUNSEARCH},
    "algotune": {"doubling.py": ALGOTUNE, "description.txt": "Double a list.\n"},
    "gepa": {"main.py": GEPA_MAIN, "goal.py": "GOAL = 10\n"},
    "alphaevolve": {
        "src/run_evolution.py": ALPHAEVOLVE_RUN,
        "src/evaluate.py": ALPHAEVOLVE_EVALUATE,
        "src/program.py": ALPHAEVOLVE_PROGRAM,
    },
}


def folder(name: str) -> ProblemFolder:
    return ProblemFolder(files={path: text.encode() for path, text in FOLDERS[name].items()}, name=name)


def test_every_format_has_a_folder_here() -> None:
    assert tuple(FOLDERS) == built_in_names(ExtensionKind.PROBLEM_FORMAT)


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("rule", PROBLEM_FORMAT_RULES)
def test_problem_formats(name: str, rule: Callable[[Any, ProblemFolder], None]) -> None:
    rule(Extensions().resolve(ExtensionKind.PROBLEM_FORMAT, name)[1], folder(name))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_recognised_by_its_own_format_and_stored_in_evolves_form(name: str) -> None:
    loaded = load_files(Folder(files=folder(name).files), name, "here")
    title = Extensions().resolve(ExtensionKind.PROBLEM_FORMAT, name)[1].title
    assert loaded.form.startswith(title)
    again = load_bundle(loaded.bundle, "another name")
    assert (again.problem, again.search, again.policies) == (loaded.problem, loaded.search, loaded.policies)
    assert again.form == "a problem of Evolve (problem.toml)"


class Form:
    title = "a form of tests"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        there = tuple(path for path in ("a", "b") if path in folder.files)
        return RecognisedFiles(files=there, complete=len(there) == 2) if there else None

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        if len(folder.files) < 2:
            raise ConversionError("a or b is missing: add it")
        return ConvertedProblem(files=folder.files, document={"schema": 1})


class Eager(Form):
    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        return RecognisedFiles(files=())


class Blind(Form):
    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        return None


class Inventing(Form):
    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        return RecognisedFiles(files=("c",))


class Counting(Form):
    calls = 0

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        Counting.calls += 1
        return ConvertedProblem(files={}, document={"calls": Counting.calls})


class Empty(Form):
    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        return ConvertedProblem(files={})


class Careless(Form):
    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        return ConvertedProblem(files={}, document={"schema": 1})


class Raising(Form):
    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        raise ValueError("no luck today")


class Narrow(Form):
    folders: Any = ("kept",)


class Misnamed(Form):
    folders: Any = "kept"


def test_a_format_says_which_folders_it_takes(tmp_path: Path) -> None:
    assert open_format("codeevolve", Extensions()).folders == ("input", "configs")
    assert open_format("shinka", Extensions()).folders == ()
    assert open_format("funsearch", Extensions()).beside == ("inputs.json",)
    assert open_format("shinka", Extensions()).beside == ()
    here = __name__
    write(tmp_path, {"a": "1", "b": "2", "kept/c": "3", "other/d": "4"})
    form, files, complaints = read_project(Project(folder=tmp_path, form=f"{here}:Narrow"))
    assert (form, list(files.files), complaints) == (f"{here}:Narrow", ["a", "b", "evolve-project.json", "kept/c"], [])
    with pytest.raises(ExtensionError, match="folders is 'kept', not a sequence of names"):
        read_project(Project(folder=tmp_path, form=f"{here}:Misnamed"))


PAIR = ProblemFolder(files={"a": b"1", "b": b"2"})


@pytest.mark.parametrize("rule", PROBLEM_FORMAT_RULES)
def test_a_format_of_ones_own_keeps_them(rule: Callable[[Any, ProblemFolder], None]) -> None:
    rule(Form, PAIR)
    rule(Form(), PAIR)


@pytest.mark.parametrize(
    ("rule", "form", "sentence"),
    [
        (recognises_its_form, Eager, "it recognises a folder without a program"),
        (recognises_its_form, Blind, "it does not recognise the folder as complete"),
        (recognises_its_form, Inventing, "it names files that are not there"),
        (converts_equally, Counting, "it made two problems of one folder"),
        (converts_equally, Empty, "the problem has neither a document nor a file problem.toml"),
        (converts_equally, Raising, "failed: ValueError: no luck today"),
        (refuses_half_a_form, Careless, "it converted a folder that lacks a"),
    ],
)
def test_mistakes_break_a_rule(rule: Callable[[Any, ProblemFolder], None], form: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        rule(form, PAIR)
