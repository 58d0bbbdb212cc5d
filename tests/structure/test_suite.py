"""How the test suite starts, and how a test that hangs ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
# A child sleeps in short steps: Python notes an interrupt that arrives just before a sleep only after that sleep.
DISPOSITIONS = f"""
import signal, subprocess, sys

WAITING = "import time; print(flush=True)\\nwhile True: time.sleep(0.05)"

def test_signals_end_what_a_test_starts():
    for number in {tuple(map(int, SIGNALS))}:
        child = subprocess.Popen([sys.executable, "-c", WAITING], stdout=-1)
        child.stdout.readline()
        child.send_signal(number)
        assert child.wait(10) != 0
        child.stdout.close()
"""
HANG = "import time\ndef wait_for_ever(): time.sleep(60)\ndef test_it(): wait_for_ever()\n"


def suite(source: str, folder: Path, *words: str, started: str = "") -> subprocess.CompletedProcess[str]:
    """Run a test under the suite's own hooks; `started`: what the process does before it becomes pytest."""
    (folder / "test_it.py").write_text(source)
    start = f"import os, signal, sys\n{started}\nos.execv(sys.executable, [sys.executable, '-m', *sys.argv[1:]])"
    pytest_words = ["pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "-c", os.devnull]
    return subprocess.run(
        [sys.executable, "-c", start, *pytest_words, *words, "--rootdir", str(folder), str(folder)],
        cwd=ROOT, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, capture_output=True, text=True,
        timeout=50, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "started",
    [
        f"for number in {tuple(map(int, SIGNALS))}: signal.signal(number, signal.SIG_IGN)",
        f"signal.pthread_sigmask(signal.SIG_BLOCK, {tuple(map(int, SIGNALS))})",
    ],
    ids=["ignored", "blocked"],
)
def test_a_suite_that_is_started_with_signals_off_tests_signals_all_the_same(started: str, tmp_path: Path) -> None:
    ended = suite(DISPOSITIONS, tmp_path, started=started)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_test_that_hangs_is_failed_and_shows_where_it_stood(tmp_path: Path) -> None:
    ended = suite(HANG, tmp_path, "-p", "pytest_timeout", "-o", "timeout=1")
    assert ended.returncode == 1
    assert "Timeout" in ended.stdout
    assert "def wait_for_ever(): time.sleep(60)" in ended.stdout


def test_every_test_has_a_hang_guard(pytestconfig: pytest.Config) -> None:
    assert 0 < float(pytestconfig.getini("timeout")) <= 900
