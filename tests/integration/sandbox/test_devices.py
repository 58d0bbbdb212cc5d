"""Each evaluation has one accelerator to itself, and nobody else of this machine is on it meanwhile."""

import asyncio
import contextlib
import fcntl
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.errors import RefusedError, UsageError
from service.ports import ClockLock
from service.sandbox import device_pool
from service.sandbox.device_monitor import DeviceMonitor, open_monitor
from service.sandbox.device_pool import PREFIX, DevicePool
from service.sandbox.devices import Device, find_devices
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import ECHO, GOOD, LIMITS, processes_naming, program, sandbox
from tests.integration.sandbox.device_bench import (
    NVIDIA,
    ROCM,
    ROOT,
    on_machine,
    told_on_machine,
    write_tool,
)
from tests.patience import PATIENCE_SECONDS

UUID = "GPU-8d1f3c2e-0000-4000-8000-00000000000"
GPU_LIMITS = replace(LIMITS, gpu=True)
# The file that a stand-in's programs may open.
NULL = "/dev/null"


@pytest.fixture(autouse=True)
def place_of_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of the tests are not in the machine's place."""
    monkeypatch.setattr(device_pool, "_PLACES", (str(tmp_path),))


def stand_in(name: str, number: int = 0) -> Device:
    return Device(name=name, number=number, files=(NULL,), uuid="", variables={"CUDA_VISIBLE_DEVICES": str(number)})


