"""Problems that import from outside of their folder: scored in the sandbox, uploaded, and imported."""

from pathlib import Path

from service.bootstrap.runs import check_folder
from service.config import DatabaseSettings, PoliciesSettings, Settings
from service.ports import Upload
from service.problems.bundle import open_bundle, unpack
from service.problems.check import CheckReport
from service.problems.load import load_problem
from service.problems.problem_lines import problem_lines
from service.problems.project import Project
from service.problems.upload import load_upload
from service.problems.upload_request import upload_of
from tests.unit.problems.folders import NATIVE, write

# As benchmarks/gpu_mode of SkyDiscover: the evaluator is a module above the folder, and imports from it in turn.
SHARED = """
import json, os, runpy, subprocess, sys
import reference
from library.numbers import WEIGHT
def evaluate(program_path):
    found = runpy.run_path(program_path)["solve"]()
    child = subprocess.run([sys.executable, "-c", "import shared_eval; print(shared_eval.CASES)"], capture_output=True)
    return {"combined_score": WEIGHT * found * reference.SCALE, "cases": float(child.stdout or -1)}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.json")) as file:
    CASES = json.load(file)
"""
EVALUATOR = """
import os, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from shared_eval import evaluate
"""
TAMPERING = """
import os
from library import numbers
def solve():
    place = os.path.dirname(numbers.__file__)
    for path in (numbers.__file__, os.path.join(place, "more.py")):
        try:
            open(path, "w").write("WEIGHT = 99")
            return 99.0
        except OSError:
            pass
    return float(numbers.WEIGHT)
"""


def checkout(place: Path, program: str) -> Path:
    write(
        place,
        {
            "pyproject.toml": "", "library/numbers.py": "WEIGHT = 3\n", "suite/shared_eval.py": SHARED,
            "suite/cases.json": "7", "suite/gray/evaluator.py": EVALUATOR, "suite/gray/reference.py": "SCALE = 2\n",
            "suite/gray/initial_program.py": program, "suite/gray/config.yaml": "max_iterations: 3\n",
        },
    )  # fmt: skip
    return place / "suite" / "gray"


async def check(place: Path, project: Path | Project) -> CheckReport:
    settings = Settings(
        database=DatabaseSettings(url=f"sqlite:///{place}/runs.db"),
        policies=PoliciesSettings(file=place / "policies.toml"),
    )
    return await check_folder(settings, project)


async def test_an_evaluator_above_the_folder_scores_as_it_lies(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "def solve():\n    return 5\n")
    report = await check(tmp_path, folder)
    assert not report.complaints
    assert report.seeds[0].evaluation.scores == {"combined_score": 30.0, "cases": 7.0}
    loaded = load_problem(folder)
    assert problem_lines(loaded)[5] == "imported from outside: cases.json, library/numbers.py, shared_eval.py"


async def test_an_imported_problem_and_an_upload_need_no_root(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "there", "def solve():\n    return 5\n")
    here = load_problem(folder)
    unpack(here.bundle, tmp_path / "imported")
    report = await check(tmp_path, tmp_path / "imported")
    assert report.seeds[0].evaluation.scores == {"combined_score": 30.0, "cases": 7.0}
    sent = upload_of(folder)
    assert "evolve_imports/shared_eval.py" in sent.files
    upload = Upload(name="gray", files={path: text.encode() for path, text in sent.files.items()})
    assert open_bundle(load_upload(upload).bundle).files == open_bundle(here.bundle).files


async def test_programs_import_from_outside_and_change_nothing_there(tmp_path: Path) -> None:
    report = await check(tmp_path, checkout(tmp_path, TAMPERING))
    assert report.seeds[0].evaluation.scores == {"combined_score": 18.0, "cases": 7.0}


SEPARATE = """
from library.numbers import WEIGHT
def score(outputs, program):
    return {"gain": WEIGHT + outputs[0]["value"]}
"""
PEEPING = """
import sys
def solve():
    try:
        import library.numbers
        return 90
    except ImportError:
        return 90 if any("evolve_imports" in path for path in sys.path) else 1
"""


async def test_with_separate_integrity_the_scorer_alone_imports_from_outside(tmp_path: Path) -> None:
    files = {"problem.toml": NATIVE, "seed.py": PEEPING, "evaluator.py": SEPARATE}
    write(tmp_path, {"library/numbers.py": "WEIGHT = 3\n", **{f"p/{name}": text for name, text in files.items()}})
    report = await check(tmp_path, tmp_path / "p")
    assert not report.complaints
    assert report.seeds[0].evaluation.scores == {"gain": 4.0}


async def test_a_root_is_where_modules_are_looked_for(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "def solve():\n    return 5\n")
    (tmp_path / "library").rename(tmp_path / "elsewhere")
    write(tmp_path, {"other/library/numbers.py": "WEIGHT = 4\n"})
    (tmp_path / "suite" / "shared_eval.py").rename(tmp_path / "other" / "shared_eval.py")
    (tmp_path / "suite" / "cases.json").rename(tmp_path / "other" / "cases.json")
    assert "No module named 'shared_eval'" in str((await check(tmp_path, folder)).complaints)
    report = await check(tmp_path, Project(folder=folder, root=tmp_path / "other"))
    assert report.seeds[0].evaluation.scores == {"combined_score": 40.0, "cases": 7.0}


async def test_a_package_in_src_of_the_problem_scores_and_is_stored(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    write(
        folder,
        {
            "src/pack/__init__.py": "from pack.numbers import WEIGHT\n", "src/pack/numbers.py": "WEIGHT = 3\n",
            "evaluator.py": "from pack import WEIGHT\ndef evaluate(path):\n    return {'combined_score': WEIGHT}\n",
            "initial_program.py": "",
        },
    )  # fmt: skip
    report = await check(tmp_path, folder)
    assert not report.complaints
    assert report.seeds[0].evaluation.scores == {"combined_score": 3.0}
    before = load_problem(folder).bundle
    assert "evolve_imports/pack/numbers.py" in open_bundle(before).files
    (folder / "src" / "pack" / "numbers.py").write_text("WEIGHT = 4\n")
    assert load_problem(folder).bundle != before
    (folder / "src").rename(folder / "lib")
    assert "No module named 'pack'" in str((await check(tmp_path, folder)).complaints)
    report = await check(tmp_path, Project(folder=folder, root=folder / "lib"))
    assert report.seeds[0].evaluation.scores == {"combined_score": 4.0}


async def test_a_module_that_a_checkout_adds_to_openevolve_is_imported(tmp_path: Path) -> None:
    source = (
        "from openevolve.evaluation_result import EvaluationResult\nfrom openevolve.fork.fitness import WEIGHT\n"
        "def evaluate(path):\n    return EvaluationResult(metrics={'combined_score': WEIGHT})\n"
    )
    write(
        tmp_path,
        {
            "pyproject.toml": "", "openevolve/__init__.py": "import absent\n", "openevolve/fork/__init__.py": "",
            "openevolve/fork/fitness.py": "WEIGHT = 5\n", "examples/p/evaluator.py": source,
            "examples/p/initial_program.py": "",
        },
    )  # fmt: skip
    report = await check(tmp_path, tmp_path / "examples" / "p")
    assert not report.complaints
    assert report.seeds[0].evaluation.scores == {"combined_score": 5.0}
