"""Modules that a problem imports from outside of its folder: which are taken, and which are left or refused."""

import os
from pathlib import Path

import pytest

from service.problems.folder import read_folder
from service.problems.outside_modules import MAX_BYTES, OutsideModules, find_modules
from tests.unit.problems.folders import write


def found(place: Path, problem: str, root: Path | None = None) -> OutsideModules:
    files, complaints = read_folder(place / problem)
    assert not complaints
    return find_modules(files.files, place / problem, root)


def names(modules: OutsideModules) -> list[str]:
    assert not modules.complaints
    return [path.removeprefix("evolve_imports/") for path in modules.files]


def test_what_is_imported_is_taken_and_nothing_else(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pyproject.toml": "", ".env": "KEY=1", "secret.py": "", "benchmarks/other.py": "",
            "benchmarks/shared.py": "import json, lazy, numpy\nimport reference\n",
            "benchmarks/lazy.py": "def f():\n    from lib.deep import tool\n",
            "lib/__init__.py": "from . import base\n", "lib/base.py": "", "lib/unused.py": "",
            "lib/deep/__init__.py": "", "lib/deep/tool.py": "from ..sums import add\n", "lib/sums.py": "",
            "benchmarks/p/evaluator.py": "from shared import evaluate\n", "benchmarks/p/reference.py": "",
            "benchmarks/p/seed.py": "import openevolve, math\n", "openevolve/__init__.py": "", "math.py": "",
        },
    )  # fmt: skip
    before = sorted(tmp_path.rglob("*"))
    assert names(found(tmp_path, "benchmarks/p")) == [
        "lazy.py", "lib/__init__.py", "lib/base.py", "lib/deep/__init__.py", "lib/deep/tool.py", "lib/sums.py",
        "shared.py",
    ]  # fmt: skip
    assert sorted(tmp_path.rglob("*")) == before


def test_of_a_package_with_a_stand_in_single_modules_are_taken(tmp_path: Path) -> None:
    source = (
        "from shinka.core import run_shinka_eval\nfrom shinka.utils.wolfram import argv\n"
        "from llm4ad.base import Evaluation\nfrom llm4ad.task.trips.template import text\n"
        "from llm4ad.task.utils import load\n"
    )
    write(
        tmp_path,
        {
            "pyproject.toml": "", "shinka/__init__.py": "import absent\n", "shinka/core/__init__.py": "",
            "shinka/utils/__init__.py": "from . import plots\n", "shinka/utils/plots.py": "",
            "shinka/utils/wolfram.py": "import os\n", "llm4ad/base/__init__.py": "", "llm4ad/task/utils.py": "",
            "llm4ad/task/trips/template.py": "", "llm4ad/task/trips/evaluation.py": source,
        },
    )  # fmt: skip
    assert names(found(tmp_path, "llm4ad/task/trips")) == ["llm4ad/task/utils.py", "shinka/utils/wolfram.py"]


def test_of_openevolve_modules_that_the_checkout_alone_has_are_taken(tmp_path: Path) -> None:
    source = (
        "from openevolve.evaluation_result import EvaluationResult\nfrom openevolve import config, OpenEvolve\n"
        "def evaluate(path):\n    from openevolve.fork.fitness import fast\n"
    )
    write(
        tmp_path,
        {
            "pyproject.toml": "", "openevolve.py": "", "openevolve/__init__.py": "import openevolve.controller\n",
            "openevolve/controller.py": "", "openevolve/evaluation_result.py": "", "openevolve/config.py": "",
            "openevolve/fork/__init__.py": "import absent\n", "openevolve/fork/unused.py": "",
            "openevolve/fork/fitness.py": "from . import parser\nfrom ..llm.base import ask\nfrom .lines import a\n",
            "openevolve/fork/parser.py": "", "openevolve/fork/lines.py": "", "openevolve/llm/openai.py": "",
            "openevolve/llm/base.py": "import openai\n", "examples/p/evaluator.py": source, "examples/p/config.py": "",
        },
    )  # fmt: skip
    assert names(found(tmp_path, "examples/p")) == [
        "openevolve/config.py", "openevolve/fork/fitness.py", "openevolve/fork/lines.py", "openevolve/fork/parser.py",
        "openevolve/llm/base.py",
    ]  # fmt: skip


def test_modules_of_the_problem_come_first(tmp_path: Path) -> None:
    write(tmp_path, {"utils.py": "", "p/evaluator/evaluator.py": "import utils\n", "p/evaluator/utils.py": ""})
    assert names(found(tmp_path, "p")) == []


def test_of_no_project_only_what_lies_beside_the_problem_is_found(tmp_path: Path) -> None:
    write(tmp_path, {"far.py": "", "a/near.py": "", "a/p/evaluator.py": "import near, far\n"})
    assert names(found(tmp_path, "a/p")) == ["near.py"]
    assert names(found(tmp_path, "a/p", tmp_path)) == ["far.py", "near.py"]


def test_nothing_is_looked_for_above_a_repository(tmp_path: Path) -> None:
    write(tmp_path, {"near.py": "", "p/.git/config": "", "p/evaluator.py": "import near\n"})
    assert names(found(tmp_path, "p")) == []
    assert names(found(tmp_path, "p", tmp_path)) == ["near.py"]


def test_nothing_is_looked_for_in_a_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"near.py": "", "p/evaluator.py": "import near\n"})
    monkeypatch.setenv("HOME", str(tmp_path))
    assert names(found(tmp_path, "p")) == []
    assert names(found(tmp_path, "p", tmp_path)) == ["near.py"]


