"""The evaluator of a command: runs it on a program, reads the score, and compares what must stay as it was."""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import calls, guard
from .output import OutputError, Reading, read_output
from .process import CommandResult, run
from .summary import equal

SETTINGS, FIXED = "command.json", "files"
_MAX_SAID = 300
_MAX_ARTIFACT = 1800
_MAX_LINES, _MAX_LINE = 15, 80


def evaluate(program_path: str, problem: Path) -> dict[str, Any]:
    """Score a program; a program that does not count comes with an `error`.

    Args:
        program_path: its only file, or the folder of several.
        problem: the problem's folder.
    """
    settings = json.loads((problem / SETTINGS).read_text(encoding="utf-8"))
    folder = tempfile.mkdtemp(prefix="run-")
    _lay_out(program_path, problem, Path(folder), settings)
    error = _guarded(settings, problem, Path(folder))
    if error:
        return {"error": error}
    try:
        watched, error = _watched(settings, folder)
        if error:
            return {"error": error}
        done = run(settings["command"], folder, {"PYTHONDONTWRITEBYTECODE": "1"})
    except OSError as failure:
        return {"error": f"the command cannot be started: {failure}. Name the folder of its program with --path DIR"}
    if done.status:
        return {"error": f"the command ended with status {done.status}: {said(done)}"}
    try:
        reading = read_output(done.out, settings["metric"], settings["pattern"])
    except OutputError as unread:
        told = f" (stderr ends with: {done.err.strip()[-200:]})" if done.err.strip() else ""
        return {"error": f"{unread}{told}"}
    if settings["observe"]:
        return {settings["objective"]: reading.value, "artifacts": _observed(reading, watched)}
    error = _changed(settings, reading)
    return {"error": error} if error else {settings["objective"]: reading.value}


def _lay_out(program_path: str, problem: Path, folder: Path, settings: Mapping[str, Any]) -> None:
    """Copy the program into the folder it runs in, with the files that stay and links to those that it reads."""
    source = Path(program_path)
    top = source if source.is_dir() else source.parents[len(Path(settings["main"]).parts) - 1]
    for path in settings["sources"]:
        _copy(top / path, folder / path)
    for path in settings["files"]:
        _copy(problem / FIXED / path, folder / path)
    for link, target in settings["links"].items():
        place = folder / link
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.symlink_to(target)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(source.stat().st_mode | 0o600)


def _guarded(settings: Mapping[str, Any], problem: Path, folder: Path) -> str:
    """Why the changed part of a script that measures itself does not count; empty: it does."""
    script = settings["script"]
    if not script or not settings["functions"]:
        return ""
    text = (folder / script).read_text(encoding="utf-8")
    seed = (problem / script).read_text(encoding="utf-8")
    return guard.complaint(text, seed, settings["functions"])


def _watched(settings: Mapping[str, Any], folder: str) -> tuple[list[Any], str]:
    """The calls of the measured functions, and in what they differ from the seed's."""
    if not settings["watched"]:
        return [], ""
    result = os.path.join(folder, ".calls.json")
    task = {
        "script": settings["script"],
        "arguments": settings["arguments"],
        "functions": settings["watched"],
        "result": result,
    }
    file = os.path.join(folder, ".calls-task.json")
    Path(file).write_text(json.dumps(task), encoding="utf-8")
    done = run([sys.executable, str(calls.__file__), file], folder, {"PYTHONDONTWRITEBYTECODE": "1"})
    found = json.loads(Path(result).read_text(encoding="utf-8")) if os.path.exists(result) else []
    if settings["observe"]:
        return found, ""
    if done.status:
        return [], f"the script fails when its functions are watched: {said(done)}"
    expected = settings["calls"]
    for number, (now, before) in enumerate(zip(found, expected, strict=False), start=1):
        if now[0] != before[0] or not equal(now[1], before[1]):
            return [], f"call {number} of {before[0]} gets other arguments than in the seed: sizes and inputs stay"
        if not equal(now[2], before[2]):
            return [], f"{before[0]} gives another result than in the seed for the same arguments (call {number})"
    if len(found) < len(expected):
        return [], f"the script calls its measured functions {len(found)} times, and the seed {len(expected)} times"
    return found, ""


def said(done: CommandResult) -> str:
    """The last line that a command said, and the line of a Python file that it is about."""
    said = [line.strip() for line in (done.err.strip() or done.out.strip()).splitlines() if line.strip()]
    if not said:
        return "it printed nothing"
    places = re.findall(r'File "(?:[^"\n]*/)?([^"/\n]+)", line (\d+)', done.err)
    place = f" (line {places[-1][1]} of {places[-1][0]})" if places else ""
    before = f"; before that: {' / '.join(said[-4:-1])[-_MAX_SAID:]}" if len(said) > 1 and not places else ""
    return f"{said[-1][-_MAX_SAID:]}{place}{before}"


def _changed(settings: Mapping[str, Any], reading: Reading) -> str:
    """Which of the printed values that must stay has changed; empty: none."""
    for key, value in settings["values"].items():
        if key not in reading.beside:
            return f"{key} is no longer printed, and values beside the score must stay"
        if reading.beside[key] != value:
            return (
                f"{key} is {str(reading.beside[key])[:60]} and was {str(value)[:60]}: values beside the score must stay"
            )
    printed = set(reading.lines)
    for line in settings["lines"]:
        if line not in printed:
            return f"the line {line[:_MAX_LINE]!r} is no longer printed, and values beside the score must stay"
    return ""


def _observed(reading: Reading, watched: list[Any]) -> dict[str, str]:
    """What was read, for whoever makes the problem; each text short enough to be kept whole."""
    while watched and len(json.dumps(watched)) > _MAX_ARTIFACT:
        watched = watched[:-1]
    beside = dict(reading.beside)
    while beside and len(json.dumps(beside)) > _MAX_ARTIFACT:
        beside.popitem()
    lines = [line for line in reading.lines if len(line) <= _MAX_LINE][-_MAX_LINES:]
    score = {"name": reading.name[:100], "value": reading.value, "unit": reading.unit, "form": reading.form}
    texts = {"score": score, "beside": beside, "lines": lines, "calls": watched}
    return {name: json.dumps(value) for name, value in texts.items()}