def monitor(*names: str) -> DeviceMonitor:
    return DeviceMonitor([stand_in(name, number) for number, name in enumerate(names)])


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The files of a machine with three cards, of which the driver tells the UUIDs."""
    (tmp_path / "dev").mkdir()
    for minor, bus in enumerate(("01", "41", "81")):
        (tmp_path / "dev" / f"nvidia{minor}").touch()
        about = tmp_path / "proc/driver/nvidia/gpus" / f"0000:{bus}:00.0"
        about.mkdir(parents=True)
        (about / "information").write_text(
            f"Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t {UUID}{minor}\nDevice Minor: \t {minor}\n"
        )
    (tmp_path / "dev/nvidiactl").touch()
    (tmp_path / "dev/nvidia-uvm").touch()
    (tmp_path / "dev/dri").mkdir()
    (tmp_path / "dev/dri/renderD128").touch()  # the first card's, once more
    return tmp_path


def names(devices: tuple[Device, ...]) -> list[str]:
    return [device.name for device in devices]


def test_a_card_is_known_by_its_file_and_to_its_driver_by_its_uuid(machine: Path) -> None:
    found = find_devices(environment={}, root=machine)
    assert names(found) == ["nvidia0", "nvidia1", "nvidia2"]
    assert found[1].variables == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": f"{UUID}1"}
    assert "/dev/nvidia1" in found[1].files
    assert "/dev/nvidiactl" in found[1].files
    assert not {"/dev/nvidia0", "/dev/nvidia2", "/dev/dri/renderD128"} & {*found[1].files}


def test_a_card_that_this_process_cannot_open_is_left_out(machine: Path) -> None:
    (machine / "dev/nvidia0").unlink()
    (machine / "dev/nvidia0").symlink_to("nowhere")
    assert [(device.name, device.number) for device in find_devices(environment={}, root=machine)] == [
        ("nvidia1", 0), ("nvidia2", 1),
    ]  # fmt: skip


def test_cards_of_rocm_are_the_render_nodes_that_it_knows(tmp_path: Path) -> None:
    (tmp_path / "dev/dri").mkdir(parents=True)
    for name in ("kfd", "dri/renderD128", "dri/renderD129", "dri/card0"):
        (tmp_path / "dev" / name).touch()
    nodes = tmp_path / "sys/class/kfd/kfd/topology/nodes"
    for node, text in {"0": "drm_render_minor 0\nunique_id 0\n", "1": "drm_render_minor 129\nunique_id 255\n"}.items():
        (nodes / node).mkdir(parents=True)
        (nodes / node / "properties").write_text(text)
    (found,) = find_devices(environment={}, root=tmp_path)
    assert found.files == ("/dev/dri/renderD129", "/dev/kfd")
    assert found.variables == {"ROCR_VISIBLE_DEVICES": "GPU-00000000000000ff", "HIP_VISIBLE_DEVICES": "0"}
    assert not found.nvidia


@pytest.mark.parametrize(
    ("named", "variables", "expected"),
    [
        ((), {}, [0, 1, 2]),
        (("2", "nvidia0"), {"CUDA_VISIBLE_DEVICES": "1"}, [2, 0]),
        ((f"{UUID}1", "1"), {}, [1]),
        ((), {"CUDA_VISIBLE_DEVICES": "1, 2"}, [1, 2]),
        ((), {"CUDA_VISIBLE_DEVICES": ""}, []),
        ((), {"NVIDIA_VISIBLE_DEVICES": "void"}, []),
        ((), {"NVIDIA_VISIBLE_DEVICES": "all"}, [0, 1, 2]),
        ((), {"NVIDIA_VISIBLE_DEVICES": f"{UUID}2"}, [2]),
        # The machine outside has more, and its container runtime has left them out already.
        ((), {"NVIDIA_VISIBLE_DEVICES": "6,7"}, [0, 1, 2]),
    ],
)
def test_a_worker_has_the_cards_that_it_is_given(
    machine: Path, named: tuple[str, ...], variables: dict[str, str], expected: list[int]
) -> None:
    found = find_devices(named, variables, root=machine)
    assert names(found) == [f"nvidia{number}" for number in expected]


def test_a_card_that_is_not_there_is_refused_by_name(machine: Path) -> None:
    with pytest.raises(UsageError, match="--devices names the device '3', and this machine has nvidia0, nvidia1, nvi"):
        find_devices(["3"], {}, root=machine)
    with pytest.raises(UsageError, match=r"CUDA_VISIBLE_DEVICES names the device '0', and this machine has none that"):
        find_devices((), {"CUDA_VISIBLE_DEVICES": "0"}, root=machine / "proc")


PINNED = """
    import asyncio, json, os, pathlib, tempfile, textwrap
    from dataclasses import replace
    from service.sandbox.device_monitor import DeviceMonitor
    from service.sandbox.devices import find_devices
    from service.sandbox.evaluator import open_evaluator
    from service.sandbox.layers import IsolationLevel
    from tests.integration.sandbox.bench import ECHO, LIMITS, problem, program

    SEEN = program('''
        import os, time
        NAMES = ("nvidia0", "nvidia1", "nvidiactl", "kfd", "dri/renderD128", "dri/renderD129")
        def opens(name):
            try:
                os.close(os.open("/dev/" + name, os.O_RDWR))
            except OSError:
                return False
            return True
        def solve():
            began = time.monotonic()
            time.sleep(0.2)
            found = {key: value for key, value in os.environ.items() if "VISIBLE" in key or "ORDER" in key}
            return {"opens": list(filter(opens, NAMES)), "variables": found, "from": began, "to": time.monotonic()}
    ''')
    SHOWN = '''
        import json
        def score(outputs, program):
            return {"score": 0.0, "feedback": json.dumps(outputs[0]["value"])}
    '''

    async def main():
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "evaluator.py").write_text(textwrap.dedent(SHOWN))
            stated = problem(limits=replace(LIMITS, gpu=True))
            monitor = DeviceMonitor(find_devices(environment={}))
            opening = open_evaluator(
                stated, pathlib.Path(folder), 8, require=IsolationLevel.MEDIUM, devices=monitor
            )
            async with opening as evaluator:
                found = await asyncio.gather(*(evaluator.evaluate(SEEN, f"evl_{n}") for n in range(6)))
            return {"slots": evaluator.slots, "found": [json.loads(one.feedback) for one in found]}

    print(json.dumps(asyncio.run(main())))
