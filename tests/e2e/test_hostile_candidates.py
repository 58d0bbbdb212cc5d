"""Every kind of bad candidate costs one failed candidate with a readable reason, and nothing else.

A scripted model behind a real HTTP server proposes them, between good ones, to a real `evolve run`.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.evolving import Evolve, descendants_of, make_problem
from tests.fakes.openai_server import chain, openai_server

GOOD = "def give():\n    return {value}\n"
# Body of the program, and what its reason must say.
BAD: Mapping[str, tuple[str, str]] = {
    "sleeps": ("import time\ndef give():\n    time.sleep(600)\n", "longer than|deadline|wall"),
    "holds_the_lock": ("def give():\n    return len(str(9 ** 9 ** 8))\n", "longer than|CPU|cpu|deadline|wall|memory"),
    "exits": ("import sys\ndef give():\n    sys.exit(0)\n", "exit"),
    "exits_hard": ("import os\ndef give():\n    os._exit(0)\n", "exit|ended"),
    "crashes": ("import ctypes\ndef give():\n    return ctypes.string_at(0)\n", "SIGSEGV|segmentation|signal|crash"),
    "raises": ("def give():\n    return 1 / 0\n", "ZeroDivisionError"),
    "forks": (
        "import os\ndef give():\n    while True:\n        os.fork()\n",
        "process|BlockingIOError|Resource|longer than|memory",
    ),
    "fills_memory": ("def give():\n    return len([bytearray(10 ** 7) for _ in range(1000)])\n", "memory|Memory"),
    "fills_the_disk": (
        "def give():\n    for i in range(100):\n        open(f'f{i}', 'wb').write(bytes(10 ** 6))\n    return 1.0\n",
        "space|disk|quota|large|Errno",
    ),
    "fills_the_output": ("def give():\n    return 'x' * 10 ** 7\n", "returned more than 16 KB"),
    "returns_more_than_fits": ("def give():\n    return 'x' * 10 ** 8\n", "more than .* memory|more than 16 KB"),
    "kills_its_parent": (
        "import os, signal\ndef give():\n    os.kill(os.getppid(), signal.SIGKILL)\n    return 'alive'\n",
        "",
    ),
    "reads_the_environment": ("import os\ndef give():\n    return os.environ['EVOLVE_CANARY']\n", "KeyError"),
    "not_a_number": ("def give():\n    return float('nan')\n", "nan|NaN|finite"),
    "infinite": ("def give():\n    return float('inf')\n", "inf|finite"),
    "text": ("def give():\n    return 'a million'\n", "text|number"),
    "nothing": ("def give():\n    pass\n", "None|null|number|nothing|NoneType"),
    "no_entry": ("def take():\n    return 1\n", "give"),
    "patches_modules": (
        "import builtins, math, sys\n"
        "builtins.float = lambda x: 1e9\nbuiltins.isinstance = lambda x, t: True\nmath.isfinite = lambda x: True\n"
        "sys.modules['evaluator'] = type(sys)('evaluator')\n"
        "sys.modules['evaluator'].score = lambda o, p: {'value': 1e9}\n"
        "def give():\n    return 'not a number'\n",
        "",
    ),
    "daemon": (
        "import os, time\ndef give():\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(600)\n"
        "    return 'left one'\n",
        "",
    ),
}


def write(body: Mapping[str, Any]) -> list[str]:
    number = int(body["seed"]) % 10_000
    answers = [GOOD.format(value=f"{number}.0625"), *(source for source, _ in BAD.values())]
    answers += [GOOD.format(value=f"{number}.125"), GOOD.format(value=f"{number}.25")]
    return [chain(*answers)]


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    """Where temporary files go; not below pytest's own folder, for programs run as users who must be able to pass."""
    folder = Path(tempfile.mkdtemp(prefix="evolving-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def candidates(tmp_path_factory: pytest.TempPathFactory, scratch: Path) -> list[dict[str, Any]]:
    home = tmp_path_factory.mktemp("hostile")
    answers = len(BAD) + 3
    problem = make_problem(home / "toy", evaluations=1 + answers, wall_seconds=3.0)
    evolve = Evolve(home)
    evolve.environment["TMPDIR"] = str(scratch)
    before = descendants_of(os.getpid())
    with openai_server(write, context_tokens=32_768) as server:
        run = evolve.lines(
            "run", str(problem), "--policy", server.url, "--answers", str(answers), "--samples", "1", "--json"
        )[0]["run_id"]
    assert descendants_of(os.getpid()) <= before, "a process was left behind"
    return evolve.lines("export", run)


def of_kind(candidates: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    source = BAD[kind][0]
    (found,) = [c for c in candidates if any(text.strip() == source.strip() for text in (c["files"] or {}).values())]
    return found


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_candidate_is_one_failed_candidate_with_a_readable_reason(
    candidates: list[dict[str, Any]], kind: str
) -> None:
    candidate = of_kind(candidates, kind)
    assert candidate["status"] == "evaluated"
    assert candidate["outcome"] != "ok"
    assert candidate["fitness"] is None
    assert candidate["reason"]
    assert "\n" not in candidate["reason"]
    assert re.search(BAD[kind][1], candidate["reason"]), candidate["reason"]


def test_no_good_candidate_is_lost(candidates: list[dict[str, Any]]) -> None:
    good = [candidate for candidate in candidates if candidate["outcome"] == "ok"]
    assert len(good) == 4
    assert max(candidate["fitness"] for candidate in good) < 1e6


def test_no_scratch_directory_is_left(candidates: list[dict[str, Any]], scratch: Path) -> None:
    assert candidates
    assert not list(scratch.iterdir())
