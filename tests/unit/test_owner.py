"""A lease's owner is gone when it is a process that has ended and that this machine knows, and only then."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.runner.owner import is_gone, this_process

LIVE = "from service.runner.owner import this_process; print(this_process(), flush=True); import time; time.sleep(60)"


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
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert not is_gone(owner)


def test_nothing_is_known_of_a_name_that_is_none(tmp_path: Path) -> None:
    for owner in ("runner-1", "", "a:b:../../etc/passwd", "a:b:" + "0" * 32, f"a:b:{tmp_path}", "host:boot:123:456"):
        assert not is_gone(owner)


def test_a_folder_that_others_may_write_to_tells_nothing(
    process: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"evolve-owners-{os.geteuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / ("a" * 32)).touch()
    assert not is_gone("host:boot:" + "a" * 32)
    folder.chmod(0o700)
    assert is_gone("host:boot:" + "a" * 32)


def test_files_of_processes_that_ended_long_ago_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / f"evolve-owners-{os.geteuid()}"
    folder.mkdir(mode=0o700)
    old, young = folder / ("a" * 32), folder / ("b" * 32)
    for path in (old, young):
        path.touch()
    os.utime(old, (time.time() - 8 * 86400,) * 2)
    script = LIVE.rpartition("import")[0]
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True, stdout=-3)
    assert not old.exists()
    assert young.exists()
