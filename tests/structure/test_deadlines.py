"""No call to anything outside waits without a deadline: each client of the code is walked."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
Modules = Mapping[str, ast.Module]
# What runs within an evaluation or clears up after one ends with the limits of that evaluation.
INSIDE = "service/sandbox/inside/"
# The application answers in the same process: nothing is outside.
WITHIN = {"service/dashboard/session.py"}
# Their options come from `options` and `_timeouts` beside them, which a test of its own looks at.
OPTIONS = {"service/client/client.py", "service/client/asynchronous.py", "service/client/leases.py"}
COMMANDS = {"run", "check_call", "check_output", "call"}


@pytest.fixture(scope="module")
def modules() -> Modules:
    """Parsed where these tests run, not by every process that collects them, and given up after them."""
    return {str(path.relative_to(TOP)): ast.parse(path.read_text()) for path in sorted((TOP / "service").rglob("*.py"))}


@pytest.fixture(scope="module")
def queue(modules: Modules) -> Modules:
    return {module: tree for module, tree in modules.items() if module.startswith("service/queue/")}


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Every call with the dotted name that is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def keywords(call: ast.Call) -> set[str | None]:
    return {keyword.arg for keyword in call.keywords}


def places(found: Iterator[tuple[str, ast.Call]]) -> list[str]:
    return [f"{module}:{call.lineno}: {ast.unparse(call.func)}" for module, call in found]


def http_clients(modules: Modules) -> Iterator[tuple[str, ast.Call]]:
    for module, tree in modules.items():
        for call, name in calls(tree):
            if name in ("httpx.AsyncClient", "httpx.Client"):
                yield module, call


def test_every_http_client_names_its_timeout(modules: Modules) -> None:
    clients = list(http_clients(modules))
    assert len(clients) >= 5
    assert not places(
        (module, call) for module, call in clients if module not in WITHIN | OPTIONS and "timeout" not in keywords(call)
    )


def test_the_options_of_our_own_client_name_a_timeout() -> None:
    from service.client.address import options

    limits = options("http://127.0.0.1:1", "key", allow_http=False)["timeout"]
    assert all(0 < seconds <= 120 for seconds in (limits.connect, limits.read, limits.write, limits.pool))


def test_every_command_that_is_awaited_has_a_timeout(modules: Modules) -> None:
    assert not places(
        (module, call)
        for module, tree in modules.items()
        for call, name in calls(tree)
        if not module.startswith(INSIDE)
        and name.startswith("subprocess.")
        and name.split(".")[1] in COMMANDS
        and "timeout" not in keywords(call)
    )


TO_REDIS = ("self._redis.", "client.", "redis.", "steps.")
CLOSING = "aclose"  # says nothing to the server


def guarded_lines(tree: ast.AST) -> set[int]:
    """Lines within an `async with reaching()`."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncWith) and any("reaching()" in ast.unparse(item) for item in node.items)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def covered_lines(queue: Modules) -> dict[str, set[int]]:
    """Lines under a deadline, by module: within `reaching`, or of a function that only such lines call."""
    covered = {module: guarded_lines(tree) for module, tree in queue.items()}
    functions = [
        (module, node)
        for module, tree in queue.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef)
    ]
    while True:
        before = sum(map(len, covered.values()))
        for module, function in functions:
            sites = [
                (place, call.lineno)
                for place, tree in queue.items()
                for call, name in calls(tree)
                if name in (function.name, f"self.{function.name}")
            ]
            if sites and all(line in covered[place] for place, line in sites):
                covered[module] |= set(range(function.lineno, (function.end_lineno or function.lineno) + 1))
        if sum(map(len, covered.values())) == before:
            return covered


def test_every_word_to_redis_is_said_under_a_deadline(queue: Modules) -> None:
    covered = covered_lines(queue)
    said = [
        (module, node.value)
        for module, tree in queue.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Await)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).startswith(TO_REDIS)
        and not ast.unparse(node.value.func).endswith(CLOSING)
    ]
    assert len(said) >= 15
    assert not places((module, call) for module, call in said if call.lineno not in covered[module])


def test_databases_are_opened_in_one_place_which_sets_deadlines(modules: Modules) -> None:
    assert {
        module
        for module, tree in modules.items()
        for _, name in calls(tree)
        if name in ("create_engine", "psycopg.connect")
    } <= {"service/db/engine.py", "service/db/backup.py"}
