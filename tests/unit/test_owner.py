"""A lease's owner is gone when it is a process that has ended and that this machine knows, and only then."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.process.identity import is_gone, this_process

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
LIVE = (
    "from service.process.identity import this_process; print(this_process(), flush=True); import time; time.sleep(60)"
)


@pytest.fixture(autouse=True)
def owners(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a home that is this test's own, where no process has named itself yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "evolve" / "owners"


@pytest.fixture
def process() -> Iterator["subprocess.Popen[str]"]:
    started = subprocess.Popen([sys.executable, "-c", LIVE], stdout=-1, text=True)
    yield started
    started.kill()
    started.communicate()


def owner_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_this_process_is_there_and_always_the_same() -> None:
    assert not is_gone(this_process())
    assert this_process() == this_process()


def test_nothing_is_left_where_temporary_files_are(tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    script = LIVE.rpartition("import")[0]
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(scratch)}, check=True, stdout=-3)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_is_gone_when_it_has_ended(process: "subprocess.Popen[str]", end: signal.Signals) -> None:
    owner = owner_of(process)
    assert not is_gone(owner)
    process.send_signal(end)
    process.wait()
    assert is_gone(owner)
    assert is_gone(owner), "asking changes nothing"


def test_what_a_process_starts_and_forks_keeps_no_name_alive(process: "subprocess.Popen[str]") -> None:
    owner = owner_of(process)
    assert this_process() != owner
    script = f"{LIVE.partition(';')[0]}; import os; first = this_process(); print(first)\nif os.fork() == 0:\n"
    script += "    print(this_process() != first, flush=True)\n    os._exit(0)\nos.wait()"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "True" in said


def test_a_process_of_another_container_whose_files_are_not_seen_is_not_gone(
    process: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    owner = owner_of(process)
    process.kill()
    process.wait()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    assert not is_gone(owner)


def test_a_process_of_another_machine_that_shares_the_folder_is_not_gone(process: "subprocess.Popen[str]") -> None:
    owner = owner_of(process)
    process.kill()
    process.wait()
    assert is_gone(owner)
    assert not is_gone(owner.replace(BOOT, str(uuid.uuid4())))


def test_nothing_is_known_of_a_name_that_is_none(tmp_path: Path) -> None:
    for owner in ("runner-1", "", "a:b:../../etc/passwd", "a:b:" + "0" * 32, f"a:b:{tmp_path}", "host:boot:123:456"):
        assert not is_gone(owner)


def test_a_folder_that_others_may_write_to_tells_nothing(owners: Path) -> None:
    owners.mkdir(parents=True)
    owners.chmod(0o777)
    (owners / ("a" * 32)).touch()
    assert not is_gone(f"host:{BOOT}:" + "a" * 32)
    owners.chmod(0o700)
    assert is_gone(f"host:{BOOT}:" + "a" * 32)


def test_files_of_processes_that_ended_long_ago_are_removed_by_one_that_has_asked_for_them(
    process: "subprocess.Popen[str]", owners: Path
) -> None:
    owners.mkdir(mode=0o700, parents=True)
    old, young, alive = owners / ("a" * 32), owners / ("b" * 32), owners / owner_of(process).rpartition(":")[2]
    for path in (old, young):
        path.touch()
    for path in (old, alive):
        os.utime(path, (time.time() - 7200,) * 2)
    asks = f"from service.process.identity import is_gone; print(is_gone('host:{BOOT}:{old.name}'))"
    script = f"{LIVE.partition('print')[0]}this_process(); {asks}"
    assert subprocess.run([sys.executable, "-c", script], check=True, stdout=-1, text=True).stdout == "True\n"
    assert not old.exists()
    assert young.exists()
    assert alive.exists()
