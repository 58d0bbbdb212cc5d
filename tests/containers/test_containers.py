"""Evaluators in real containers: the same outcomes, nothing to reach, and nothing left of them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Integrity
from service.errors import InvalidProblemError
from service.sandbox.container import OWNER, PLACE, place_of_containers
from service.sandbox.container_runtime import find_image
from service.sandbox.layers import IsolationLevel
from tests.containers.bench import ask, contained, container_of, containers, runtime_of_tests
from tests.containers.images import BARE, FOREIGN, NAME
from tests.integration.sandbox.bench import GOOD, LIMITS, program, sandbox
from tests.integration.sandbox.hostile.campaign import EVALUATOR, draw
from tests.integration.sandbox.hostile.campaign import LIMITS as HOSTILE_LIMITS
from tests.integration.sandbox.hostile.campaign import _program as hostile_program
from tests.integration.sandbox.hostile.reaching import OUTSIDE
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.containers

ENDINGS = {
    "def solve():\n    return 2.5": (Outcome.OK, ""),
    "def solve():\n    return [][1]": (
        Outcome.ERROR,
        "IndexError: list index out of range (line 2 of main.py, in solve)",
    ),
    "def solve():\n    while True: pass": (Outcome.TIMEOUT, "the program ran longer than 1 s"),
    "def solve():\n    x = bytearray(10**9)": (Outcome.MEMORY, "MemoryError (line 2 of main.py, in solve)"),
    "def solve():\n    print('x' * 10**6)": (Outcome.OUTPUT, "the program printed more than 64 KB"),
    "def solve():\n    import os; os.kill(os.getpid(), 11)": (Outcome.CRASH, "the program was ended by SIGSEGV"),
    "def solve():\n    return float('nan')": (Outcome.INVALID, "the score score is nan: it must be a finite number"),
    "def solve():\n    open('big', 'wb').write(bytes(20 << 20))": (Outcome.ERROR, ""),
}


async def test_programs_end_as_in_the_sandbox_of_the_machine(tmp_path: Path) -> None:
    limits = replace(LIMITS, wall_seconds=1.0)
    found: list[list[tuple[Outcome, str]]] = []
    in_container = contained(tmp_path / "container", limits=limits)
    for opening in (in_container, sandbox(tmp_path / "machine", limits=limits, force=IsolationLevel.MEDIUM)):
        async with opening as opened:
            evaluations = [await opened.evaluate(program(source), f"evl_{n}") for n, source in enumerate(ENDINGS)]
            assert (await opened.evaluate(GOOD, "evl_good")).ok
            assert opened.level.reaches(IsolationLevel.MEDIUM)
        found.append([(one.outcome, one.reason) for one in evaluations])
    assert found[0] == found[1]
    assert [outcome for outcome, _ in found[0][:6]] == [outcome for outcome, _ in list(ENDINGS.values())[:6]]


async def test_nothing_of_the_machine_is_in_the_container(tmp_path: Path) -> None:
    async with contained(tmp_path) as opened:
        assert all(attack.blocked for attack in opened.report.attacks), opened.report.attacks
        assert opened.image is not None
        (about,) = json.loads(ask(opened.image.runtime, "inspect", container_of(opened)))
        host = about["HostConfig"]
        assert host["ReadonlyRootfs"] is True
        assert host["NetworkMode"] == "none"
        assert host["Privileged"] is False
        assert any("no-new-privileges" in option for option in host["SecurityOpt"])
        assert not about.get("EffectiveCaps")
        assert all(mount["RW"] is False for mount in about["Mounts"] if mount["Type"] == "bind")
        assert opened.isolation == f"{opened.level}/separate/{opened.image.short_id}"
        assert next(layer.name for layer in opened.layers) == "container"


# Of these the first is a file of the image, and the second changes nothing where a runtime has a single user.
NO_ESCAPES = ("open('/etc/passwd').read()", "os.setuid(0)")
ESCAPES = (
    *(action for action in OUTSIDE if action not in NO_ESCAPES),
    "open('/var/run/docker.sock')",
    "socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')",
    "open('/new', 'w')",
    "open('/usr/new', 'w')",
    "open('/srv/answer', 'a')",
    "open('/dev/shm/new', 'w')",
    "open('/sys/fs/cgroup/new', 'w')",
    "open('/proc/sys/kernel/core_pattern', 'w')",
    "open('/proc/1/root/etc/hostname').read()",
    "os.listdir('/proc/1/cwd')",
    "os.kill(1, 0)",
    "os.listdir('{base}/cells')",
    "open('{base}/inputs').read()",
    "call(272, 97, 0x10000000)",
    "call(165, 40, b'none', b'/tmp', b'tmpfs', 0, None)",
    "call(246, 104, 0, 0, 0, 0)",
)
TRYING = """
import ctypes, os, resource, socket, struct

