"""The lineage of a run as the history of a git repository: a commit for each evaluated candidate."""

import re
from collections.abc import Iterable, Iterator, Mapping
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
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConflictError(f"{folder} is not empty: name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, ["init", "--quiet", f"--initial-branch={BRANCH}"])
    marks: dict[str, int] = {}
    fast_import(folder, _stream(candidates, marks, best))
    if best in marks:
        git(folder, ["reset", "--quiet", "--hard"])
    return len(marks)


def _stream(candidates: Iterable[Mapping[str, Any]], marks: dict[str, int], best: str | None) -> Iterator[bytes]:
    for candidate in candidates:
        if candidate["status"] != EVALUATED or not candidate["files"]:
            continue
        edges = [edge for edge in candidate["parents"] if edge["candidate_id"] in marks]
        first = [marks[edge["candidate_id"]] for edge in edges if edge["role"] == "parent"]
        others = [marks[edge["candidate_id"]] for edge in edges if edge["role"] == "crossover"]
        marks[candidate["candidate_id"]] = mark = len(marks) + 1
        yield f"commit {REFERENCES}{candidate['name']}\nmark :{mark}\n".encode()
        yield from _signed(candidate)
        yield _data(_message(candidate))
        lines = [f"from :{parent}" for parent in first[:1]] + [f"merge :{other}" for other in (*first[1:], *others)]
        yield "".join(f"{line}\n" for line in (*lines, "deleteall")).encode()
        for path, text in candidate["files"].items():
            yield f"M 100644 inline {_quoted(path)}\n".encode()
            yield _data(text)
    if best in marks:
        yield f"reset refs/heads/{BRANCH}\nfrom :{marks[best]}\n".encode()


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


def _data(text: str) -> bytes:
    content = text.encode()
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
