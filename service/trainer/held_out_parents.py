"""The parents that versions of an adapter are compared on: programs that no version was trained to change.

They are some of the parents of the runs that a job learns from, or those of runs of other problems.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
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


def split_parents(runs: Sequence[RunData], total: int, seed: int, tests: Sequence[RunData] = ()) -> RecordedParents:
    """Hold out so many parents. The same parents for equal records and seed.

    Args:
        runs: are trained on.
        total: number of parents. Without `tests`, at most a third of those of the runs.
        seed: of the draw.
        tests: runs of other problems. If there are any, their parents alone are held out, as many of each problem.
    """
    found = {parent_name(line["parent"]["files"]) for run in runs for line in prompts_of(run.records)}
    if tests:
        return RecordedParents(trained=sorted(found), held_out=_in_turn(tests, seed)[:total])
    drawn = _drawn(found, seed)
    count = min(total, len(drawn) // SHARE)
    return RecordedParents(trained=sorted(drawn[count:]), held_out=drawn[:count])


def _in_turn(tests: Sequence[RunData], seed: int) -> list[str]:
    """The parents of test runs, by turns of their problems."""
    problems: dict[str, set[str]] = {}
    for run in tests:
        problems.setdefault(problem_name(run), set()).update(name for name, _ in _named_prompts(run, tested=True))
    turns = zip_longest(*(_drawn(names, seed) for _, names in sorted(problems.items())))
    return [name for turn in turns for name in turn if name is not None]


def _drawn(names: Iterable[str], seed: int) -> list[str]:
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).hexdigest())


def problem_name(run: RunData) -> str:
    """The name of a run's problem, by its content too."""
    document = json.loads(run.document.read_text(encoding="utf-8"))
    return named_problem(document["problem_name"], document["bundle_hash"])


def named_problem(name: str, bundle_hash: str) -> str:
    """The name of a problem, by its content too."""
    return f"problem {name} {bundle_hash[:SHOWN_HASH]}"


def prompts_of(records: Path) -> Iterator[Mapping[str, Any]]:
    """The training records of a file that can be trained on."""
    return prompts_in(records.read_text(encoding="utf-8").splitlines())


def prompts_in(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The training records that can be trained on: a whole reply of a language model to a prompt with a parent."""
    for line in map(json.loads, lines):
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


def write_asked(runs: Sequence[RunData], names: Sequence[str], path: Path, *, tested: bool = False) -> None:
    """Write the first prompt of each of these parents, with its run, in the order of the names.

    Args:
        runs: hold the prompts.
        names: of the parents.
        path: of the file.
        tested: whether the runs are of other problems than the job learns from.
    """
    first: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        for name, line in _named_prompts(run, tested=tested):
            first.setdefault(name, line)
    _write(path, [{"name": name, "record": first[name]} for name in names])


def _named_prompts(run: RunData, *, tested: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Prompts with the names of their parents. Several problems may begin with one program: a test names both."""
    place = f" of {problem_name(run)}" if tested else ""
    for line in prompts_of(run.records):
        yield parent_name(line["parent"]["files"]) + place, line


def parent_name(files: Mapping[str, str]) -> str:
    """The name of a program, by its content."""
    content = json.dumps(sorted(files.items()), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return f"parent {hashlib.sha256(content).hexdigest()[:SHOWN_HASH]}"


def _write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
