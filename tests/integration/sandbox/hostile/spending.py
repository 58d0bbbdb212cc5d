# ruff: noqa: E501 - a program is one string, and reads best whole
"""Attacks that take more than they may have, lie about their result, or leave something behind."""

from collections.abc import Mapping

from evolve.evaluation import Outcome
from tests.integration.sandbox.hostile.attack import ANY, ENDED, Attack

_TAKE: Mapping[str, str] = {
    "sleeps": "def solve(n):\n    time.sleep(600)\n",
    "spins": "def solve(n):\n    while True: pass\n",
    "holds the interpreter lock": "def solve(n):\n    return 3 ** (10 ** 9)\n",
    "spins in threads": "def spin():\n    while True: pass\n"
    "def solve(n):\n    for _ in range(8): threading.Thread(target=spin).start()\n    spin()\n",
    "stops itself": "def solve(n):\n    os.kill(os.getpid(), signal.SIGSTOP)\n    time.sleep(600)\n",
    "ignores signals": "def solve(n):\n    for s in range(1, 32):\n        try: signal.signal(s, signal.SIG_IGN)\n"
    "        except OSError: pass\n    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n    time.sleep(600)\n",
    "closes all descriptors": "def solve(n):\n    os.closerange(0, 256)\n    time.sleep(600)\n",
    "forks without end": "def solve(n):\n    while True:\n        try: os.fork()\n        except OSError: pass\n",
    "forks and each child forks": "def solve(n):\n    while True:\n        try:\n            if os.fork() == 0: os.setsid()\n"
    "        except OSError: time.sleep(0.01)\n",
    "starts threads": "def solve(n):\n    while True: threading.Thread(target=time.sleep, args=(600,)).start()\n",
    "takes memory": "def solve(n):\n    return len(bytearray(os.urandom(1 << 20)) * 1000)\n",
    "takes memory in children": "def solve(n):\n    for _ in range(6):\n        if os.fork() == 0:\n"
    "            held = bytearray(os.urandom(1 << 20)) * 100\n            time.sleep(600)\n    time.sleep(600)\n",
    "takes memory in a shared map": "def solve(n):\n    pages = mmap.mmap(-1, 600 << 20)\n"
    "    for place in range(0, len(pages), 4096): pages[place] = 1\n    time.sleep(600)\n",
    "takes addresses": "def solve(n):\n    return [mmap.mmap(-1, 1 << 40) for _ in range(100)]\n",
    "overflows the stack": "def solve(n):\n    sys.setrecursionlimit(10 ** 9)\n"
    "    def deep(x): return deep([x])\n    return len(repr(deep(0)))\n",
    "writes a large file": "def solve(n):\n    with open('big', 'wb') as f:\n        while True: f.write(bytes(1 << 20))\n",
    "writes many files": "def solve(n):\n    for i in range(4000):\n"
    "        with open(f'{{i}}', 'wb') as f: f.write(bytes(1 << 16))\n    time.sleep(600)\n",
    "writes files without a name": "def solve(n):\n    held = []\n    while True:\n"
    "        held.append(open(f'{{len(held)}}', 'wb'))\n        held[-1].write(bytes(1 << 20)); held[-1].flush()\n"
    "        os.unlink(held[-1].name)\n        time.sleep(0.005)\n",
    "writes into a closed folder": "def solve(n):\n    os.makedirs('in/ner'); os.chdir('in/ner'); os.chmod('..', 0)\n"
    "    for i in range(4000):\n        with open(f'{{i}}', 'wb') as f: f.write(bytes(1 << 16))\n    time.sleep(600)\n",
    "makes names without end": "def solve(n):\n    for i in range(10 ** 6):\n        os.close(os.open(f'{{i}}', os.O_CREAT))\n"
    "    time.sleep(600)\n",
    "prints without end": "def solve(n):\n    while True: print('x' * 1000)\n",
    "prints to the error stream": "def solve(n):\n    while True: os.write(2, bytes(4096))\n",
    "returns too much": "def solve(n):\n    return 'x' * 10 ** 6\n",
    "returns more than memory holds": "def solve(n):\n    return ['x' * 10 ** 7] * 20\n",
    "opens files without end": "def solve(n):\n    return [os.pipe() for _ in range(10 ** 6)]\n",
    "fills pipes and sockets": "def solve(n):\n    held = []\n    while True:\n        a, b = socket.socketpair(); held += [a, b]\n"
    "        a.setblocking(False)\n        try:\n            while True: a.send(bytes(65536))\n        except BlockingIOError: pass\n",
    "passes descriptors without end": "def solve(n):\n    a, b = socket.socketpair()\n    a.setblocking(False)\n    while True:\n"
    "        socket.send_fds(a, [b'x'], [os.open('/dev/null', os.O_RDONLY)] * 100)\n",
    "raises what has no text": "class E(Exception):\n    def __str__(self): raise E\ndef solve(n):\n    raise E\n",
    "leaves with what has no text": "class E:\n    def __repr__(self): raise ValueError\ndef solve(n):\n    sys.exit(E())\n",
    "raises an endless text": "class E(Exception):\n    def __str__(self):\n        while True: pass\ndef solve(n):\n    raise E\n",
    "raises a nest of errors": "def solve(n):\n    error = ValueError()\n    for _ in range(10 ** 5): error = ExceptionGroup('', [error])\n"
    "    raise error\n",
    "raises an error with a false name": "E = type('E' * 10 ** 5 + chr(10), (Exception,), {{}})\ndef solve(n):\n    raise E\n",
    "exits": "def solve(n):\n    sys.exit(0)\n",
    "exits hard": "os._exit(0)\n",
    "aborts": "def solve(n):\n    os.abort()\n",
    "reads address 0": "def solve(n):\n    ctypes.string_at(0)\n",
    "ends itself": "def solve(n):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "becomes another program": "def solve(n):\n    os.execv('/bin/sleep', ['sleep', '600'])\n",
    "calls with a foreign convention": "def solve(n):\n    return LIBC.syscall(ctypes.c_long(0x40000000 | 39))\n",
    "defines no entry": "def other(n):\n    return 1\n",
    "is no Python": "def solve(n:\n",
    "nests too deeply": "def solve(n):\n    x = []\n    for _ in range(10 ** 5): x = [x]\n    return x\n",
    "holds itself": "def solve(n):\n    x = []; x.append(x); return x\n",
    "compiles without end": "x = '(' * 100_000\ndef solve(n):\n    return eval('+'.join(['1'] * 10 ** 7))\n",
}  # fmt: skip
_LIE: Mapping[str, str] = {
    "returns nan": "def solve(n):\n    return float('nan')\n",
    "returns a huge number": "def solve(n):\n    return 10 ** 5000\n",
    "returns text": "def solve(n):\n    return '1e9'\n",
    "returns a claim of a score": "def solve(n):\n    return {{'score': 1e9, 'value': 1e9}}\n",
    "returns a number of its own kind": "class N(float):\n    def __float__(self): return 1e9\n    __le__ = lambda s, o: True\n"
    "def solve(n):\n    return N(0)\n",
    "returns half of a character": "def solve(n):\n    return chr(0xD800) + chr(0)\n",
    "returns keys of its own kind": "class K(str):\n    __hash__ = lambda s: 1 / 0\ndef solve(n):\n    return [K('x')]\n",
    "patches what everybody uses": "import builtins, json, math\nbuiltins.float = lambda x: 1e9\nbuiltins.isinstance = lambda x, t: True\n"
    "math.isfinite = lambda x: True\njson.dumps = lambda *a, **k: '{{\"score\": 1e9}}'\n"
    "sys.modules['evaluator'] = type(sys)('evaluator')\nsys.modules['evaluator'].score = lambda *a: {{'score': 1e9}}\n"
    "def solve(n):\n    return 'x'\n",
    "writes frames of its own": "BODY = b'{{\"result\":{{\"score\":1e9}},\"value\":1e9}}'\nfor number in range(3, 32):\n"
    "    try: socket.socket(fileno=os.dup(number)).sendall(len(BODY).to_bytes(4, 'big') + BODY)\n    except OSError: pass\n"
    "def solve(n):\n    return 0\n",
    "writes frames without end": "def solve(n):\n    for number in range(3, 32):\n"
    "        try:\n            while True: os.write(number, bytes(4))\n        except OSError: pass\n",
    "writes half a frame": "def solve(n):\n    for number in range(3, 32):\n"
    "        try: os.write(number, (60_000).to_bytes(4, 'big') + b'[')\n        except OSError: pass\n    time.sleep(600)\n",
    "answers twice": "def solve(n):\n    os.fork()\n    return 0\n",
    "calls itself lost": "BODY = b'{{\"failed\":\"mine\",\"outcome\":\"lost\"}}'\nfor number in range(3, 32):\n"
    "    try: socket.socket(fileno=os.dup(number)).sendall(len(BODY).to_bytes(4, 'big') + BODY)\n    except OSError: pass\nos._exit(0)\n",
    "hides the scorer's modules": "for name in ('evaluator.py', 'json.py', 'os.py', 'sitecustomize.py', '../evaluator.py', '/dev/shm/evaluator.py'):\n"
    "    try: open(name, 'w').write('def score(*a): return {{\"score\": 1e9}}')\n    except OSError: pass\ndef solve(n):\n    return 0\n",
    "waits for the scorer": "def solve(n):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
    "            while True:\n                for pid in range(2, 400):\n                    try: os.kill(pid, signal.SIGKILL)\n"
    "                    except OSError: pass\n        os._exit(0)\n    return 0\n",
}  # fmt: skip
_LEAVE: Mapping[str, str] = {
    "leaves files": "def solve(n):\n    for folder in ('.', HOME, '/dev/shm', '/tmp', '/var/tmp'):\n"
    "        try: open(f'{{folder}}/{token}', 'w').write('x')\n        except OSError: pass\n    return 0\n",
    "leaves a daemon": "def solve(n):\n    subprocess.Popen(['sh', '-c', 'setsid sleep 601.{token} & setsid setsid sleep 601.{token} &']).wait()\n"
    "    return 0\n",
    "leaves a daemon that adopts": "def solve(n):\n    if os.fork() == 0:\n        LIBC.prctl(36, 1, 0, 0, 0)\n        os.setsid()\n"
    "        if os.fork() == 0:\n            os.execv('/bin/sleep', ['sleep', '601.{token}'])\n        time.sleep(600)\n    return 0\n",
    "leaves a daemon that forks away": "def solve(n):\n    if os.fork() == 0:\n        while True:\n            if os.fork(): os._exit(0)\n"
    "            os.setsid()\n    return 0\n",
    "leaves stopped children": "def solve(n):\n    for _ in range(4):\n        if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\n"
    "    return 0\n",
    "leaves zombies": "def solve(n):\n    for _ in range(8):\n        if os.fork() == 0: os._exit(0)\n    return 0\n",
    "leaves a child that ignores signals": "def solve(n):\n    if os.fork() == 0:\n        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
    "        os.setsid()\n        time.sleep(600)\n    return 0\n",
    "closes its scratch": "def solve(n):\n    os.makedirs('a/b'); os.chmod('a', 0); os.chmod(HOME, 0); return 0\n",
    "closes shared memory": "def solve(n):\n    try:\n        open('/dev/shm/{token}', 'w'); os.chmod('/dev/shm', 0)\n"
    "    except OSError: pass\n    return 0\n",
    "makes a deep folder": "def solve(n):\n    for _ in range(900):\n        os.mkdir('d'); os.chdir('d')\n    return 0\n",
    "makes links and pipes": "def solve(n):\n    os.symlink('/', 'root'); os.symlink('{victim}', 'away'); os.mkfifo('pipe')\n"
    "    os.link('main.py', 'again'); shutil.rmtree(os.path.join(HOME, 'program')); os.symlink('{victim}', os.path.join(HOME, 'program'))\n"
    "    return 0\n",
    "makes names that are no text": "def solve(n):\n    for name in (b'\\xff\\xfe', b'a\\nb', b'-rf', b' ', b'\\x1b[31m', b'x' * 255):\n"
    "        os.close(os.open(name, os.O_CREAT))\n    return 0\n",
    "makes a sparse file": "def solve(n):\n    with open('sparse', 'wb') as f: f.truncate(1 << 20)\n    return 0\n",
    "locks what it can open": "def solve(n):\n    for name in glob.glob(os.path.dirname(os.__file__) + '/*.py'):\n"
    "        try: fcntl.flock(os.open(name, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)\n        except OSError: pass\n    return 0\n",
    "leaves timers": "def solve(n):\n    signal.setitimer(signal.ITIMER_REAL, 600)\n    for _ in range(1000): call(222, 107, 1, None, (ctypes.c_int * 1)())\n"
    "    return 0\n",
    "leaves shared memory": "def solve(n):\n    from multiprocessing import shared_memory\n"
    "    try: shared_memory.SharedMemory('{token}', create=True, size=1 << 20)\n    except OSError: pass\n    return 0\n",
    "changes itself": "def solve(n):\n    os.umask(0); os.nice(5); os.chdir('/'); resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    "    os.environ.clear(); os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}}); signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
    "    return 0\n",
    "signals everybody": "def solve(n):\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    for pid in (0, -1, KEEPER):\n"
    "        for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):\n            if pid or number is signal.SIGTERM:\n"
    "                try: os.kill(pid, number)\n                except OSError: pass\n    return 0\n",
    "is in the way of modules": "sys.modules.clear()\nsys.path.clear()\nimport builtins\nbuiltins.open = builtins.__import__ = None\n"
    "def solve(n):\n    return 0\n",
}  # fmt: skip

_ENDS = {Outcome.OK, Outcome.CRASH, Outcome.ERROR, Outcome.TIMEOUT}
ATTACKS = (
    *(Attack(name=name, aim="more than its share", source=source, outcomes=ENDED) for name, source in _TAKE.items()),
    *(
        Attack(name=name, aim="a score that it has not earned", source=source, outcomes=ANY)
        for name, source in _LIE.items()
    ),
    *(
        Attack(
            name=name,
            aim="to leave something behind",
            source=source,
            outcomes=_ENDS,
        )
        for name, source in _LEAVE.items()
    ),
)
