"""What a hostile program sees, reaches and changes: nothing but itself."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Integrity
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import GOOD, names_in, program, sandbox
from tests.integration.sandbox.hostile.reaching import OUTSIDE

PRELUDE = """
import os, signal, socket, sys, ctypes, glob, errno
def attempt(action):
    try:
        return f"through: {action()!r}"
    except OSError as error:
        return "blocked"
"""


async def shown(tmp_path: Path, body: str) -> str:
    """What a program returns, as text."""
    async with sandbox(tmp_path) as opened:
        evaluation = await opened.evaluate(program(PRELUDE + body), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert evaluation.ok, evaluation
    return evaluation.feedback


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder that everybody may read and write, with a secret and a server's socket."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    for path in (folder, folder / "secret"):
        path.chmod(0o777)
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(folder):
        server.bind("socket")
        server.listen()
        yield folder


@pytest.mark.parametrize("action", OUTSIDE)
async def test_the_world_outside_is_closed(tmp_path: Path, victim: Path, action: str) -> None:
    filled = action.format(victim=victim, problem=tmp_path / "problem", host=os.getpid())
    assert await shown(tmp_path, f"def solve():\n    return attempt(lambda: {filled})\n") == repr("blocked")
    assert names_in(victim) == ["secret", "socket"]


async def test_the_environment_is_empty_but_for_what_libraries_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    body = """
        def solve():
            texts = []
            for path in glob.glob("/proc/[0-9]*/environ"):
                try: texts.append(open(path, "rb").read())
                except OSError: pass
            return [sorted(os.environ), b"secret" in b"".join(texts)]
    """
    import ast
    import textwrap

    names, found = ast.literal_eval(await shown(tmp_path, textwrap.dedent(body)))
    assert not found
    assert set(names) == {
        "HOME", "LANG", "MALLOC_ARENA_MAX", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "TMPDIR", "USER",
    }  # fmt: skip


async def test_raw_system_calls_are_refused(tmp_path: Path) -> None:
    body = """
        CALLS = {"ptrace": 101, "unshare": 272, "bpf": 321, "io_uring_setup": 425, "keyctl": 250, "mount": 165,
                 "process_vm_readv": 310, "memfd_create": 319, "clone3": 435, "open_tree": 428, "newest": 499}
        def solve():
            libc = ctypes.CDLL(None, use_errno=True)
            found = {}
            for name, number in CALLS.items():
                result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
                found[name] = result < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS)
            found["namespace by clone"] = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0) < 0
            return [name for name, refused in found.items() if not refused]
    """
    if os.uname().machine != "x86_64":
        pytest.skip("these numbers are one architecture's")
    import textwrap

    assert await shown(tmp_path, textwrap.dedent(body)) == "[]"


async def test_evaluations_do_not_see_each_other(tmp_path: Path) -> None:
    leave = """
        import os, time
        def solve():
            open("left", "w").write("x"); open(os.path.expanduser("~/left"), "w").write("x")
            open("/dev/shm/left", "w").write("x")
            return 1.0
    """
    look = """
        import os
        def solve():
            shm = os.listdir("/dev/shm")
            return [sorted(os.listdir(".")), sorted(os.listdir(os.path.expanduser("~"))), shm, os.getpid() > 1]
    """
    async with sandbox(tmp_path) as opened:
        first = await opened.evaluate(program(leave), "evl_1")
        second = await opened.evaluate(program(look), "evl_2")
    assert first.ok, first
    assert second.feedback == repr([["main.py"], ["program"], [], True])


async def test_a_program_that_patches_modules_gains_nothing(tmp_path: Path) -> None:
    evaluator = """
        import json, math
        def score(outputs, program):
            return {"score": math.sqrt(outputs[0]["value"])}
    """
    source = """
        import builtins, gc, json, math, os, sys
        math.sqrt = lambda x: 1e9
        json.dumps = lambda *a, **k: '{"score": 1e9}'
        builtins.float = lambda x: 1e9
        sys.modules["evaluator"] = type(sys)("evaluator")
        sys.modules["evaluator"].score = lambda *a: {"score": 1e9}
        for name in ("evaluator.py", "math.py", "json.py", "../evaluator.py", "/dev/shm/evaluator.py"):
            open(name, "w").write("def score(*a): return {'score': 1e9}\\nsqrt = lambda x: 1e9\\n")
        frame = sys._getframe()
        while frame:
            for value in list(frame.f_locals.values()):
                for name in ("result", "outputs", "stage"):
                    try: setattr(value, name, {"score": 1e9})
                    except Exception: pass
            frame = frame.f_back
        def solve():
            return 4.0
    """
    async with sandbox(tmp_path, evaluator) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        after = await opened.evaluate(program("def solve():\n    return 9.0\n"), "evl_2")
    assert evaluation.scores.get("score", 0.0) <= 2.0, evaluation
    assert after.scores == {"score": 3.0}


@pytest.mark.parametrize(
    "frame",
    [
        b"\x00\x00\x00\x02{}",
        b"\x00\x00\x00\x04null",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x03abc",
        b"\x00\x00\x00\x28" + b"[" * 40,
        b'\x00\x00\x00\x1a{"result": {"score": 1e9}}',
        b'\x00\x00\x00\x11{"started": true}',
        b'\x00\x00\x00\x24{"failed": "mine", "outcome":"lost"}',
        b'\x00\x00\x00\x30{"failed": "ok", "outcome": "ok", "result": {} }',
    ],
)
async def test_frames_that_a_program_writes_itself_score_nothing(tmp_path: Path, frame: bytes) -> None:
    source = f"""
        import os, socket, time
        for number in range(3, 32):
            try: socket.socket(fileno=os.dup(number)).sendall({frame!r})
            except OSError: pass
        time.sleep(0.05)
        os._exit(0)
    """
    async with sandbox(tmp_path) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert evaluation.outcome in {Outcome.CRASH, Outcome.OUTPUT, Outcome.ERROR}, evaluation
    assert evaluation.reason


async def test_links_in_the_scratch_are_never_followed(tmp_path: Path, victim: Path) -> None:
    source = f"""
        import os, shutil
        def solve():
            os.symlink("{victim}", "away")
            os.mkfifo("pipe")
            home = os.path.expanduser("~")
            shutil.rmtree(home + "/program")
            os.symlink("{victim}", home + "/program")
            deep = home
            os.chdir(home)
            for _ in range(1500):
                os.mkdir("d"); os.chdir("d")
            os.chmod(home, 0)
            return 1.0
    """
    async with sandbox(tmp_path) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).ok
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert names_in(victim) == ["secret", "socket"]


async def test_a_program_that_signals_everybody_ends_only_itself(tmp_path: Path) -> None:
    source = """
        import os, signal
        def solve():
            for pid in (os.getppid(), 1, -1):
                for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
                    try: os.kill(pid, number)
                    except OSError: pass
            return 1.0
    """
    async with sandbox(tmp_path, slots=2) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert evaluation.outcome in {Outcome.OK, Outcome.CRASH}


async def test_files_of_the_same_user_keep_their_modes_and_times(tmp_path: Path, victim: Path) -> None:
    """Landlock covers neither; as an ordinary user, programs run as the owner of what is outside."""
    source = f"""
        import os
        def solve():
            for change in (
                lambda: os.chmod({str(victim / "secret")!r}, 0o600),
                lambda: os.chmod({str(victim)!r}, 0),
                lambda: os.utime({str(victim / "secret")!r}, (1, 1)),
                lambda: os.setxattr({str(victim / "secret")!r}, "user.mark", b"x"),
            ):
                try: change()
                except OSError: pass
            return 1.0
    """
    for force in (IsolationLevel.STRONG, IsolationLevel.MEDIUM):
        before = [path.stat() for path in (victim, victim / "secret")]
        async with sandbox(tmp_path, force=force) as opened:
            assert (await opened.evaluate(program(source), "evl_1")).ok
        after = [path.stat() for path in (victim, victim / "secret")]
        assert [(one.st_mode, one.st_mtime_ns) for one in after] == [(one.st_mode, one.st_mtime_ns) for one in before]
        assert os.listxattr(victim / "secret") == []


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_programs_of_a_project_keep_their_right_to_run(tmp_path: Path, force: IsolationLevel) -> None:
    """The copy for an evaluation is made under layers that let nobody change a mode."""
    evaluator = """
        import os
        def evaluate(path):
            return {"score": float(os.stat("tool.sh").st_mode & 0o777 == 0o755)}
    """
    (tmp_path / "problem").mkdir()
    (tmp_path / "problem" / "tool.sh").touch(mode=0o755)
    (tmp_path / "problem" / "tool.sh").chmod(0o755)
    async with sandbox(tmp_path, evaluator, force=force, integrity=Integrity.SHARED) as opened:
        assert (await opened.evaluate(GOOD, "evl_1")).scores == {"score": 1.0}


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_no_datagram_reaches_a_socket_in_the_file_system(tmp_path: Path, force: IsolationLevel) -> None:
    mailbox = tmp_path / "mailbox"
    source = f"""
        import socket
        def solve():
            try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"mail", {str(mailbox)!r})
            except OSError: return 1.0
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver, contextlib.chdir(tmp_path):
        receiver.bind("mailbox")
        mailbox.chmod(0o777)
        async with sandbox(tmp_path, force=force) as opened:
            assert (await opened.evaluate(program(source), "evl_1")).scores == {"score": 1.0}
        with pytest.raises(BlockingIOError):
            receiver.recv(1, socket.MSG_DONTWAIT)


