"""What of a problem's folder is compiled before an evaluation, under no limit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.sandbox.folder import SandboxFolders, prepare, size_kb


@pytest.fixture
def places(tmp_path: Path) -> Iterator[SandboxFolders]:
    """Those of a problem with a large module, many small ones, and a folder that is called like one."""
    problem = tmp_path / "problem"
    (problem / "folder.py").mkdir(parents=True)
    (problem / "evaluator.py").write_text("def score(outputs, program): ...\n")
    (problem / "large.py").write_text("x = [1, 2, 3]\n" * 200_000)
    for number in range(40):
        (problem / f"small_{number:02}.py").write_text("x = 1\n" * 40_000)
    found = prepare(problem, 1)
    yield found
    found.remove()


def test_no_more_is_compiled_than_fits_into_memory(places: SandboxFolders) -> None:
    names = [Path(path).name for path in places.sources()]
    assert "evaluator.py" in names
    assert not {"large.py", "folder.py"} & set(names)
    assert 10 < len(names) < 20


def test_the_size_of_paths_is_that_of_the_files_at_and_below_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    for name, size in (("data/a", 4096), ("data/deep/b", 8192), ("alone", 1024)):
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "data" / "loop").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "gone").symlink_to("/nowhere")
    names = [str(tmp_path / name) for name in ("data", "alone", "missing")]
    assert 12 <= size_kb(names[:1]) <= 13
    assert size_kb(names[1:]) == 1
    monkeypatch.setattr("service.sandbox.folder._MAX_COUNTED", 1)
    assert size_kb(names) < 13
