# ruff: noqa: E501 - an action is one string, and reads best whole
"""Attacks that reach for what is not the program's: files, processes, the kernel, what it was started with."""

from evolve.evaluation import Outcome
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.hostile.attack import Attack, refused

# As `test_secrecy` tries them one by one, too.
OUTSIDE = (
    "open('{victim}/secret').read()",
    "os.listdir('{victim}')",
    "open('{victim}/new', 'w')",
    "os.mkdir('{victim}/new')",
    "os.unlink('{victim}/secret')",
    "os.symlink('/', '{victim}/link')",
    "os.rename('{victim}/secret', 'stolen')",
    "os.link('{victim}/secret', 'stolen')",
    "open('/etc/shadow').read()",
    "open('/etc/passwd').read()",
    "os.listdir('/')",
    "os.listdir('/tmp')",
    "open('{problem}/evaluator.py').read()",
    "open('/proc/{host}/environ').read()",
    "open('/proc/1/environ').read()",
    "open('/proc/1/mem', 'rb').read(1)",
    "os.listdir('/proc/1/fd')",
    "open('/proc/self/root/etc/shadow').read()",
    "socket.socket()",
    "socket.socket(socket.AF_UNIX)",
    "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "os.setuid(0)",
    "os.chroot('.')",
    "os.mknod('device', 0o600 | 0o020000, os.makedev(1, 1))",
    "os.kill({host}, 0)",
    "open('/proc/sysrq-trigger', 'w')",
    "open('/proc/self/oom_score_adj', 'w').write('-1000')",
    "open('/dev/kmsg', 'w')",
    "open('/dev/mem', 'rb')",
)
# As `test_keeper_safety` tries them together, too.
KEEPER = (
    "resource.prlimit(KEEPER, resource.RLIMIT_FSIZE, (0, 0))",
    "resource.prlimit(KEEPER, resource.RLIMIT_NOFILE)",
    "os.sched_setaffinity(KEEPER, {{min(os.sched_getaffinity(0))}})",
    "os.sched_setscheduler(KEEPER, os.SCHED_IDLE, os.sched_param(0))",
    "os.sched_setparam(KEEPER, os.sched_param(0))",
    "call(314, 274, KEEPER, (ctypes.c_uint32 * 12)(48, 5), 0)",
    "os.setpriority(os.PRIO_PROCESS, KEEPER, 19)",
    "os.setpriority(os.PRIO_USER, 0, 19)",
    "os.setpriority(os.PRIO_USER, os.getuid(), 19)",
    "os.setpriority(os.PRIO_PGRP, os.getpgid(KEEPER) or 1, 19)",
    "call(251, 30, 1, KEEPER, 3 << 13)",
    "call(251, 30, 3, os.getuid(), 3 << 13)",
    "call(279, 239, KEEPER, 0, None, None, None, 0)",
    "call(256, 238, KEEPER, 0, None, None)",
    "call(448, 448, os.pidfd_open(KEEPER), 0)",
)
_CALLS = (
    "call(101, 117, 16, KEEPER, 0, 0)",
    "call(310, 270, KEEPER, None, 0, None, 0, 0)",
    "call(311, 271, KEEPER, None, 0, None, 0, 0)",
    "call(438, 438, os.pidfd_open(KEEPER), 0, 0)",
    "call(312, 272, os.getpid(), KEEPER, 2, 0, 0)",
    "call(440, 440, os.pidfd_open(KEEPER), None, 0, 20, 0)",
    "call(321, 280, 0, None, 0)",
    "call(298, 241, None, 0, -1, -1, 0)",
    "call(323, 282, 0)",
    "call(250, 219, 0, -3, 1)",
    "call(248, 217, b'user', b'a', b'b', 1, -3)",
    "call(425, 425, 8, (ctypes.c_char * 120)())",
    "call(165, 40, b'none', HOME.encode(), b'tmpfs', 0, None)",
    "call(166, 39, HOME.encode(), 2)",
    "call(272, 97, 0x10000000)",
    "call(56, 220, 0x10000000 | 17, None, None, None, None)",
    "call(435, 435, None, 0)",
    "call(319, 279, b'pages', 0)",
    "call(447, 447, 0)",
    "call(428, 428, -100, b'/', 0)",
    "call(442, 442, -100, b'/', 0x8000, struct.pack('4Q', 0, 1, 0, 0), 32)",
    "call(303, 264, -100, b'/', (ctypes.c_char * 256)(128), (ctypes.c_int * 1)(), 0)",
    "call(304, 265, -100, (ctypes.c_char * 256)(), 0)",
    "call(29, 194, 0, 4096, 0o1600)",
    "call(68, 186, 0, 0o1600)",
    "call(64, 190, 0, 1, 0o1600)",
    "call(240, 180, b'queue', 0o102, 0o600, None)",
    "call(300, 262, 0, 0)",
    "call(253 if X86 else 294, 26, 0)",
    "call(294, 26, 0)",
    "call(170, 161, b'taken', 5)",
    "call(135, 92, 0x0040000)",
    "call(154, 1024, 0, None, 0)",
    "call(313, 273, 0, b'', 0)",
    "call(175, 105, b'', 0, b'')",
    "call(163, 89, b'/tmp/acct')",
    "call(227, 112, 0, struct.pack('2q', 0, 0))",
    "call(999, 999)",
)
_FILES = (
    "os.chmod('{victim}/secret', 0o600) or os.stat('{victim}/secret').st_mode & 0o777 == 0o600 or os.open('', 0)",
    "os.chmod('{victim}', 0) or os.stat('{victim}').st_mode & 0o777 == 0 or os.open('', 0)",
    "os.utime('{victim}/secret', (1, 1)) or os.stat('{victim}/secret').st_mtime == 1 or os.open('', 0)",
    "os.chown('{victim}/secret', -1, os.getgid())",
    "os.setxattr('{victim}/secret', 'user.mark', b'{token}')",
    "os.chmod('{sandbox}', 0) or os.stat('{sandbox}').st_mode & 0o777 == 0 or os.open('', 0)",
    "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '{victim}/mailbox')",
    "fcntl.fcntl(open('own', 'w'), 1024, fcntl.F_WRLCK)",
    "fcntl.fcntl(open(os.__file__), 1024, fcntl.F_RDLCK)",
    "fcntl.fcntl(os.open('/usr/lib', os.O_RDONLY), 1026, 0x7FFFFFFF)",
    "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, KEEPER)",
    "fcntl.ioctl(os.pipe()[0], 0x8901, struct.pack('i', KEEPER))",
    "fcntl.ioctl(0, 0x5412, b'x')",
    "open(os.__file__, 'r+')",
    "open(os.path.join(os.path.dirname(os.__file__), '{token}.py'), 'w')",
    "os.rename(HOME, HOME + '{token}')",
    "open(os.path.join(HOME, '..', '..', '{token}'), 'w')",
    "os.listdir('{sandbox}')",
    "open('{sandbox}/inputs').read()",
    "open('{sandbox}/zygote.log').read()",
    "open('/tmp/{token}', 'w')",
    "open('/var/tmp/{token}', 'w')",
    "os.open('/dev/ptmx', os.O_RDWR)",
    "open('/dev/tty', 'w')",
    "open('/proc/1/maps').read()",
    "os.readlink('/proc/1/exe')",
    "open('/proc/sys/kernel/core_pattern', 'w')",
    "open('/sys/fs/cgroup/cgroup.procs', 'w')",
    "open('/proc/1/oom_score_adj', 'w')",
    "os.listdir('/root')",
    "os.listdir('/home')",
    "os.setgroups([0])",
    "os.setgid(0)",
    "os.nice(-5)",
)
_SIGNALS = (
    "os.kill(KEEPER, signal.SIGKILL) if KEEPER > 1 else os.kill({host}, 0)",
    "os.kill({zygote}, signal.SIGKILL)",
    "call(129, 138, {zygote}, 9, (ctypes.c_char * 128)())",
    "call(234, 131, {zygote}, {zygote}, 9)",
    "call(200, 130, {zygote}, 9)",
    "signal.pidfd_send_signal(os.pidfd_open({zygote}), signal.SIGKILL)",
    "os.killpg(os.getpgid({zygote}), signal.SIGKILL)",
)
_FRAMES = """
def solve(n):
    found, frame = set(), sys._getframe()
    while frame is not None:
        for value in frame.f_locals.values():
            found |= {{key for key in ("evaluator", "thresholds", "inputs") if isinstance(value, dict) and key in value}}
            found |= {{type(value).__name__}} & {{"Keeper", "Confinement", "Dialogue", "Cell"}}
        frame = frame.f_back
    return sorted(found) or "blocked"
"""
_OBJECTS = """
def solve(n):
    found = set()
    for value in gc.get_objects():
        if type(value) is dict and "thresholds" in value and "evaluator" in value:
            found.add("task")
        found |= {{type(value).__name__}} & {{"Keeper", "Dialogue", "Phase"}}
    return sorted(found) or "blocked"
"""
# What a program finds of a pattern in all its memory, which it asks for by a system call: that refuses what is not there.
MEMORY = """
import re
MARK = re.compile(b"PATTERN")
def regions():
    starts = {id(value) >> 20 << 20 for value in gc.get_objects()}
    starts |= {id(value) >> 20 << 20 for value in ("", b"", MARK, [], object())}
    LIBC.sbrk.restype = ctypes.c_void_p
    end = LIBC.sbrk(0)
    yield from ((start, start + (1 << 20)) for start in starts)
    yield (end - (16 << 20), end)
    try:
        lines = open("/proc/self/maps").read().splitlines()
    except OSError:
        lines = []
    for line in lines:
        bounds, rights, rest = line.split(None, 2)
        if rights.startswith("rw") and not rest.rstrip().endswith((".so", ".so.6")):
            first, last = (int(word, 16) for word in bounds.split("-"))
            yield first, min(last, first + (32 << 20))
def pages(first, last):
    reading, writing = os.pipe()
    for place in range(first, last, 4096):
        if LIBC.write(writing, ctypes.c_void_p(place), 4096) == 4096:
            yield os.read(reading, 4096)
    os.close(reading)
    os.close(writing)
def solve(n):
    found = set()
    for first, last in sorted(set(regions())):
        found |= {int(number) for number in re.findall(MARK, b"".join(pages(first, last)))}
    return sorted(found)
"""
# Every program of a campaign holds a mark and prints it. It has an end: half of one's own is no mark of another.
_MEMORY = (
    MEMORY.replace("{", "{{").replace("}", "}}").replace('b"PATTERN"', '("mark-" + "{token}-([0-9]+);").encode()')
    + "look = solve\ndef solve(n):\n    return sorted(set(look(n)) - {{{number}}}) or 'blocked'\n"
)
_READING = [
    Attack(name=name, aim="what the keeper holds", source=source, outcomes={Outcome.OK}, says="blocked")
    for name, source in {
        "the frames below the program": _FRAMES,
        "objects of the keeper": _OBJECTS,
        "memory with other candidates": _MEMORY,
    }.items()
]

ATTACKS = (
    *refused("the world outside", *OUTSIDE),
    *refused("the keeper", *KEEPER),
    *refused("the kernel", *_CALLS),
    *refused("files of others", *_FILES),
    *refused("processes of others", *_SIGNALS),
    *refused("processes of others", "os.kill(1, signal.SIGKILL)", levels=[IsolationLevel.MEDIUM]),
    *_READING,
)