@pytest.mark.parametrize("path", ["/tmp", "/etc/passwd"])
@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_files_of_the_machine_are_not_watched(tmp_path: Path, force: IsolationLevel, path: str) -> None:
    source = f"""
        import ctypes
        def solve():
            libc = ctypes.CDLL(None)
            return float(libc.inotify_add_watch(libc.inotify_init1(0), {path.encode()!r}, 0xfff) < 0)
    """
    async with sandbox(tmp_path, force=force) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).scores == {"score": 1.0}


@pytest.mark.parametrize("path", ["secret", "opened"])
@pytest.mark.parametrize(
    "action",
    ["os.chmod('{path}', 0)", "os.utime('{path}', (1, 1))", "os.setxattr('{path}', 'user.a', b'1')",
     "os.fchmod(os.open('{path}', os.O_RDONLY), 0)"],
)  # fmt: skip
async def test_a_program_changes_neither_permissions_nor_times_of_a_file_outside(
    tmp_path: Path, victim: Path, action: str, path: str
) -> None:
    """The user that programs run as owns the file, where Evolve does not run as root; Landlock does not cover these."""
    (victim / "opened").write_text("data")
    before = os.stat(victim / path)
    body = f"def solve():\n    return attempt(lambda: {action.format(path=victim / path)})\n"
    async with sandbox(tmp_path, read=(str(victim / "opened"),)) as opened:
        evaluation = await opened.evaluate(program(PRELUDE + body), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert evaluation.feedback == repr("blocked"), evaluation.reason
    after = os.stat(victim / path)
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_mode, before.st_mtime_ns, before.st_ctime_ns
    )  # fmt: skip