"""


@pytest.mark.root
@pytest.mark.parametrize(
    ("files", "cards", "controls", "variable"),
    [
        (NVIDIA, ("nvidia0", "nvidia1"), ["nvidiactl"], "CUDA_VISIBLE_DEVICES"),
        (ROCM, ("dri/renderD128", "dri/renderD129"), ["kfd"], "ROCR_VISIBLE_DEVICES"),
    ],
    ids=["nvidia", "rocm"],
)
def test_an_evaluation_sees_one_card_alone_and_no_two_have_it_at_once(
    tmp_path: Path, files: tuple[str, ...], cards: tuple[str, ...], controls: list[str], variable: str
) -> None:
    told = told_on_machine(tmp_path, files, PINNED)
    assert told["slots"] == 2, "as many as cards"
    assert len(told["found"]) == 6
    times: dict[str, list[tuple[float, float]]] = {card: [] for card in cards}
    for found in told["found"]:
        (card,) = set(found["opens"]) - {*controls}
        assert set(found["opens"]) == {card, *controls}
        assert found["variables"][variable] == str(cards.index(card))
        times[card].append((found["from"], found["to"]))
    assert all(times.values()), "both are used"
    for uses in times.values():
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(sorted(uses)))


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    folder = tmp_path / "locks"
    folder.mkdir()
    return folder


async def test_two_workers_of_a_machine_do_not_have_a_device_at_once(locks: Path) -> None:
    first, second = (DevicePool(monitor("card0", "card1"), 2, locks) for _ in range(2))
    order: list[str] = []

    async def use(pool: DevicePool, what: str) -> None:
        async with pool.take() as device:
            order.append(f"{what} has {device.name}")
            await asyncio.sleep(0)

    async with first.take() as one, second.take() as other:
        assert [one.name, other.name] == ["card0", "card1"]
        waiting = [asyncio.create_task(use(pool, what)) for pool, what in ((first, "first"), (second, "second"))]
        done, _ = await asyncio.wait(waiting, timeout=0.2)
        assert not done
        assert not order
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*waiting)
    assert len(order) == 2
    for pool in (first, second):
        pool.close()


async def test_a_wait_for_a_device_that_is_cancelled_leaves_no_lock(locks: Path) -> None:
    mine, others = (DevicePool(monitor("card0"), 1, locks) for _ in range(2))
    async with others.take():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), mine.take():
                pytest.fail("somebody else has it")
    async with asyncio.timeout(PATIENCE_SECONDS), mine.take() as device:
        assert device.name == "card0"
    mine.close()
    others.close()


def test_a_lock_is_a_file_that_others_may_lock_and_not_write(locks: Path) -> None:
    (locks / f"{PREFIX}card1").symlink_to(locks / "elsewhere")
    pool = DevicePool(monitor("card0"), 1, locks)
    assert (locks / f"{PREFIX}card0").stat().st_mode & 0o777 == 0o644
    DevicePool(monitor("card0"), 1, locks).close()
    pool.close()
    with pytest.raises(RefusedError, match="the lock of a device cannot be opened"):
        DevicePool(monitor("card0", "card1"), 1, locks)
    assert not (locks / "elsewhere").exists()
    os.mkfifo(locks / f"{PREFIX}card2")
    with pytest.raises(RefusedError, match="is not a file: remove it"):
        DevicePool(monitor("card2"), 1, locks)


# An evaluator of the problem in a process of its own: its folder and that of the locks are the first arguments.
IN_A_PROCESS = """
import asyncio, pathlib, sys
from dataclasses import replace
from functools import partial
from service.sandbox import device_pool
from service.sandbox.device_monitor import DeviceMonitor
from service.sandbox.devices import Device
from service.sandbox.evaluator import open_evaluator
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import LIMITS, problem, program

device_pool._PLACES = (sys.argv[2],)

def opened(require, limits):
    card = Device(name="card0", number=0, files=("/dev/null",), uuid="", variables={})
    stated, folder = problem(limits=limits), pathlib.Path(sys.argv[1])
    return open_evaluator(stated, folder, 1, require=require, devices=DeviceMonitor([card]))
"""
HOLDER = f"""{IN_A_PROCESS}
async def main():
    async with opened(None, replace(LIMITS, gpu=True, wall_seconds=60.0)) as evaluator:
        asyncio.get_running_loop().call_later(1.0, partial(print, evaluator.folder, flush=True))
        await evaluator.evaluate(program("import time\\ndef solve():\\n    time.sleep(50)\\n"), "evl_1")

