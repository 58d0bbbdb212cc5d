"""A machine with accelerators: mounts of a process alone, in which /dev has the files of cards.

No card can be had here. Each of its files is a real device node, which does what `/dev/null` does: it opens as that of
a card, and computes nothing. Who is not the superuser cannot make nodes, and has `/dev/null` itself under other names,
which a sandbox cannot tell apart. `nvidia-smi` is a script that prints what the real tool prints.
"""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.sandbox.device_monitor import TOOL
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[3]
NVIDIA = ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm")
ROCM = ("kfd", "dri/renderD128", "dri/renderD129")
_PLAIN = ("null", "zero", "full", "random", "urandom")
_MOUNTS = """
set -e
dev=$1; shift; names=$1; shift
mount -t tmpfs tmpfs "$dev"
mkdir "$dev/shm" "$dev/dri"
mount -t tmpfs tmpfs "$dev/shm"
for name in {plain}; do touch "$dev/$name"; mount --bind "/dev/$name" "$dev/$name"; done
for name in $names; do
  mknod -m 666 "$dev/$name" c 1 3 2>/dev/null || {{ touch "$dev/$name"; mount --bind /dev/null "$dev/$name"; }}
done
mount --rbind "$dev" /dev
if [ -d /run/lock ]; then mount -t tmpfs -o mode=1777 tmpfs /run/lock; fi
exec "$@"
"""


def on_machine(
    folder: Path, names: Sequence[str], words: Sequence[str], **variables: str
) -> "subprocess.CompletedProcess[str]":
    """What a command says on a machine whose /dev has files of these names, beside the plain ones."""
    dev = folder / "dev"
    dev.mkdir()
    spaces = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--map-root-user"]
    shell = ["sh", "-c", _MOUNTS.format(plain=" ".join(_PLAIN)), "sh", str(dev), " ".join(names)]
    return subprocess.run(
        ["unshare", *spaces, "--propagation", "private", "--", *shell, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **variables},
        timeout=4 * PATIENCE_SECONDS,
    )


def told_on_machine(folder: Path, names: Sequence[str], source: str, **variables: str) -> Any:
    """The JSON value that a script prints last, on such a machine."""
    said = on_machine(folder, names, [sys.executable, "-c", textwrap.dedent(source)], **variables)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout.splitlines()[-1])


def write_tool(folder: Path, answers: Mapping[str, str]) -> Path:
    """An `nvidia-smi` in a folder, which answers a question by the first text in it that is a word of its call.

    It appends each call to the file `calls` beside it, and reads its answers anew each time.
    """
    folder.mkdir(exist_ok=True)
    (folder / "answers.json").write_text(json.dumps(answers))
    program = folder / TOOL
    program.write_text(
        f"#!{sys.executable} -S\nimport json, pathlib, sys\nhere = pathlib.Path({str(folder)!r})\n"
        "with (here / 'calls').open('a') as file:\n    print(' '.join(sys.argv[1:]), file=file)\n"
        "answers = json.loads((here / 'answers.json').read_text())\n"
        "print(next((answers[word] for word in sys.argv[1:] if word in answers), ''))\n"
    )
    program.chmod(0o755)
    return program
