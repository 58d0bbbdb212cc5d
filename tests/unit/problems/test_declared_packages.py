"""Packages that a problem needs are read from the files in which projects declare them."""

import pytest

from service.problems.declared_packages import declared_packages
from service.problems.folder import Folder

CONDA = """
name: env
dependencies:
  - python=3.11
  - pip
  - numpy=2.1
  - conda-forge::scipy>=1.10
  - networkx
  - openssl=3.0=h7f98852_0
  - pip:
      - torch==2.4
      - cma
"""


def declared(**files: str) -> tuple[str, tuple[str, ...]] | None:
    contents = {name.replace("__", "."): text.encode() for name, text in files.items()}
    found = declared_packages(Folder(files=contents), "judge/evaluator.py")
    return (found.file, found.lines) if found else None


@pytest.mark.parametrize(
    ("file", "text", "lines"),
    [
        ("requirements__txt", "# why\nnumpy>=2  # so\n\nscipy\n", ("numpy>=2", "scipy")),
        ("pyproject__toml", "[project]\nname = 'p'\ndependencies = ['numpy>=2', 'scipy']\n", ("numpy>=2", "scipy")),
        (
            "environment__yml",
            CONDA,
            ("numpy==2.1", "scipy>=1.10", "networkx", "openssl==3.0", "torch==2.4", "cma"),
        ),
    ],
)
def test_each_file_is_read(file: str, text: str, lines: tuple[str, ...]) -> None:
    assert declared(**{file: text}) == (file.replace("__", "."), lines)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("requirements__txt", "# nothing\n"),
        ("pyproject__toml", "[tool.ruff]\nline-length = 9\n"),
        ("pyproject__toml", "[project]\ndependencies = 'numpy'\n"),
        ("pyproject__toml", "project ="),
        ("environment__yml", "dependencies: numpy\n"),
        ("environment__yml", "dependencies: [python=3.11, {pip: numpy}, 3]\n"),
    ],
)
def test_files_that_declare_nothing_count_as_none(file: str, text: str) -> None:
    assert declared(**{file: text}) is None


def test_the_file_beside_the_evaluator_goes_before_one_at_the_top() -> None:
    files = {"requirements__txt": "a\n", "judge/requirements__txt": "b\n"}
    assert declared(**files) == ("requirements.txt", ("b",))
    assert declared(requirements__txt="a\n", pyproject__toml="[project]\ndependencies = ['b']\n") == (
        "requirements.txt",
        ("a",),
    )
