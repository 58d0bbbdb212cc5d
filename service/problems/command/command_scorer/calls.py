"""A script run once with its measured functions watched: what they were called with, and what they gave.

It is run as a program of its own: `calls.py TASK.json`.
"""

import argparse
import ast
import contextlib
import functools
import inspect
import itertools
import json
import os
import random
import sys
import types
from collections.abc import Callable
from typing import Any

if __package__:
    from .summary import MAX_ITEMS, summary
else:
    from summary import MAX_ITEMS, summary  # type: ignore[import-not-found,no-redef] # beside it in a problem's folder

MAX_CALLS = 12
_WRAP = "__watched_by_the_evaluator__"


class CallWatch:
    """Calls of watched functions, from the outside alone: how they call each other is their own business."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []
        self._depth = 0

    def wrap(self, watched: Any, name: str) -> Any:
        """A function, or each method of a class, watched."""
        if not inspect.isclass(watched):
            return self._function(watched, name, own=0)
        for method, value in list(vars(watched).items()):
            if inspect.isfunction(value) and (not method.startswith("__") or method in ("__call__", "__iter__")):
                setattr(watched, method, self._function(value, f"{name}.{method}", own=1))
        return watched

    def _function(self, function: Callable[..., Any], name: str, own: int) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*given: Any, **named: Any) -> Any:
            if self._depth or len(self.calls) >= MAX_CALLS:
                return function(*given, **named)
            self._depth += 1
            try:
                before = summary([given[own:], named])
                result = function(*given, **named)
                kept = list(itertools.islice(result, MAX_ITEMS)) if inspect.isgenerator(result) else result
                after = summary([given[own:], named])
                telling = summary(kept)[3] or before[:3] != after[:3]
                self.calls.append([name, before[:3], summary([kept, given[own:], named])[:3], telling])
            finally:
                self._depth -= 1
            return iter(kept) if inspect.isgenerator(result) else kept

        return watched


def _watched(text: str, names: list[str]) -> ast.Module:
    """The script, with each of the named definitions wrapped as soon as it is made."""
    module = ast.parse(text)
    body: list[ast.stmt] = []
    for statement in module.body:
        body.append(statement)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and statement.name in names:
            body += ast.parse(f"{statement.name} = {_WRAP}({statement.name}, {statement.name!r})").body
    return ast.Module(body=body, type_ignores=[])


class _Runner:
    """A benchmark runner that calls each function once, in this process."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.metadata: dict[str, Any] = {}
        self.argparser = argparse.ArgumentParser()
        self.args = argparse.Namespace()

    def parse_args(self, args: Any = None) -> argparse.Namespace:
        self.args, _ = self.argparser.parse_known_args(args)
        return self.args

    def bench_func(self, _: str, function: Callable[..., Any], *given: Any, **__: Any) -> None:
        self.parse_args()
        function(*given)

    def bench_time_func(self, _: str, function: Callable[..., Any], *given: Any, **__: Any) -> None:
        self.parse_args()
        function(1, *given)


def _stand_in() -> None:
    """Put a runner of this process in the place of pyperf's, which would start processes that nobody watches."""
    import time

    module: Any = types.ModuleType("pyperf")
    module.Runner, module.perf_counter = _Runner, time.perf_counter
    sys.modules["pyperf"] = module


def main(task_file: str) -> None:
    """Run the script of a task and write the calls into its file."""
    with open(task_file, encoding="utf-8") as file:
        task = json.load(file)
    path = os.path.abspath(task["script"])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    watch = CallWatch()
    _stand_in()
    random.seed(0)
    sys.argv = [task["script"], *task["arguments"]]
    sys.path[0] = os.path.dirname(path)
    module: Any = types.ModuleType("__main__")
    module.__file__ = path
    setattr(module, _WRAP, watch.wrap)
    sys.modules["__main__"] = module
    try:
        with contextlib.suppress(SystemExit):
            exec(compile(_watched(text, task["functions"]), path, "exec"), vars(module))  # noqa: S102 - the program
    finally:
        with open(task["result"], "w", encoding="utf-8") as file:
            json.dump(watch.calls, file)


if __name__ == "__main__":
    main(sys.argv[1])
