"""Snapshots of a search: its state up to an event, from which a replay of the events behind it goes on.

A snapshot holds what a replay of the events before it gives, without programs and texts. `draft` copies it from a
search at work, in a moment. `encode` writes it, off the hot path. `restore` puts it into a search that was made anew.
The log stays the truth. Whoever doubts a snapshot replays the log, and `differences` compares the two.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.budget import extended
from evolve.configuration import BudgetConfig, RunConfig
from evolve.errors import EvolveError, ReplayError, SnapshotError
from evolve.lineage import LineageColumns
from evolve.problem import Problem
from evolve.proposal import Individual
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.run_settings import with_settings
from evolve.search.search import Search
from evolve.search.snapshot_codec import Array, Json, Packer, Unpacker, pack_individual, unpack_individual
from evolve.search.state import SearchState
from evolve.search.unloaded import UNLOADED

FORMAT = 3
_LEVEL = 1  # of the compression: the most of it are random digits
_TYPES = {"i": np.dtype("<i8"), "f": np.dtype("<f8")}
_UNFIT = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, zlib.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDraft:
    """A copy of what a search knows; nothing that the search does later changes it.

    Attributes:
        tree: its state in JSON, which refers to individuals and arrays by their places.
        schedule: where a deterministic schedule stands; None: the search has none.
        individuals, arrays, lineage: beside it.
        seen: fingerprints, and the candidate that had each first.
    """

    tree: Json
    schedule: Json
    individuals: Sequence[Individual]
    arrays: Sequence[Array]
    lineage: LineageColumns
    seen: tuple[list[str], list[str]]


def draft(search: Search | DeterministicSchedule) -> SnapshotDraft:
    """Copy what a search knows.

    Raises:
        SnapshotError: an extension holds some of it, such as an archive.
    """
    state, packer = search.state, Packer()
    schedule = search.position if isinstance(search, DeterministicSchedule) else None
    return SnapshotDraft(
        tree=packer.pack(state),
        schedule=schedule,
        individuals=packer.individuals,
        arrays=packer.arrays,
        lineage=state.lineage.columns(),
        seen=(list(state.seen), list(state.seen.values())),
    )


def encode(drafted: SnapshotDraft) -> bytes:
    """A draft as it is stored."""
    lineage = drafted.lineage
    rest = {
        "proposals": lineage.proposals,
        "observations": lineage.observations,
        "flights": lineage.flights,
        "others": lineage.others,
        "width": len(lineage.outcomes[0]) if lineage.outcomes else 0,
    }
    outcomes = np.fromiter(chain.from_iterable(lineage.outcomes), dtype=np.float64)
    parts = {
        "tree": _text(
            {"state": drafted.tree, "schedule": drafted.schedule, "arrays": list(map(_shape, drafted.arrays))}
        ),
        "individuals": _text([pack_individual(one) for one in drafted.individuals]),
        "lineage": _text(rest),
        "ids": "\n".join(lineage.ids).encode(),
        "fingerprints": "\n".join(drafted.seen[0]).encode(),
        "first": "\n".join(drafted.seen[1]).encode(),
    }
    columns = (lineage.counts, lineage.best, lineage.fitness, outcomes, lineage.met)
    parts |= {f"column {place}": _bytes(array) for place, array in enumerate(columns)}
    parts |= {f"array {place}": _bytes(array) for place, array in enumerate(drafted.arrays)}
    packed = {name: zlib.compress(part, _LEVEL) for name, part in parts.items()}
    head = json.dumps({name: len(part) for name, part in packed.items()}).encode()
    return b"".join([head, b"\n", *packed.values()])


def restore(search: Search | DeterministicSchedule, content: bytes) -> None:
    """Put a snapshot into a search that was made anew, as if it had replayed the events until then.

    Raises:
        SnapshotError: it does not fit. The search is of no further use then.
    """
    schedule = restore_state(search.state, content)
    if isinstance(search, DeterministicSchedule):
        try:
            search.move_to(schedule)
        except (TypeError, ValueError, KeyError, ReplayError) as error:
            raise SnapshotError(f"the snapshot is of another schedule: {error}") from error


def restore_state(state: SearchState, content: bytes) -> Json:
    """Put a snapshot into the state of a search that was made anew; where its schedule stood, if it had one.

    Raises:
        SnapshotError: it does not fit. The state is of no further use then.
    """
    if state.started or state.asked:
        raise SnapshotError("a snapshot is put into a search that has not begun")
    try:
        parts = _parts(content)
        tree = json.loads(parts["tree"])
        found = [unpack_individual(state.problem, one) for one in json.loads(parts["individuals"])]
        arrays = [_array(parts[f"array {place}"], *shape) for place, shape in enumerate(tree["arrays"])]
        lineage = _lineage(parts)
        state.lineage.refill(lineage)
        shared = dict(zip(lineage.ids, lineage.ids, strict=True))  # one text for each id, as in a search at work
        first = (shared.get(one, one) for one in _lines(parts["first"]))
        state.seen.update(zip(_lines(parts["fingerprints"]), first, strict=True))
        _put(state, tree["state"], Unpacker(found, arrays))
        return tree["schedule"]
    except SnapshotError:
        raise
    except (*_UNFIT, EvolveError) as error:
        raise SnapshotError(f"the snapshot cannot be read: {type(error).__name__}: {error}") from error


def differences(one: SearchState, other: SearchState) -> list[str]:
    """Names of what differs in two states; programs and texts aside, which a replay leaves out at first."""
    packers = Packer(), Packer()
    trees = [packer.pack(state)["of"] for packer, state in zip(packers, (one, other), strict=True)]
    found = [name for name in trees[0] if json.dumps(trees[0][name]) != json.dumps(trees[1][name])]
    individuals = [[_text(pack_individual(_unsized(one))) for one in packer.individuals] for packer in packers]
    arrays = [[(_shape(array), _bytes(array)) for array in packer.arrays] for packer in packers]
    columns = [state.lineage.columns() for state in (one, other)]
    pairs: dict[str, Sequence[Any]] = {
        "individuals": individuals,
        "arrays": arrays,
        "seen": [list(state.seen.items()) for state in (one, other)],
        "budget": [state.budget for state in (one, other)],
        "config": [replace(state.config, budget=BudgetConfig()) for state in (one, other)],
        "lineage": [_comparable(lineage) for lineage in columns],
    }
    return found + [name for name, (first, second) in pairs.items() if first != second]


def search_digest(problem: Problem, config: RunConfig) -> str:
    """A digest of what a fold depends on beside the events: the problem, and the configuration without its budget."""
    seeds = [program.id for program in problem.seeds]
    fold = replace(config, budget=BudgetConfig())
    about = (problem.name, problem.language, problem.objectives, problem.measures, seeds, dict(problem.origins), fold)
    return hashlib.sha256(repr(about).encode("utf-8", "surrogatepass")).hexdigest()


def _unsized(individual: Individual) -> Individual:
    return replace(individual, program=UNLOADED)


def _put(state: SearchState, packed: Json, unpacker: Unpacker) -> None:
    for one in unpacker.unpack(packed["of"]["changes"]["of"]["settings"]):
        state.configure(with_settings(state.config, one.settings))  # it decides how much some containers hold
    unpacker.fill(state, packed)
    state.tuning.reopen()
    for key, value in state.changes.budget.items():
        state.budget = extended(state.budget, key, value)


def _parts(content: bytes) -> dict[str, bytes]:
    """The parts of a snapshot, by name."""
    head, _, rest = content.partition(b"\n")
    found, place = {}, 0
    for name, length in json.loads(head).items():
        found[name] = zlib.decompress(rest[place : place + length])
        place += length
    return found


def _lineage(parts: Mapping[str, bytes]) -> LineageColumns:
    rest, ids = json.loads(parts["lineage"]), _lines(parts["ids"])
    met = _integers(parts["column 4"], [-1, 2])
    outcomes = _reals(parts["column 3"], [len(met), rest["width"]])
    return LineageColumns(
        ids=ids,
        counts=_integers(parts["column 0"], [len(ids), 6]),
        best=_reals(parts["column 1"], [len(ids)]),
        fitness=_reals(parts["column 2"], [len(ids)]),
        outcomes=list(map(tuple, outcomes.tolist())),
        met=met,
        flights=[(number, row, awaited, tuple(others)) for number, row, awaited, others in rest["flights"]],
        others=[(row, tuple(others)) for row, others in rest["others"]],
        proposals=rest["proposals"],
        observations=rest["observations"],
    )


def _comparable(lineage: LineageColumns) -> tuple[object, ...]:
    arrays = (lineage.counts, lineage.best, lineage.fitness, lineage.met)
    rest = (lineage.ids, lineage.outcomes, lineage.flights, lineage.others, lineage.proposals, lineage.observations)
    return (*map(_bytes, arrays), *rest)


def _text(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def _lines(part: bytes) -> list[str]:
    return part.decode().split("\n") if part else []


def _shape(array: Array) -> list[Any]:
    return [array.dtype.kind, list(array.shape)]


def _bytes(array: Array) -> bytes:
    return array.astype(_TYPES[array.dtype.kind], copy=False).tobytes()


def _array(part: bytes, kind: str, shape: Sequence[int]) -> Array:
    return _integers(part, shape) if kind == "i" else _reals(part, shape)


def _integers(part: bytes, shape: Sequence[int]) -> NDArray[np.int64]:
    return np.frombuffer(part, dtype=_TYPES["i"]).astype(np.int64).reshape(shape)


def _reals(part: bytes, shape: Sequence[int]) -> NDArray[np.float64]:
    return np.frombuffer(part, dtype=_TYPES["f"]).astype(np.float64).reshape(shape)
