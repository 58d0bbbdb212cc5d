"""Files of a program are bounded where the scratch is on disk too, and are gone before the next one begins."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Integrity
from service.errors import NoRoomError
from service.sandbox.inside import namespaces
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import ECHO, GOOD, LIMITS, keeper_of, program, sandbox

ON_DISK = [IsolationLevel.MEDIUM, IsolationLevel.WEAK, IsolationLevel.NONE]
PATIENT = replace(LIMITS, wall_seconds=60.0, cpu_seconds=60.0)
FILL = """
import os, time
def solve():
    {prepare}
    for number in range(2047):
        file = open(f"{{number}}", "wb")
        file.write(bytes(1 << 20))
        {after}
    time.sleep(60)
"""


def left(base: Path) -> list[Path]:
    return list(base.glob("cells/*/*/scratch/*"))


@pytest.mark.parametrize(
    ("prepare", "after"),
    [
        ("pass", "file.close()"),
        ("pass", "file.flush(); os.unlink(file.name); held = globals().setdefault('held', []); held.append(file)"),
        ("os.umask(0); os.mkdir('closed', 0o300); os.chdir('closed')", "file.close()"),
    ],
    ids=["files", "files without a name", "files in a closed folder"],
)
@pytest.mark.parametrize("force", [IsolationLevel.MEDIUM, IsolationLevel.WEAK])
async def test_files_on_disk_are_bounded_together(
    tmp_path: Path, force: IsolationLevel, prepare: str, after: str
) -> None:
    source = FILL.format(prepare=prepare, after=after)
    async with sandbox(tmp_path, force=force, limits=PATIENT) as opened:
        first = keeper_of(opened)
        evaluation = await opened.evaluate(program(source), "evl_1")
        assert not left(opened.folder)
        assert (await opened.evaluate(GOOD, "evl_2")).ok
        assert keeper_of(opened) == first
    assert evaluation.outcome is Outcome.MEMORY
    assert evaluation.reason == "the program's files in its scratch took more than 8 MB"


@pytest.mark.parametrize("force", [IsolationLevel.MEDIUM, IsolationLevel.WEAK])
async def test_names_on_disk_are_bounded(tmp_path: Path, force: IsolationLevel) -> None:
    source = """
        import os, time
        def solve():
            for number in range(17_000): os.close(os.open(f"{number}", os.O_CREAT))
            time.sleep(60)
    """
    async with sandbox(tmp_path, force=force, limits=PATIENT) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        assert not left(opened.folder)
    assert (evaluation.outcome, evaluation.reason.rpartition(" took ")[2]) == (Outcome.MEMORY, "more than 16384 files")


@pytest.mark.parametrize("force", [IsolationLevel.MEDIUM, IsolationLevel.WEAK])
async def test_folders_too_deep_to_count_are_refused(tmp_path: Path, force: IsolationLevel) -> None:
    source = """
        import os, time
        def solve():
            for _ in range(60):
                os.mkdir("d" * 200); os.chdir("d" * 200)
            open("hidden", "wb").write(bytes(1 << 20))
            time.sleep(60)
    """
    async with sandbox(tmp_path, force=force, limits=PATIENT) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert (evaluation.outcome, evaluation.reason.rpartition(" took ")[2]) == (Outcome.MEMORY, "more than 16384 files")


@pytest.mark.parametrize("integrity", list(Integrity))
@pytest.mark.parametrize("force", ON_DISK)
async def test_a_scratch_is_empty_as_soon_as_its_evaluation_ended(
    tmp_path: Path, force: IsolationLevel, integrity: Integrity
) -> None:
    evaluator = "def evaluate(path):\n    return {'score': 1.5}\n" if integrity is Integrity.SHARED else ECHO
    async with sandbox(tmp_path, evaluator, force=force, integrity=integrity, slots=2) as opened:
        for number in range(3):
            assert (await opened.evaluate(GOOD, f"evl_{number}")).ok
            assert not left(opened.folder)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "closed").mkdir(mode=0o300)
    yield folder
    (folder / "closed").chmod(0o700)


@pytest.mark.parametrize("force", [IsolationLevel.WEAK, IsolationLevel.NONE])
async def test_no_folder_outside_is_opened_by_who_counts_files(
    tmp_path: Path, force: IsolationLevel, outside: Path
) -> None:
    source = f"""
        import os, time
        def solve():
            os.symlink({str(outside)!r}, "away")
            os.symlink({str(outside / "closed")!r}, "closed")
            time.sleep(0.3)
            return 1.0
    """
    async with sandbox(tmp_path, force=force) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).ok
    assert os.stat(outside / "closed").st_mode & 0o777 == 0o300


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of 64 MB, where scratch is made; other users must be able to enter it."""
    disk = Path(tempfile.mkdtemp())
    disk.chmod(0o711)
    namespaces.mount_scratch(str(disk), size_kb=64 << 10, files=32_768, owner=0, mode="711")
    monkeypatch.setattr("tempfile.tempdir", str(disk))
    yield disk
    namespaces.unmount(str(disk))
    disk.rmdir()


def free_bytes(disk: Path) -> int:
    about = os.statvfs(disk)
    return about.f_bavail * about.f_frsize


@pytest.mark.root
async def test_a_program_that_fills_a_small_disk_costs_itself_alone(small_disk: Path, tmp_path: Path) -> None:
    source = FILL.format(prepare="pass", after="file.close()")
    async with sandbox(tmp_path, force=IsolationLevel.MEDIUM, limits=PATIENT) as opened:
        before = free_bytes(small_disk)
        for number in range(3):
            evaluation = await opened.evaluate(program(source), f"evl_{number}")
            assert evaluation.outcome in {Outcome.MEMORY, Outcome.ERROR}, evaluation
            assert before - free_bytes(small_disk) < 1 << 20
            assert (await opened.evaluate(GOOD, "evl_good")).ok


@pytest.mark.root
async def test_a_full_disk_is_nobodys_fault_but_the_machines(small_disk: Path, tmp_path: Path) -> None:
    writes = program("def solve():\n    open('file', 'wb').write(bytes(1 << 20))\n    return 1.0\n")
    async with sandbox(tmp_path, force=IsolationLevel.MEDIUM) as opened:
        assert (await opened.evaluate(writes, "evl_1")).ok
        (small_disk / "filler").write_bytes(bytes(free_bytes(small_disk)))
        for candidate in (writes, GOOD):
            with pytest.raises(NoRoomError, match=f"^the disk of {small_disk}.* is full: .* Make room"):
                await opened.evaluate(candidate, "evl_2")
        with pytest.raises(NoRoomError):
            async with sandbox(tmp_path / "other"):
                pass
        (small_disk / "filler").unlink()
        assert (await opened.evaluate(writes, "evl_3")).ok
