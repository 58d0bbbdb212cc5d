"""Small git repositories for tests, and problems about them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

LIBRARY = {
    "lib/__init__.py": "",
    "lib/core.py": "def double(value):\n    return value + value\n",
    "lib/spare.py": "UNUSED = 1\n",
    "tests/check.py": "from lib.core import double\n\nassert double(21) == 42, 'double is wrong'\n",
    "bench.py": "from pathlib import Path\n\nprint('size:', len(Path('lib/core.py').read_text()))\n",
    "README.md": "A library.\n",
}
PROBLEM = """\
schema = 1
name = "library"

[repository]
path = "{path}"
mutable = ["lib/**/*.py"]
evaluate = "PYTHONPATH=. python tests/check.py && python bench.py"
{more}
[[objectives]]
name = "size"
direction = "minimize"
"""


def git(folder: Path, *words: str) -> str:
    """Call git in a folder as nobody in particular."""
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, files: Mapping[str, str | bytes], message: str = "a change") -> str:
    """Write files and commit everything; the id of the commit."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def make_repository(folder: Path, files: Mapping[str, str | bytes] = LIBRARY) -> str:
    """A new repository with one commit, whose id is returned."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    return commit(folder, files)


def make_problem(folder: Path, path: str = "../library", more: str = "") -> Path:
    """A problem about a repository beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "problem.toml").write_text(PROBLEM.format(path=path, more=more))
    return folder
