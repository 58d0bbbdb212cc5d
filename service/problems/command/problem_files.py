"""A command as a problem in our own form: its document, its evaluator, its programs and the files that stay."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evolve.problem import Limits
from evolve.problem_formats import FILE
from service.errors import ConflictError
from service.problems.command import command_scorer
from service.problems.command.command_scorer.scorer import FIXED, SETTINGS
from service.problems.init import write_problem
from service.problems.toml_writer import toml_text

EVALUATOR = "evaluator.py"
PACKAGE, SEEDS = "command_scorer", "program"
SCORE = "score"
_RESERVED = frozenset({"combined_score", "cases", "feedback", "artifacts", "answer", "error", ""})
_EVALUATOR_TEXT = '''\
"""Runs the command of command.json on a program, and reads its score."""

from pathlib import Path

from command_scorer import scorer


def evaluate(program_path):
    return scorer.evaluate(program_path, Path(__file__).resolve().parent)
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProblem:
    """A command and the files that it runs on, before anything is run.

    Attributes:
        name: of the problem.
        folder: where the command was typed.
        argv: what is started; `{python}` stands for the interpreter.
        sources: text of each file that may change, by its path relative to the folder.
        files: paths of the files that stay.
        script: the source that is program and scorer at once; empty: none is.
        arguments: of the script in its command.
        functions: definitions of the script that may change.
        watched: those of them whose results must stay.
        python: the interpreter; empty: the one that runs Evolve.
    """

    name: str
    folder: Path
    argv: tuple[str, ...]
    sources: Mapping[str, str]
    files: tuple[str, ...] = ()
    script: str = ""
    arguments: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    python: str = ""
    metric: str = ""
    pattern: str = ""
    read: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRules:
    """How the command is scored, as its first runs suggest.

    Attributes:
        observe: whether everything that can be compared is only told.
        goal: the score that ends a run; None: none does.
        calls: the watched calls of the seed.
        values: values of its printed JSON that must stay; `lines`: printed lines that must.
        slots: evaluations at once; 0: one a core.
    """

    observe: bool = False
    objective: str = SCORE
    minimize: bool = False
    goal: float | None = None
    limits: Limits = field(default_factory=Limits)
    repeats: int = 1
    slots: int = 0
    calls: tuple[Any, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


def objective_name(name: str) -> str:
    """A label or key as the name of an objective."""
    plain = re.sub(r"[^\w.-]+", "_", name).strip("_.")[:60]
    return SCORE if plain in _RESERVED else plain


def write_command_problem(target: Path, command: CommandProblem, rules: ScoringRules) -> None:
    """Write the problem's folder, which is missing or empty.

    Raises:
        ConflictError: it holds something, or a file cannot be copied.
    """
    package = Path(command_scorer.__file__).parent
    modules = {f"{PACKAGE}/{file.name}": file.read_text("utf-8") for file in sorted(package.glob("*.py"))}
    texts = {
        FILE: _document(command, rules),
        SETTINGS: json.dumps(_settings(command, rules), indent=2, ensure_ascii=False) + "\n",
        EVALUATOR: _EVALUATOR_TEXT,
        **modules,
        **{_seed(path, command): text for path, text in command.sources.items()},
    }
    write_problem(target, texts)
    for path in command.files:
        place = target / FIXED / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(command.folder / path, place)
        except OSError as error:
            raise ConflictError(f"cannot copy {path} to {target}: {error.strerror}") from error


def _seed(path: str, command: CommandProblem) -> str:
    """Where a source lies in the problem's folder: alone it is a seed by itself, else it is in a folder of seeds."""
    return path if len(command.sources) == 1 else f"{SEEDS}/{path}"


def _document(command: CommandProblem, rules: ScoringRules) -> str:
    several = len(command.sources) > 1
    main = next(iter(command.sources))
    top = {
        "schema": 1,
        "name": command.name,
        "description": _description(command, rules),
        "seeds": [SEEDS if several else main],
        **({"main": main} if several else {}),
    }
    evaluator = {
        "file": EVALUATOR,
        "integrity": "shared",
        **({"python": command.python} if command.python else {}),
        **({"read": list(command.read)} if command.read else {}),
        **({"path": list(command.path)} if command.path else {}),
        **({"repeats": rules.repeats} if rules.repeats > 1 else {}),
        **({"min_repeats": 2} if rules.repeats > 2 else {}),
    }
    limits = {
        key: getattr(rules.limits, key)
        for key in ("wall_seconds", "cpu_seconds", "memory_mb", "processes", "disk_mb", "output_kb")
    }
    objective = {
        "name": rules.objective,
        "direction": "minimize" if rules.minimize else "maximize",
        **({"target": rules.goal} if rules.goal is not None else {}),
    }
    text = f"{_table(top)}\n[evaluator]\n{_table(evaluator)}\n[limits]\n{_table(limits)}"
    text += f"\n[[objectives]]\n{_table(objective)}"
    return text + (f"\n[search.concurrency]\nevaluations = {rules.slots}\n" if rules.slots else "")


def _table(values: Mapping[str, Any]) -> str:
    """Keys and values for people to edit: the keys stand without quotes."""
    return re.sub(r'^"([\w-]+)" = ', r"\1 = ", toml_text(values), flags=re.MULTILINE)


def _description(command: CommandProblem, rules: ScoringRules) -> str:
    """The goal, as policies read it."""
    verb = "lowest" if rules.minimize else "highest"
    words = [f"Make `{' '.join(command.argv)}` print the {verb} {rules.objective}."]
    if rules.calls:
        words.append(
            f"The results of {', '.join(command.watched)} must stay what they are for every argument."
            " Do not print, look at the clock, or keep anything between two calls."
        )
    elif rules.values or rules.lines:
        words.append("The values that it prints beside must stay.")
    return " ".join(words)


def _settings(command: CommandProblem, rules: ScoringRules) -> dict[str, Any]:
    return {
        "command": list(command.argv),
        "metric": command.metric,
        "pattern": command.pattern,
        "objective": rules.objective,
        "sources": list(command.sources),
        "folder": str(command.folder.resolve()),
        "main": next(iter(command.sources)),
        "files": list(command.files),
        "links": _links(command),
        "script": command.script,
        "arguments": list(command.arguments),
        "functions": list(command.functions),
        "watched": list(command.watched) if rules.observe or rules.calls else [],
        "observe": rules.observe,
        "calls": list(rules.calls),
        "values": dict(rules.values),
        "lines": list(rules.lines),
    }


def _links(command: CommandProblem) -> dict[str, str]:
    """What is read of the command's own folder, by its path there, so that relative paths keep their meaning."""
    top = command.folder.resolve()
    found = (Path(path) for path in command.read)
    return {str(path.relative_to(top)): str(path) for path in found if path != top and path.is_relative_to(top)}
