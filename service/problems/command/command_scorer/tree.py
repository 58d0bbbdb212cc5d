"""The evaluator of a repository: lays a program over its commit, runs a command there, and reads the scores."""

import base64
import glob
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .output import OutputError, read_output
from .process import CommandResult, run
from .scorer import said

FOLDER, TREE, SETTINGS = "evolve_repository", "tree", "settings.json"
MANIFEST, _REMOVED = ".evolve/base", "removed "
_MAX_SAID = 1500
_MAX_SETUP_BYTES = 64 * 1024 * 1024
# Python writes these anew wherever they are wanted.
_LEFT_OUT = {"__pycache__", ".git"}
State = tuple[int, int, int, int]


def evaluate(program_path: str, folder: Path) -> dict[str, Any]:
    """Score a program; a program that does not count comes with an `error`.

    Args:
        program_path: its folder, or the path of its manifest when it has no other file.
        folder: holds the tree of the commit, which is changed, and the settings.
    """
    settings, tree = _settings(folder), folder / TREE
    source = Path(program_path)
    error = _lay_over(source if source.is_dir() else source.parents[1], tree, set(settings["locked"]))
    if error:
        return {"error": error}
    before = dict(_states(tree, settings["locked"]))
    try:
        done = run(settings["evaluate"], str(tree), _environment(folder))
    except OSError as failure:
        return {"error": f"the command cannot be started: {failure}. Name the folder of its program in evaluator.path"}
    after = dict(_states(tree, before))
    touched = next((path for path in before if after.get(path) != before[path]), "")
    if touched:
        return {"error": f"the program changed {touched} while it ran, which may not change"}
    if done.status:
        return {"error": f"the command ended with status {done.status}: {said(done)}", "feedback": _end(done)}
    try:
        return _scores(done.out, settings["metrics"])
    except OutputError as unread:
        return {"error": str(unread), "feedback": _end(done)}


def setup(folder: Path) -> dict[str, Any]:
    """Run the setup command of a commit: the files that it leaves, with whether they can be run; or an `error`."""
    settings, tree = _settings(folder), folder / TREE
    before = dict(_states(tree, _files(tree)))
    try:
        done = run(settings["setup"], str(tree), _environment(folder))
    except OSError as failure:
        return {"error": f"repository.setup cannot be started: {failure}"}
    if done.status:
        return {"error": f"repository.setup ended with status {done.status}: {said(done)}"}
    after = dict(_states(tree, _files(tree)))
    made = [path for path in after if after[path] != before.get(path) and not os.path.islink(tree / path)]
    size = sum((tree / path).stat().st_size for path in made)
    if size > _MAX_SETUP_BYTES:
        return {"error": f"repository.setup made files of {size >> 20} MB: at most {_MAX_SETUP_BYTES >> 20} are kept"}
    texts = {path: base64.b64encode((tree / path).read_bytes()).decode() for path in made}
    return {"made": texts, "executable": [path for path in made if os.access(tree / path, os.X_OK)]}


def _settings(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    return found


def _environment(folder: Path) -> dict[str, str]:
    """Variables of a command: the problem's folder, and the programs beside the interpreter first."""
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    return {"PYTHONDONTWRITEBYTECODE": "1", "EVOLVE_PROBLEM": str(folder.parent), "PATH": path}


def _lay_over(program: Path, tree: Path, locked: set[str]) -> str:
    """Put the files of a program into the tree, and take out those that it removes; why not, where one is locked."""
    manifest = (program / MANIFEST).read_text(encoding="utf-8").splitlines()
    removed = [line.removeprefix(_REMOVED) for line in manifest if line.startswith(_REMOVED)]
    changed = [path for path in _files(program) if path != MANIFEST]
    for path in (*removed, *changed):
        if path in locked:
            return f"{path} may not change"
    for path in removed:
        (tree / path).unlink(missing_ok=True)
        _remove_empty((tree / path).parent, tree)
    for path in changed:
        target = tree / path
        if _is_blocked(target, tree):
            return f"{path} cannot lie over what repository.setup made"
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        target.unlink(missing_ok=True)
        made = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(made, "wb") as file:
            file.write((program / path).read_bytes())
        _forget_bytecode(target)
    return ""


def _forget_bytecode(source: Path) -> None:
    """Remove compiled forms of a module: Python takes one for current if only second and size of its source agree."""
    if source.suffix == ".py" and (folder := source.parent / "__pycache__").is_dir():
        for compiled in folder.glob(f"{glob.escape(source.stem)}.*.pyc"):
            compiled.unlink(missing_ok=True)


def _is_blocked(target: Path, tree: Path) -> bool:
    """Whether a folder lies in the place of a file, or a file in the place of one of its folders."""
    upper = target.parent
    while upper != tree and not upper.is_dir():
        if upper.exists() or upper.is_symlink():
            return True
        upper = upper.parent
    return target.is_dir()


def _remove_empty(folder: Path, tree: Path) -> None:
    """Remove folders that are empty now, as git knows none."""
    while folder != tree and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _files(folder: Path) -> Iterator[str]:
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        for name in names:
            yield os.path.relpath(os.path.join(top, name), folder)


def _states(tree: Path, paths: Iterable[str]) -> Iterator[tuple[str, State]]:
    """What changes of a file whenever it is written, replaced or renamed; nobody can set the last of it back."""
    for path in paths:
        try:
            about = os.lstat(tree / path)
        except OSError:
            continue
        yield path, (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def _scores(text: str, metrics: list[str]) -> dict[str, Any]:
    """The numbers that a command printed: those that the problem names, or all of the last line."""
    if not metrics:
        reading = read_output(text)
        return {"combined_score": reading.value, **_numbers(reading.beside)}
    found: dict[str, Any] = {}
    for name in metrics:
        try:
            found[name] = read_output(text, name).value
        except OutputError:
            if len(metrics) > 1:
                raise
            found[name] = read_output(text).value
    return found


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _end(done: CommandResult) -> str:
    """The last of what a command printed, for the next prompt."""
    return f"{done.out}\n{done.err}".strip()[-_MAX_SAID:]
