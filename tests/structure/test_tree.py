"""What holds for the tree as a whole and no linter checks."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE_LINES = 400
LINE_CHARACTERS = 120
FUNCTION_LINES = 60

# A pure library: the world stays outside, and so do the clock and every source of chance that nobody passed in.
WORLDLY = {
    "asyncio.subprocess", "datetime", "fcntl", "glob", "http", "io", "logging", "mmap", "multiprocessing", "os",
    "pathlib", "random", "secrets", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess",
    "tempfile", "time", "urllib",
}  # fmt: skip
WORLDLY_CALLS = {"open", "input", "print", "exec", "eval", "__import__"}
PURE_NAMES = {("pathlib", "PurePosixPath"), ("datetime", "datetime"), ("datetime", "timedelta")}
ALLOWED_PACKAGES = {"evolve", "moocore", "numpy"}  # moocore: pure computation, where it is installed
# `evolve.run` is looked up there when somebody asks for it (decision 27).
FRONT_DOORS = {f"evolve/__init__.py: imports service.notebook.run {name}" for name in ("run", "open_run")}

# Written apart, so that this file does not name what it looks for.
HOSTS = ("py" + "pi.org", "python" + "hosted.org", "registry." + "npmjs", "deb." + "debian.org", "conda" + ".anaconda")
MACHINE_PATH = re.compile(r"(?<![\w.~}])/(?:root|home/\w+|work|Users/\w+)/[\w.]")


@cache
def committed() -> tuple[Path, ...]:
    """The files that git knows or would take, as they stand in the tree."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def texts() -> Iterator[tuple[Path, str]]:
    for path in committed():
        content = path.read_bytes()
        if b"\0" not in content:
            yield path.relative_to(ROOT), content.decode()


def trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for path, text in texts():
        if path.suffix == ".py" and path.parts[0] in folders:
            yield path, ast.parse(text)


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def worldly_imports(tree: ast.AST) -> Iterator[str]:
    for module, name in imports(tree):
        top = module.partition(".")[0]
        foreign = top not in sys.stdlib_module_names | ALLOWED_PACKAGES
        worldly = {module, top, f"{module}.{name}"} & WORLDLY and (module, name) not in PURE_NAMES
        if foreign or worldly:
            yield f"imports {module} {name}".strip()


def worldly_calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in WORLDLY_CALLS or re.fullmatch(r"(datetime|date)\.(now|today|utcnow)", called):
            yield f"calls {called}"
        if re.fullmatch(r"(np|numpy)\.random\.(?!Generator|SeedSequence|PCG64|Philox|default_rng)\w+", called):
            yield f"draws from the global {called}"
        if called.endswith("random.default_rng") and not node.args:
            yield "draws from a generator without a seed"


@pytest.mark.parametrize(
    "source",
    [
        "import os", "from os import path", "import urllib.request", "from pathlib import Path", "import sqlalchemy",
        "def f():\n import time", "open('x')", "np.random.rand()", "np.random.default_rng()", "datetime.now()",
    ],
)  # fmt: skip
def test_the_purity_check_sees_the_world(source: str) -> None:
    tree = ast.parse(source)
    assert [*worldly_imports(tree), *worldly_calls(tree)]


@pytest.mark.parametrize("source", ["import math", "from pathlib import PurePosixPath", "np.random.default_rng(7)"])
def test_the_purity_check_lets_the_pure_pass(source: str) -> None:
    tree = ast.parse(source)
    assert not [*worldly_imports(tree), *worldly_calls(tree)]


def test_the_library_is_pure() -> None:
    found = [
        f"{path}: {what}" for path, tree in trees("evolve") for what in (*worldly_imports(tree), *worldly_calls(tree))
    ]
    assert set(found) == FRONT_DOORS


def test_importing_the_library_brings_in_nothing_above_it() -> None:
    modules = [".".join(path.with_suffix("").parts) for path, _ in trees("evolve") if path.stem != "__init__"]
    source = f"import sys, importlib; [importlib.import_module(name) for name in {modules!r}]; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    tops = {name.partition(".")[0] for name in done.stdout.split()}
    assert "evolve" in tops
    assert not tops & {"service", "training", "migrations"}


def keyed_payloads(tree: ast.AST) -> Iterator[int]:
    """Lines that read a field of an event's JSON by its key, in place of the dataclass of its kind."""
    for node in ast.walk(tree):
        named = node.value if isinstance(node, ast.Subscript | ast.Attribute) else None
        asked = isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in {"get", "items"})
        if asked and isinstance(named, ast.Attribute) and named.attr == "payload":
            yield named.lineno


@pytest.mark.parametrize("source", ["event.payload['number']", "logged.event.payload.get('of')"])
def test_the_check_of_payloads_sees_a_key(source: str) -> None:
    assert list(keyed_payloads(ast.parse(source)))


def test_no_code_reads_events_by_string_keys() -> None:
    found = [f"{path}:{line}" for path, tree in trees("evolve", "service") for line in keyed_payloads(tree)]
    assert found == []


def test_no_committed_file_names_a_registry() -> None:
    assert [f"{path}: {host}" for path, text in texts() for host in HOSTS if host in text] == []


def test_no_committed_file_holds_a_path_of_one_machine() -> None:
    found = [f"{path}: {match.group()}" for path, text in texts() for match in MACHINE_PATH.finditer(text)]
    assert found == []


def test_modules_stay_readable() -> None:
    long = {
        str(path): text.count("\n")
        for path, text in texts()
        if path.suffix in {".py", ".js"} and path.parts[0] != "tests" and text.count("\n") > MODULE_LINES
    }
    assert long == {}


def test_lines_of_scripts_and_styles_fit_the_screen() -> None:
    own = [(path, text) for path, text in texts() if path.suffix in {".js", ".css"} and "vendor" not in path.parts]
    assert {path.name for path, _ in own} > {"evolve.css", "evolve.js"}
    assert [
        f"{path}:{number}"
        for path, text in own
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > LINE_CHARACTERS
    ] == []


def test_functions_stay_readable() -> None:
    found = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in trees("evolve", "service", "training", "migrations", "benchmarks", "scripts")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES
    ]
    assert found == []
