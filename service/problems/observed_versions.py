"""Versions of a program that another loop made: a folder of them, a git history, or JSON lines."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from service.errors import UsageError
from service.process.git import git

SCORES, EXPORTED = "scores.json", "refs/evolve/*"  # the latter: candidates of an exported lineage
_FIELDS, _RECORDS = "%x00", "%x01"
# Trailers of a failed candidate in an exported history.
_FAILURE = re.compile(
    r"\nCandidate: cnd_.*\nOutcome: (?!ok\n)(?P<outcome>\w+)\n(?:Reason: (?P<reason>[^\n]+))?", re.DOTALL
)
_LINE = re.compile(r"(?:Score-)?(?P<name>[\w.-]+)\s*[:=]\s*(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_LEFT_OUT = ("__pycache__", ".git")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedVersion:
    """A version of a program, with its scores.

    Attributes:
        name: what the loop calls it.
        parents: names of the versions that it was made from; unknown names are left out.
        scores: empty: it failed.
        reason: why it failed.
        author: who or what wrote it; empty: nobody says.
        at: when it was made; None: now.
    """

    name: str
    files: Mapping[str, str]
    parents: Sequence[str] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    author: str = ""
    at: datetime | None = None


def read_lines(lines: Iterable[str]) -> Iterator[ObservedVersion]:
    """Versions of JSON lines, as they come.

    Raises:
        UsageError: a line is none, with its number.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _of_line(line, number)


def _of_line(line: str, number: int) -> ObservedVersion:
    try:
        told = json.loads(line)
        files = told["files"] if "files" in told else {told.get("path", "program.py"): told["text"]}
        at = told.get("at")
        return ObservedVersion(
            name=str(told.get("id", number)),
            files={str(path): str(text) for path, text in files.items()},
            parents=[str(parent) for parent in told.get("parents", [told["parent"]] if told.get("parent") else [])],
            scores=_numbers(told.get("scores") or {}),
            reason=str(told.get("reason", "")),
            author=str(told.get("author", "")),
            at=datetime.fromisoformat(at) if at else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"line {number} is not a version ({type(error).__name__}: {error}): write"
            ' {"id": "2", "parent": "1", "text": "...", "scores": {"loss": 0.5}}'
        ) from error


def read_versions(folder: Path, scores: Path | None) -> Iterator[ObservedVersion]:
    """Versions of a folder, in the order of their names: each file or folder in it is one, made from the one before.

    Args:
        folder: of the versions.
        scores: JSON file with the scores of each version by its name; None: `scores.json` in the folder.

    Raises:
        UsageError: the scores cannot be read, or a version is no text.
    """
    told = _read_scores(scores or folder / SCORES)
    before: list[str] = []
    for place in sorted(folder.iterdir(), key=lambda path: _natural(path.name)):
        if place.name.startswith(".") or place.name in _LEFT_OUT or place == (scores or folder / SCORES):
            continue
        entry = told.get(place.name, told.get(place.stem, {}))
        yield ObservedVersion(
            name=place.name, files=_files_of(place), parents=before, scores=entry, reason="" if entry else "no score"
        )
        before = [place.name]


def _natural(name: str) -> list[tuple[int, str]]:
    """Numbers in a name count as numbers: v10 comes behind v9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _files_of(place: Path) -> dict[str, str]:
    paths = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    top = place.parent if place.is_file() else place
    kept = [path for path in paths if not any(part in _LEFT_OUT for part in path.relative_to(top).parts)]
    try:
        texts = {path.relative_to(top).as_posix(): path.read_text(encoding="utf-8") for path in kept}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{place} cannot be read as text: {error}") from error
    return {f"program{place.suffix}": next(iter(texts.values()))} if place.is_file() else texts


def read_history(folder: Path, paths: Sequence[str], scores: Path | None) -> Iterator[ObservedVersion]:
    """Versions of the history of HEAD in a git repository, parents first: the commits that have a score.

    A score is a line `NAME: NUMBER` of the commit's message, or stands in a file by the commit's id. A failed candidate
    of an exported history is a version too. The parents of a version are the nearest versions before it.

    Args:
        folder: in the repository.
        paths: files and folders of the program, relative to the folder; none: everything.
        scores: JSON file; None: messages alone have scores.

    Raises:
        UsageError: there is no git, or the scores cannot be read.
        ConflictError: git refuses.
    """
    told = _read_scores(scores) if scores else {}
    form = _FIELDS.join(("%H", "%P", "%an", "%at", "%B")) + _RECORDS
    listed = git(folder, ["log", "--reverse", "--topo-order", f"--format={form}", f"--glob={EXPORTED}", "HEAD", "--"])
    nearest: dict[str, list[str]] = {}
    for record in listed.split("\x01"):
        if not record.strip():
            continue
        commit, parents, author, at, message = record.strip("\n").split("\x00", 4)
        before = list(dict.fromkeys(name for parent in parents.split() for name in nearest.get(parent, [])))
        found = next((entry for name, entry in told.items() if commit.startswith(name)), None) or _scores_in(message)
        failure = "" if found else _failure_in(message)
        files = _tree(folder, commit, paths) if found or failure else {}
        nearest[commit] = [commit] if files else before
        if files:
            moment = datetime.fromtimestamp(int(at), UTC)
            yield ObservedVersion(
                name=commit, files=files, parents=before, scores=found, reason=failure, author=author, at=moment
            )


def _scores_in(message: str) -> dict[str, float]:
    matches = (_LINE.fullmatch(line) for line in message.splitlines())
    return {match["name"].removeprefix("Score-"): float(match["value"]) for match in matches if match}


def _failure_in(message: str) -> str:
    """Why a candidate of an exported history failed; empty: the commit is none of these."""
    match = _FAILURE.search(message)
    return (match["reason"] or match["outcome"]) if match else ""


def _tree(folder: Path, commit: str, paths: Sequence[str]) -> dict[str, str]:
    listed = git(folder, ["ls-tree", "-r", "-z", "--name-only", commit, "--", *paths])
    names = [name for name in listed.split("\0") if name]
    return {name: git(folder, ["show", f"{commit}:./{name}"]) for name in names}


def _read_scores(path: Path) -> dict[str, dict[str, float]]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): _numbers(entry if isinstance(entry, dict) else {"": entry}) for name, entry in told.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise UsageError(
            f"the scores of the versions cannot be read from {path} ({error}): write a JSON file such as"
            ' {"v1.py": {"loss": 0.5}}, and name it with --scores'
        ) from error


def _numbers(scores: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in scores.items() if value is not None}