def test_a_root_may_lie_beside_the_problem(tmp_path: Path) -> None:
    write(tmp_path, {"lib/tools/__init__.py": "", "work/p/evaluator.py": "import tools\n"})
    assert names(found(tmp_path, "work/p")) == []
    assert names(found(tmp_path, "work/p", tmp_path / "lib")) == ["tools/__init__.py"]


def test_a_folder_of_modules_that_the_source_names_is_searched(tmp_path: Path) -> None:
    source = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../utils'))\nimport sums\n"
    write(
        tmp_path,
        {"pyproject.toml": "", "utils/sums.py": "import more\n", "utils/more.py": "", "a/p/evaluator.py": source},
    )
    assert names(found(tmp_path, "a/p")) == ["more.py", "sums.py"]


SRC = {
    "src/pack/__init__.py": "from pack.deep import tool\n", "src/pack/deep/tool.py": "from .. import sums\n",
    "src/pack/sums.py": "", "src/pack/unused.py": "import pack.alone\n", "src/pack/alone.py": "", "src/flat.py": "",
}  # fmt: skip
TAKEN = ["pack/__init__.py", "pack/deep/tool.py", "pack/sums.py"]


@pytest.mark.parametrize(
    ("problem", "beside"), [("", ""), ("", "pyproject.toml"), ("", "setup.cfg"), ("a/b", "setup.cfg")]
)
def test_a_package_in_src_of_the_problem_or_above_is_taken(tmp_path: Path, problem: str, beside: str) -> None:
    write(tmp_path, {**SRC, beside or "README.md": "", f"{problem or '.'}/evaluator.py": "import pack\n"})
    assert names(found(tmp_path, problem)) == TAKEN


def test_a_source_that_names_src_finds_it_by_itself(tmp_path: Path) -> None:
    write(tmp_path, {**SRC, "evaluator.py": "import sys\nsys.path.insert(0, 'src')\nimport pack\n"})
    assert names(found(tmp_path, "")) == []


def test_a_root_may_lie_within_the_problem(tmp_path: Path) -> None:
    write(tmp_path, {f"lib/{path}": text for path, text in SRC.items()})
    write(tmp_path, {"tests/evaluator.py": "import pack, seed\n", "seed.py": ""})
    assert names(found(tmp_path, "")) == []
    assert names(found(tmp_path, "", tmp_path / "lib" / "src")) == TAKEN
    assert names(found(tmp_path, "", tmp_path / "lib")) == TAKEN
    assert names(found(tmp_path, "", tmp_path)) == ["seed.py"]


def test_src_that_is_a_link_is_not_searched(tmp_path: Path) -> None:
    write(tmp_path, {"far/pack.py": "", "there/p/evaluator.py": "import pack\n"})
    (tmp_path / "there" / "src").symlink_to(tmp_path / "far")
    assert names(found(tmp_path, "there/p")) == []


def test_data_that_a_module_names_comes_along_and_no_secret(tmp_path: Path) -> None:
    source = "FILES = ['cases.json', 'more/points.txt', '.env', '../outside.txt', 'absent.csv', 'other.py']\n"
    write(
        tmp_path,
        {
            "lib/__init__.py": source, "lib/cases.json": "[]", "lib/more/points.txt": "1", "lib/.env": "KEY=1",
            "lib/unnamed.json": "", "lib/other.py": "", "outside.txt": "", "p/evaluator.py": "import lib\n",
        },
    )  # fmt: skip
    assert names(found(tmp_path, "p")) == ["lib/__init__.py", "lib/cases.json", "lib/more/points.txt"]


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("/etc/hostname", "is a link out of"),
        ("nowhere", "cannot be read (No such file"),
        ("near.py", "cannot be read ("),
    ],
)
def test_links_that_lead_out_or_nowhere_are_refused(tmp_path: Path, target: str, sentence: str) -> None:
    write(tmp_path, {"p/evaluator.py": "import near\n"})
    (tmp_path / "near.py").symlink_to(target)
    (complaint,) = found(tmp_path, "p").complaints
    assert sentence in complaint
    assert "near.py, which evaluator.py imports" in complaint


def test_a_loop_of_folders_and_of_imports_ends(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"lib/a.py": "import lib.b\n", "lib/b.py": "import lib.a, lib.again.a\n", "p/seed.py": "import lib.a\n"},
    )
    (tmp_path / "lib" / "again").symlink_to(".")
    assert names(found(tmp_path, "p")) == ["lib/a.py", "lib/again/a.py", "lib/b.py"]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"p/evaluator.py": "import near\n"})
    os.mkfifo(tmp_path / "near.py")
    assert "is not a file" in found(tmp_path, "p").complaints[0]


def test_too_much_is_refused_in_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, {"near.py": "DATA = 'data.bin'\n", "p/evaluator.py": "import near\n"})
    with (tmp_path / "data.bin").open("wb") as file:
        file.truncate(MAX_BYTES)
    (complaint,) = found(tmp_path, "p").complaints
    assert "more than 16 MB or 500 files from outside of its folder" in complaint
    assert "evaluator.read" in complaint


def test_a_root_that_is_none_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"file": "", "p/evaluator.py": ""})
    assert "is not a folder" in found(tmp_path, "p", tmp_path / "file").complaints[0]
    assert "cannot be reached" in found(tmp_path, "p", tmp_path / "absent").complaints[0]


def test_a_source_that_is_not_python_imports_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"near.py": "", "p/evaluator.py": "import near\nthis is no Python\n", "p/b.py": b"\xff\x00"})
    assert names(found(tmp_path, "p")) == []
