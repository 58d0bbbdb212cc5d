"""The lineage of a run as the history of a git repository: a commit for each evaluated candidate."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from service.errors import ConflictError
from service.process.git import fast_import, git

BRANCH = "main"
REFERENCES = "refs/evolve/"
EMAIL = "evolve@localhost"
EVALUATED = "evaluated"


def write_history(folder: Path, candidates: Iterable[Mapping[str, Any]], best: str | None) -> int:
    """Write a new repository whose branch `main` leads to the best candidate.

    Each candidate is `refs/evolve/NAME`, such as `refs/evolve/28.0`. Its first parent is the candidate that it was made
    from, and crossover makes a merge.

    Args:
        folder: missing or empty.
        candidates: as an export gives them, parents before their children.
        best: id of the best candidate; None: there is none.

    Returns:
        The number of commits.

    Raises:
        ConflictError: the folder holds something, or git refuses.
        UsageError: there is no git.
    """
    history = make_history(folder)
    fast_import(folder, _stream(candidates, history))
    return finish_history(folder, history, best)


@dataclass(slots=True)
class History:
    """The commits of a stream so far: the mark and the name of each candidate, by its id."""

    marks: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def make_history(folder: Path) -> History:
    """Make a new repository.

    Raises:
        ConflictError: the folder holds something, or git refuses.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConflictError(f"{folder} is not empty: name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, ["init", "--quiet", f"--initial-branch={BRANCH}"])
    return History()


def finish_history(folder: Path, history: History, best: str | None) -> int:
    """Let the branch lead to the best candidate; the number of commits."""
    if best is not None and best in history.marks:
        git(folder, ["update-ref", f"refs/heads/{BRANCH}", f"{REFERENCES}{history.names[best]}"])
        git(folder, ["reset", "--quiet", "--hard"])
    return len(history.marks)


def commit_lines(candidate: Mapping[str, Any], history: History, root: str = "") -> list[bytes]:
    """The beginning of a candidate's commit, up to its files. Nothing: it has no commit.

    Args:
        candidate: as an export gives it.
        history: of the stream.
        root: id of the commit on which candidates without parents stand; empty: none.
    """
    if candidate["status"] != EVALUATED or not candidate["files"]:
        return []
    marks = history.marks
    edges = [edge for edge in candidate["parents"] if edge["candidate_id"] in marks]
    first = [f":{marks[edge['candidate_id']]}" for edge in edges if edge["role"] == "parent"] or [root] * bool(root)
    others = [f":{marks[edge['candidate_id']]}" for edge in edges if edge["role"] == "crossover"]
    marks[candidate["candidate_id"]] = mark = len(marks) + 1
    history.names[candidate["candidate_id"]] = candidate["name"]
    lines = [f"from {parent}" for parent in first[:1]] + [f"merge {other}" for other in (*first[1:], *others)]
    return [
        f"commit {REFERENCES}{candidate['name']}\nmark :{mark}\n".encode(),
        *_signed(candidate),
        data(_message(candidate).encode()),
        "".join(f"{line}\n" for line in lines).encode(),
    ]


def _stream(candidates: Iterable[Mapping[str, Any]], history: History) -> Iterator[bytes]:
    for candidate in candidates:
        lines = commit_lines(candidate, history)
        if not lines:
            continue
        yield from lines
        yield b"deleteall\n"
        for path, text in candidate["files"].items():
            yield f"M 100644 inline {quoted(path)}\n".encode()
            yield data(text.encode())


def _signed(candidate: Mapping[str, Any]) -> Iterator[bytes]:
    at = int(datetime.fromisoformat(candidate["created_at"]).timestamp())
    author = re.sub(r"[<>\x00-\x1f]", " ", str(candidate["policy"])).strip() or "seed"
    for word, name in (("author", author), ("committer", "evolve")):
        yield f"{word} {name} <{EMAIL}> {at} +0000\n".encode()


def _message(candidate: Mapping[str, Any]) -> str:
    """The subject with the scores, then trailers that tell where the commit comes from."""
    scores = ", ".join(f"{name} {value:g}" for name, value in candidate["scores"].items())
    outcome = str(candidate["outcome"])
    trailers = {
        "Candidate": candidate["candidate_id"],
        "Operator": candidate["operator"],
        "Outcome": outcome,
        **({"Reason": " ".join(str(candidate["reason"]).split())} if candidate["reason"] else {}),
        **({"Fitness": repr(candidate["fitness"])} if candidate["fitness"] is not None else {}),
        **{f"Score-{name}": repr(value) for name, value in candidate["scores"].items()},
    }
    lines = [f"{candidate['name']}: {scores or outcome}", "", *(f"{name}: {value}" for name, value in trailers.items())]
    return "\n".join(lines) + "\n"


def data(content: bytes) -> bytes:
    """A content as a stream has it."""
    return b"data %d\n%s\n" % (len(content), content)


def quoted(path: str) -> str:
    """A path as a stream has it."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
