# ruff: noqa: E501 - a program is one string, and reads best whole
"""Known-good programs, each with a need that attacks could spoil; `solve(n)` returns `{factor} * n`."""

from collections.abc import Mapping

# The second line is the proof that nothing is left of earlier programs, nor of what they did to their keeper.
GOOD: Mapping[str, str] = {
    "computes": "def solve(n):\n    return {factor} * n\n",
    "finds its surroundings empty": "import os\ndef solve(n):\n    home = os.path.expanduser('~')\n"
    "    clean = os.listdir('.') == ['main.py'] and os.listdir(home) == ['program']\n"
    "    shared = os.listdir('/dev/shm') if os.access('/dev/shm', os.R_OK) and {sized} else []\n"
    "    return {factor} * n if clean and not shared else 0\n",
    "writes a file": "import os\ndef solve(n):\n    open('file', 'wb').write(bytes(1 << 20))\n    os.fsync(os.open('.', os.O_RDONLY))\n"
    "    return {factor} * n * (os.path.getsize('file') >> 20)\n",
    "uses temporary files": "import os, shutil, tempfile\ndef solve(n):\n    with tempfile.TemporaryDirectory() as folder:\n"
    "        shutil.copy('main.py', os.path.join(folder, 'copy.py'))\n        return {factor} * n * len(os.listdir(folder))\n",
    "starts a process": "import subprocess, sys\ndef solve(n):\n"
    "    return {factor} * n * int(subprocess.run(['echo', '1'], capture_output=True, text=True, check=True).stdout)\n",
    "forks": "import os\ndef solve(n):\n    pids = [os.fork() for _ in range(1)]\n    if 0 in pids: os._exit(3)\n"
    "    return {factor} * n * (os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]) == 3)\n",
    "starts threads": "from concurrent.futures import ThreadPoolExecutor\ndef solve(n):\n"
    "    with ThreadPoolExecutor(4) as pool: return {factor} * sum(pool.map(lambda x: 1, range(int(n))))\n",
    "imports": "import csv, decimal, fractions, html, http, sqlite3, statistics, unittest, xml.dom, zipfile\n"
    "def solve(n):\n    return {factor} * n\n",
    "talks to itself": "import socket\ndef solve(n):\n    a, b = socket.socketpair()\n    a.sendall(b'1')\n"
    "    return {factor} * n * int(b.recv(1))\n",
    "gets signals": "import os, signal\ndef solve(n):\n    got = []\n    signal.signal(signal.SIGALRM, lambda *a: got.append(1))\n"
    "    signal.raise_signal(signal.SIGALRM)\n    return {factor} * n * len(got)\n",
    "takes memory": "def solve(n):\n    return {factor} * n * (len(bytearray(100 << 20)) >> 20) / 100\n",
    "draws at random": "import random\ndef solve(n):\n    first = random.random()\n    return {factor} * n if 0 <= first < 1 else 0\n",
    "prints": "def solve(n):\n    print('x' * 10_000)\n    return {factor} * n\n",
    "runs a loop": "import asyncio\nasync def later(n):\n    await asyncio.sleep(0)\n    return {factor} * n\n"
    "def solve(n):\n    return asyncio.run(later(n))\n",
}  # fmt: skip