def call(*numbers):
    number = numbers[0 if os.uname().machine == "x86_64" else 1]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *numbers[2:]) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def solve():
    HOME = os.getcwd()
    try:
        {action}
    except OSError as error:
        return 1.5
    return 0.0
"""


async def test_no_program_gets_out_of_the_container(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir(mode=0o777)
    (tmp_path / "victim" / "secret").write_text("secret")
    async with contained(tmp_path, slots=2) as opened:
        values = {"victim": tmp_path / "victim", "problem": opened.folder / "problem", "host": os.getpid()}
        values |= {"base": opened.folder}
        actions = [action.format(**values) for action in ESCAPES]
        programs = [program(TRYING.replace("{action}", action)) for action in actions]
        found = await asyncio.gather(*(opened.evaluate(one, f"evl_{n}") for n, one in enumerate(programs)))
        escaped = {
            action: one.reason or one.feedback
            for action, one in zip(actions, found, strict=True)
            if one.scores.get("score") != 1.5
        }
        assert not escaped
        assert (await opened.evaluate(GOOD, "evl_good")).ok
    assert sorted(path.name for path in (tmp_path / "victim").iterdir()) == ["secret"]


async def test_a_campaign_of_attacks_changes_nothing_but_its_own_outcomes(tmp_path: Path) -> None:
    cases = draw(1, IsolationLevel.MEDIUM, share=0.3)
    async with contained(tmp_path, EVALUATOR, slots=2, limits=replace(HOSTILE_LIMITS, wall_seconds=12.0)) as opened:
        values: dict[str, Any] = {
            "victim": tmp_path,
            "problem": tmp_path / "problem",
            "host": os.getpid(),
            "token": "contained",
        }
        values |= {"sandbox": opened.folder, "zygote": 1}
        programs = [hostile_program(case, number, values) for number, case in enumerate(cases)]
        found = await asyncio.gather(*(opened.evaluate(one, f"evl_{n}") for n, one in enumerate(programs)))
        complaints = [case.complaint(one) for case, one in zip(cases, found, strict=True)]
        assert not list(filter(None, complaints))
        assert opened.image is not None
        for container in container_of(opened).split():
            shown = ask(opened.image.runtime, "top", container).splitlines()[1:]
            assert len(shown) <= 4, "zygote, keeper, fork server and the next child"


async def test_an_image_can_be_read_as_a_whole_and_the_problem_by_its_scorer_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "shown").write_text("4")
    (data / "hidden").write_text("5")
    scorer = """
    import os, pathlib
    def score(outputs, program):
        hidden = pathlib.Path(os.environ["EVOLVE_SCORER_READ"]).read_text()
        own = (pathlib.Path(__file__).parent / "answer.txt").read_text()
        return {"score": float(f"{outputs[0]['value']}{hidden}{own}")}
    """
    source = f"""
    import os, pathlib
    def solve():
        for closed in ({str(data / "hidden")!r}, os.environ.get("EVOLVE_SCORER_READ", "/nowhere")):
            try:
                return pathlib.Path(closed).read_text()
            except OSError:
                pass
        return pathlib.Path("/srv/people").read_text() + pathlib.Path(os.environ["EVOLVE_READ"]).read_text()
    """
    shown, hidden = (str(data / "shown"),), (str(data / "hidden"),)
    opening = contained(tmp_path, scorer, files={"answer.txt": "6"}, read=shown, scorer_read=hidden)
    async with opening as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert evaluation.scores == {"score": 7456.0}, evaluation.reason


async def test_an_evaluator_with_inputs_and_one_that_shares_its_process_work(tmp_path: Path) -> None:
    scorer = """
    def inputs():
        return [[2], [3]]

    def score(outputs, program):
        return {"score": sum(output["value"] for output in outputs)}
    """
    async with contained(tmp_path / "separate", scorer) as opened:
        evaluation = await opened.evaluate(program("def solve(n):\n    return n * 10\n"), "e")
        assert evaluation.scores == {"score": 50.0}
    shared = "import runpy\ndef evaluate(path):\n    return {'combined_score': runpy.run_path(path)['solve']()}\n"
    async with contained(tmp_path / "shared", shared, integrity=Integrity.SHARED) as opened:
        assert (await opened.evaluate(GOOD, "e")).scores == {"combined_score": 1.5}
    async with contained(tmp_path / "command", command=("/bin/sh", "-c", "read line; echo 4")) as opened:
        assert (await opened.evaluate(program("-"), "e")).scores == {"score": 4.0}


async def test_a_cancelled_evaluation_ends_and_the_next_is_as_good(tmp_path: Path) -> None:
    async with contained(tmp_path, limits=HOSTILE_LIMITS) as opened:
        running = asyncio.ensure_future(opened.evaluate(program("def solve():\n    while True: pass\n"), "evl_long"))
        await asyncio.sleep(0.5)
        running.cancel()
        began = monotonic()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert monotonic() - began < PATIENCE_SECONDS
        assert (await opened.evaluate(GOOD, "evl_good")).ok


async def test_a_container_that_somebody_ends_is_started_again(tmp_path: Path) -> None:
    async with contained(tmp_path) as opened:
        before = container_of(opened)
        assert opened.image is not None
        ask(opened.image.runtime, "kill", before)
        evaluation = await opened.evaluate(GOOD, "evl_1")
        assert evaluation.ok, evaluation.reason
        assert container_of(opened) not in ("", before)


async def test_a_keeper_that_hangs_is_ended_from_outside(tmp_path: Path) -> None:
    async with contained(tmp_path) as opened:
        (keeper,) = opened._keeper_pools[0].keepers
        keeper.kill()
        assert await keeper._processes.ended(keeper.pid, PATIENCE_SECONDS)
        assert (await opened.evaluate(GOOD, "evl_1")).ok


WORKER = """
import asyncio, pathlib
from service.sandbox.container_runtime import find_runtime, find_image
from service.sandbox.evaluator import open_evaluator
from tests.container_runtimes import chosen_runtime
from tests.containers.images import NAME
from tests.integration.sandbox.bench import problem, program, LIMITS
async def main():
    image = await find_image(await find_runtime(chosen_runtime()), NAME)
    stated = problem(image=NAME)
    async with open_evaluator(stated, pathlib.Path({folder!r}), 1, require=None, image=image) as opened:
        print(opened.folder, flush=True)
        while True:
            await opened.evaluate(program("def solve():\\n    while True: pass\\n"), "evl")
