"""The parents that versions of an adapter are compared on: programs that no version was trained to change."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.answers.continuation import CONTINUE
from service.ports.training_backends import RunData

SHARE = 3  # one in so many parents is held out, at most
SHOWN_HASH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedParents:
    """The parents of the prompts in training records, by name.

    Attributes:
        trained: are trained on.
        held_out: are not.
    """

    trained: Sequence[str]
    held_out: Sequence[str]


def split_parents(runs: Sequence[RunData], total: int, seed: int) -> RecordedParents:
    """Hold out so many parents, and at most a third of all. The same parents for equal records and seed."""
    found = {parent_name(line["parent"]["files"]) for run in runs for line in prompts_of(run.records)}
    drawn = sorted(found, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).hexdigest())
    count = min(total, len(drawn) // SHARE)
    return RecordedParents(trained=sorted(drawn[count:]), held_out=drawn[:count])


def prompts_of(records: Path) -> Iterator[Mapping[str, Any]]:
    """The training records that can be trained on: a whole reply of a language model to a prompt with a parent."""
    for line in map(json.loads, records.read_text(encoding="utf-8").splitlines()):
        asked = line["asked"]
        if line["messages"] and line["parent"] and asked["format"] is not None and asked["edits"] != CONTINUE:
            yield line


def write_trained(run: RunData, held_out: Collection[str], folder: Path) -> RunData:
    """Copy the data of a run into a folder: no prompt shows a held-out parent, and none has children."""
    own = RunData(
        run_id=run.run_id,
        records=folder / run.records.name,
        candidates=folder / run.candidates.name,
        problem=run.problem,
        document=run.document,
    )
    folder.mkdir(parents=True, exist_ok=True)
    records = [one for one in prompts_of(run.records) if parent_name(one["parent"]["files"]) not in held_out]
    _write(own.records, records)
    candidates = [json.loads(line) for line in run.candidates.read_text(encoding="utf-8").splitlines()]
    hidden = {one["candidate_id"] for one in candidates if one["files"] and parent_name(one["files"]) in held_out}
    _write(own.candidates, [_without(one, hidden) for one in candidates])
    return own


def _without(candidate: Mapping[str, Any], hidden: Collection[str]) -> Mapping[str, Any]:
    """A candidate that is no child of a hidden parent. It stays a parent of others."""
    own = {edge["candidate_id"] for edge in candidate["parents"]}
    return candidate if own.isdisjoint(hidden) else {**candidate, "parents": []}


def write_asked(runs: Sequence[RunData], names: Sequence[str], path: Path) -> None:
    """Write the first prompt of each of these parents, with its run, in the order of the names."""
    first: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        for line in prompts_of(run.records):
            first.setdefault(parent_name(line["parent"]["files"]), line)
    _write(path, [{"name": name, "record": first[name]} for name in names])


def parent_name(files: Mapping[str, str]) -> str:
    """The name of a program, by its content."""
    content = json.dumps(sorted(files.items()), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return f"parent {hashlib.sha256(content).hexdigest()[:SHOWN_HASH]}"


def _write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