asyncio.run(main())
"""


@contextlib.contextmanager
def holder(problem: Path, locks: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A process that evaluates on a device, and the folder that its processes are named by."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(problem), str(locks)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_the_device_of_a_worker_that_was_killed_is_free_when_its_programs_have_ended(
    tmp_path: Path, locks: Path
) -> None:
    problem = tmp_path / "problem"
    problem.mkdir()
    (problem / "evaluator.py").write_text(ECHO)
    with holder(problem, locks) as (process, base), (locks / f"{PREFIX}card0").open() as lock:
        assert base
        assert processes_naming(base)
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.send_signal(signal.SIGKILL)
        began = time.monotonic()
        fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel wakes us as the last holder ends
        assert not [pid for pid in processes_naming(base) if _runs(pid)]
        assert time.monotonic() - began < PATIENCE_SECONDS


def _runs(pid: int) -> bool:
    """Whether a process still runs code: one that is ending has closed its files before."""
    with contextlib.suppress(OSError):
        return bool(os.listdir(f"/proc/{pid}/fd"))
    return False


DRIVEN = """
    import os, socket, threading
    def attempt(call, *words):
        try:
            call(*words)
        except OSError as error:
            return error.strerror
        return "ok"
    def solve():
        found = {"socket": "ok"}
        for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
            try:
                own = socket.socket(socket.AF_UNIX, kind)
            except OSError as error:
                return {"socket": error.strerror}
            name = chr(0) + f"cuda-uvmfd-{os.getpid()}-{int(kind)}"
            found |= {"bind": attempt(own.bind, name), "listen": attempt(own.listen, 16)}
            found |= {"connect": attempt(socket.socket(socket.AF_UNIX, kind).connect, name)}
        for family, kind in ((socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_INET, socket.SOCK_STREAM)):
            found[f"{int(family)} {int(kind)}"] = attempt(socket.socket, family, kind)
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        own = f"/proc/self/task/{threading.enumerate()[-1].native_id}/comm"
        with open(own, "w") as file:
            file.write("cuda-EvtHandlr")
        found["name"] = open(own).read().strip()
        found["read"] = [attempt(open, name) for name in ("/proc/devices", "/proc/self/maps")]
        parent = os.getppid() or 1
        written = ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", f"/proc/{parent}/mem", "/etc/passwd")
        found["written"] = [attempt(open, name, "w") for name in written]
        return found
"""


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_a_program_that_has_a_device_may_do_what_its_driver_does_at_its_start(
    tmp_path: Path, force: IsolationLevel
) -> None:
    shown = ECHO.replace("repr(value)", "__import__('json').dumps(value)")

    async def found(**options: Any) -> dict[str, Any]:
        chosen: dict[str, Any] = {"force": force, "require": force, "preload": ("socket",), **options}
        async with sandbox(tmp_path, shown, **chosen) as opened:
            told: dict[str, Any] = json.loads((await opened.evaluate(program(DRIVEN), "evl_1")).feedback)
        return told

    told = await found(limits=GPU_LIMITS, devices=monitor("card0"))
    written = told.pop("written")
    assert told == {
        "socket": "ok", "bind": "ok", "listen": "ok", "connect": "Operation not permitted",
        "1 2": "Operation not permitted", "2 1": "Operation not permitted",
        "name": "cuda-EvtHandlr", "read": ["ok", "ok"],
    }  # fmt: skip
    assert len(written) == 4
    assert "ok" not in written
    assert await found() == {"socket": "Operation not permitted"}


SUPERUSER = f"""{IN_A_PROCESS}
async def main():
    async with opened(IsolationLevel.STRONG, replace(LIMITS, gpu=True)) as evaluator:
        print((await evaluator.evaluate(program(sys.argv[3]), "evl_1")).feedback)

asyncio.run(main())
"""
WRITES = """
    import os
    def attempt(name):
        try:
            os.close(os.open(name, os.O_WRONLY))
        except OSError as error:
            return error.strerror
        return "ok"
    def solve():
        names = "/proc/self/comm", "/proc/sys/kernel/core_pattern"
        return f"{os.getuid()} " + " ".join(attempt(name) for name in names)