asyncio.run(main())
"""


async def test_a_worker_that_is_killed_leaves_no_container(tmp_path: Path) -> None:
    runtime = await runtime_of_tests()
    before = containers(runtime)
    folder = tmp_path / "problem"
    folder.mkdir()
    (folder / "evaluator.py").write_text("def score(outputs, program):\n    return {'score': 1.0}\n")
    worker, base = await asyncio.to_thread(_start_worker, folder)
    assert len(containers(runtime)) == len(before) + 1
    worker.send_signal(signal.SIGKILL)
    await asyncio.to_thread(worker.communicate)
    left = await asyncio.to_thread(_left_of, before)
    assert not left
    async with contained(tmp_path / "next"):  # what is left of its files goes with the next sandbox
        assert str(base) not in map(str, base.parent.iterdir())


def _left_of(before: list[str]) -> set[str]:
    """Containers beyond those of before, after as long as they may take to end."""
    runtime, until = asyncio.run(runtime_of_tests()), monotonic() + PATIENCE_SECONDS
    while (left := set(containers(runtime)) - set(before)) and monotonic() < until:
        time.sleep(0.1)
    return left


def _start_worker(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with an evaluator at work, and the evaluator's folder."""
    source = WORKER.replace("{folder!r}", repr(str(folder)))
    worker = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    return worker, Path(worker.stdout.readline().strip())


async def test_a_container_whose_interpreter_hangs_goes_with_the_next_sandbox(tmp_path: Path) -> None:
    runtime = await runtime_of_tests()
    labels = {OWNER: str(tmp_path / "gone"), PLACE: place_of_containers()}
    words = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
    run = ["run", "--detach", "--rm", "--network", "none", *words]
    run += ["--entrypoint", "python3", NAME, "-c", "import time; time.sleep(600)"]
    left = ask(runtime, *run).strip()
    assert left in containers(runtime)
    async with contained(tmp_path):
        assert left not in containers(runtime)


async def test_an_image_that_cannot_be_used_is_refused_in_a_sentence(tmp_path: Path) -> None:
    runtime = await runtime_of_tests()
    with pytest.raises(InvalidProblemError, match="has no image 'localhost/evolve-nowhere:1', and it cannot be pulled"):
        await find_image(runtime, "localhost/evolve-nowhere:1")
    with pytest.raises(InvalidProblemError, match="is for linux/s390x, and this machine is linux/"):
        await find_image(runtime, FOREIGN)
    with pytest.raises(InvalidProblemError, match=r"the container of .*bare.* cannot be started by .*python3"):
        async with contained(tmp_path, image=BARE):
            pass
    assert not containers(runtime)
