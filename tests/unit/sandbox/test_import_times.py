import builtins
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.sandbox.inside import import_times


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed modules that take long to import."""
    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    monkeypatch.setattr(import_times, "MIN_SECONDS", 0.0)
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "slow_package"
    package.mkdir()
    (package / "__init__.py").write_text("import slow_inner\n")
    (package / "part.py").write_text("from . import other\n")
    (package / "other.py").write_text("")
    (tmp_path / "slow_inner.py").write_text("")
    (tmp_path / "slow_broken.py").write_text("raise ValueError('no')\n")
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def run(text: str) -> None:
    exec(text, {"__name__": "x", "__package__": ""})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import slow_package", {"slow_package"}),
        ("import slow_package.part as p", {"slow_package.part"}),
        ("from slow_package import part", {"slow_package.part"}),
        ("from slow_package.part import other", {"slow_package.part"}),
        ("import slow_inner\nimport slow_package", {"slow_inner", "slow_package"}),
    ],
)
def test_a_module_counts_with_the_one_that_imports_it(site: Path, text: str, names: set[str]) -> None:
    found = import_times.taken("/nowhere")
    run(text)
    slow = {name for name in found if name.startswith("slow")}
    assert slow == names
    assert all(seconds > 0 for seconds in found.values())


def test_a_module_of_the_problem_counts_by_what_it_imports(site: Path) -> None:
    own = site / "own"
    own.mkdir()
    (own / "mine.py").write_text("import slow_package\n")
    sys.path.insert(0, str(own))
    found = import_times.taken(str(own))
    run("import mine")
    sys.path.remove(str(own))
    assert {name for name in found if name.startswith("slow")} == {"slow_package"}
    assert "mine" not in found


def test_an_import_that_fails_still_fails(site: Path) -> None:
    import_times.taken("/nowhere")
    with pytest.raises(ValueError, match="no"):
        run("import slow_broken")


def test_so_many_modules_are_told_and_no_more(site: Path) -> None:
    for number in range(import_times.MAX_MODULES + 5):
        (site / f"slow_{number}.py").write_text("")
    found = import_times.taken("/nowhere")
    run("\n".join(f"import slow_{number}" for number in range(import_times.MAX_MODULES + 5)))
    assert len(found) == import_times.MAX_MODULES
