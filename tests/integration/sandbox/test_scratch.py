"""Folders of processes that were killed go, those of the living and of others stay."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.sandbox import scratch
from service.sandbox.inside import wipe
from tests.integration.sandbox.bench import GOOD, names_in, sandbox

HOLDER = """
import sys, time
from service.sandbox import scratch
made = scratch.make("trial")
(made.path / "deep").mkdir()
(made.path / "deep" / "file").write_text("left")
print(made.path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders are made."""
    tmp_path.chmod(0o755)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def holder(place: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """A process that has made a folder, and the folder."""
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(place)}
    ) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_the_folder_of_a_process_goes_after_its_death_and_not_before(place: Path) -> None:
    with holder(place) as (process, left):
        scratch.sweep()
        assert (left / "deep" / "file").read_text() == "left"
        process.kill()
        process.wait()
        scratch.sweep()
        assert not left.exists()


def test_what_others_have_made_is_left_alone(place: Path) -> None:
    target = place / "target"
    target.mkdir()
    (target / "file").touch()
    (place / f"{scratch.PREFIX}link").symlink_to(target)
    (place / f"{scratch.PREFIX}file").touch()
    (place / "evolve-other").mkdir()
    before = sorted(place.rglob("*"))
    scratch.sweep()
    assert sorted(place.rglob("*")) == before


@pytest.mark.root
def test_a_folder_of_another_user_is_left_alone(place: Path) -> None:
    other = place / f"{scratch.PREFIX}other"
    other.mkdir()
    os.chown(other, 65534, 65534)
    scratch.sweep()
    assert other.exists()


def test_a_folder_that_is_swept_before_it_is_locked_is_made_anew(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[Path] = []

    def swept_at_once(*, prefix: str, dir: Path) -> str:  # noqa: A002 - the name of the one that it stands for
        path = dir / f"{prefix}{len(swept)}"
        if not swept:
            swept.append(path)
        else:
            path.mkdir()
        return str(path)

    monkeypatch.setattr("tempfile.mkdtemp", swept_at_once)
    made = scratch.make("trial")
    assert made.path.exists()
    assert made.path not in swept
    made.remove()
    assert list(place.iterdir()) == []


async def test_a_sandbox_clears_away_what_another_left_and_leaves_nothing(place: Path) -> None:
    problem = place.parent / f"{place.name}-problem"
    problem.mkdir()
    with holder(place) as (process, left):
        process.kill()
        process.wait()
        async with sandbox(problem) as opened:
            assert not left.exists()
            assert (await opened.evaluate(GOOD, "evl_1")).ok
            assert names_in(place) == [opened.folder.name]
    assert names_in(place) == []


def test_a_folder_for_a_socket_lies_at_a_short_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with scratch.folder("test", 90) as folder, scratch.folder("test") as other:
        assert len(str(folder)) <= 90
        assert other.parent == long
    assert not folder.exists()


def test_folders_as_deep_as_a_program_can_make_them_are_removed_at_once(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    deep.mkdir()
    with contextlib.chdir(deep):
        for _ in range(4000):
            os.mkdir("d", mode=0o300)
            os.chdir("d")
        (Path() / "file").touch()
    began = time.process_time()
    wipe.remove(str(deep))
    assert time.process_time() - began < 3.0, "in time by their number, not by its square"
    assert names_in(tmp_path) == []


def test_folders_that_their_owner_closed_are_removed(tmp_path: Path) -> None:
    for name in ("a/b", "a/c/d", "e"):
        (tmp_path / "top" / name).mkdir(parents=True)
    (tmp_path / "target").mkdir()
    (tmp_path / "top" / "a" / "link").symlink_to(tmp_path / "target")
    for name in ("a/c/d", "a/c", "a", "e", ""):
        (tmp_path / "top" / name).chmod(0)
    wipe.remove(str(tmp_path / "top"))
    assert names_in(tmp_path) == ["target"]