"""


@pytest.mark.root
def test_a_program_of_the_superuser_that_has_a_device_may_not_change_the_settings_of_the_machine(
    tmp_path: Path, locks: Path
) -> None:
    problem = tmp_path / "problem"
    problem.mkdir()
    (problem / "evaluator.py").write_text(ECHO)
    keep_user = ["setpriv", "--bounding-set=-setuid,-setgid"]
    command = [*keep_user, sys.executable, "-c", SUPERUSER, str(problem), str(locks), WRITES]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=PATIENCE_SECONDS)
    assert done.stdout.strip() == "'0 ok Permission denied'", done.stderr


async def test_caches_of_kernels_are_in_the_scratch(tmp_path: Path) -> None:
    """Triton looks for its home when it is imported: preloaded, before a program has a scratch."""
    looks = """
        import os
        def solve():
            return float(os.environ.get("TRITON_HOME") == os.environ["HOME"] == os.getcwd().removesuffix("/program"))
    """
    async with sandbox(tmp_path, limits=GPU_LIMITS, devices=monitor("card0")) as opened:
        assert (await opened.evaluate(program(looks), "evl_1")).scores == {"score": 1.0}


async def test_a_problem_without_gpu_has_no_device_and_one_with_gpu_says_which_it_had(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        assert (await opened.evaluate(GOOD, "evl_1")).ok
        assert not opened.has_devices
        assert list(opened.device_states()) == []


FACTS = "--query-gpu=uuid,index,name,driver_version,clocks.sm,clocks.max.sm"
LATER = "--query-gpu=clocks.sm"
CARD = Device(name="nvidia0", number=0, files=(NULL,), uuid=f"{UUID}0", variables={})


@pytest.mark.parametrize(
    ("at_rest", "after", "clocks", "said"),
    [
        ("1410", "1410", ClockLock.LOCKED, "clock 1410 MHz of at most 1980, read 2 times: locked"),
        ("345", "1980", ClockLock.UNLOCKED, "clock 345 to 1980 MHz of at most 1980, read 2 times: not locked"),
        ("345", "345", ClockLock.UNKNOWN, "clock 345 MHz of at most 1980, read 2 times: not known as locked"),
        ("1410", "[N/A]", ClockLock.UNKNOWN, "clock 1410 MHz of at most 1980, read once: not known as locked"),
        ("[N/A]", "1410", ClockLock.UNKNOWN, "clocks unknown"),
    ],
)
async def test_clocks_are_read_at_rest_and_after_an_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_rest: str, after: str, clocks: ClockLock, said: str
) -> None:
    """The tool stands in for the real one: no card can be had here."""
    tools = tmp_path / "tools"
    row = f"{UUID}0, 0, NVIDIA H100 80GB HBM3, 550.54.14, {at_rest}, 1980"
    other = f"{UUID}1, 1, NVIDIA A100-SXM4-40GB, 550.54.14, 210, 1410"
    write_tool(tools, {FACTS: f"{other}\n{row}", LATER: after})
    monkeypatch.setenv("PATH", str(tools))
    found = await open_monitor([CARD])
    async with sandbox(tmp_path, limits=GPU_LIMITS, devices=found) as opened:
        assert (await opened.evaluate(GOOD, "evl_1")).ok
        (state,) = opened.device_states()
    assert (state.model, state.driver, state.max_clock_mhz) == ("NVIDIA H100 80GB HBM3", "550.54.14", 1980)
    assert state.clocks is clocks
    assert str(state) == f"NVIDIA H100 80GB HBM3, driver 550.54.14, {said}"


async def test_reading_a_clock_takes_a_small_part_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    write_tool(tools, {FACTS: f"{UUID}0, 0, NVIDIA L4, 550.54.14, 300, 2040", LATER: "300"})
    monkeypatch.setenv("PATH", str(tools))
    found = await open_monitor([CARD])
    for _ in range(20):
        await found.measure(CARD)
    calls = (tools / "calls").read_text().splitlines()
    assert calls == [
        f"{FACTS} --format=csv,noheader,nounits",
        f"--id={UUID}0 {LATER} --format=csv,noheader,nounits",
    ]


async def test_where_no_tool_tells_them_model_and_clocks_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [str(state) for state in (await open_monitor([CARD])).states] == ["nvidia0, clocks unknown"]
    write_tool(tmp_path, {}).write_text("#!/bin/sh\necho broken; exit 9\n")
    assert [str(state) for state in (await open_monitor([CARD])).states] == ["nvidia0, clocks unknown"]


@pytest.mark.parametrize(
    ("files", "words", "code", "said"),
    [
        ((), [], 4, "a worker of pool gpu needs an accelerator, and this process can open none"),
        (NVIDIA, ["--slots", "3"], 2, "--slots 3 needs as many devices, for each evaluation has one to itself, and"),
        (NVIDIA, ["--devices", "1", "--slots", "2"], 2, "this worker has nvidia1: leave out --slots"),
        (NVIDIA, ["--devices", "0,7"], 2, "--devices names the device '7', and this machine has nvidia0, nvidia1"),
        (NVIDIA, ["--pool", "cpu", "--devices", "0"], 2, "--devices is for the pools gpu and gpu-container"),
    ],
    ids=["none", "slots", "slots of devices", "another device", "another pool"],
)
def test_a_worker_is_refused_in_one_sentence(
    tmp_path: Path, files: tuple[str, ...], words: list[str], code: int, said: str
) -> None:
    command = [sys.executable, "-m", "service.cli.main", "worker", "--queue", "redis://127.0.0.1:1/0"]
    answer = on_machine(tmp_path, files, [*command, *([] if "--pool" in words else ["--pool", "gpu"]), *words])
    assert (answer.returncode, said in " ".join(answer.stderr.split())) == (code, True), answer.stderr


WORKING = """
    import asyncio, json, pathlib, textwrap
    from evolve.program import Program
    from service.bootstrap.workers import open_local_worker
    from service.config import SandboxSettings, Settings
    from service.problems.load import load_problem
    from service.queue.evaluator import open_local_evaluator
    from service.queue.memory import MemoryBroker
    from service.timestamps import SystemClock
    from tests.unit.problems.folders import NATIVE, native

    SHOWN = textwrap.dedent('''
        import json
        def score(outputs, program):
            return {"gain": 1.0, "feedback": json.dumps(outputs[0]["value"])}
    ''')
    WHERE = textwrap.dedent('''
        import os
        def solve():
            return os.environ["CUDA_VISIBLE_DEVICES"]
    ''')

    async def main():
        document = NATIVE + "[limits]\\ngpu = true\\n"
        loaded = load_problem(native(pathlib.Path(FOLDER), document, evaluator__py=SHOWN))
        broker = MemoryBroker(SystemClock())
        settings = Settings(sandbox=SandboxSettings(gpu=True, devices=("1",)))
        async with (
            open_local_worker(settings, broker, pool="gpu") as worker,
            open_local_evaluator(broker, loaded.problem, loaded.bundle) as evaluator,
        ):
            working = asyncio.create_task(worker.run())
            found = await evaluator.evaluate(Program.of({"seed.py": WHERE}), "evl_1")
            (device,) = worker.heartbeat.devices
            worker.drain.set()
            await working
        told = {"slots": worker.heartbeat.slots, "device": device.name, "clocks": str(device)}
        return {**told, "outcome": found.outcome, "reason": found.reason, "feedback": found.feedback}

    print(json.dumps(asyncio.run(main())))
"""


def test_a_worker_of_the_gpu_pool_evaluates_on_its_device_and_tells_its_clock(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    write_tool(tools, {FACTS: "GPU-1, 1, NVIDIA L4, 550.54, 900, 2040", LATER: "915"})
    script = WORKING.replace("FOLDER", repr(str(tmp_path / "problem")))
    told = told_on_machine(tmp_path, NVIDIA, script, PATH=f"{tools}:{os.environ['PATH']}")
    assert told["outcome"] == "ok", told
    assert (told["slots"], told["device"], told["feedback"]) == (1, "nvidia1", '"1"')
    assert told["clocks"] == "NVIDIA L4, driver 550.54, clock 900 to 915 MHz of at most 2040, read 2 times: not locked"
