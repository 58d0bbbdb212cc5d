"""How the values of a search's state stand in a snapshot: plain JSON, and beside it individuals and arrays.

A value is made of classes that are listed here, and of nothing else: whoever can write a database cannot have another
class made. Two kinds of classes are told apart. A value class is made anew of its fields. A class that is filled was
made from problem and configuration before, and only what the events tell is put into it.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.archives import CellArchive, DominatedNoveltyArchive, ParetoArchive, TopArchive
from evolve.archives.axis import Axis
from evolve.archives.partition import CvtPartition, GridPartition
from evolve.archives.population import Population
from evolve.archives.row_table import Rows
from evolve.budget import Account
from evolve.credit.bandit import Arm, GainScale
from evolve.credit.operators import Credit, RepairCandidate, Trial, Trials
from evolve.credit.policy_credit import PolicyCredit, PolicyRecord
from evolve.credit.yields import PolicyYield, PolicyYields
from evolve.errors import EvolveError, SnapshotError
from evolve.evaluation import Outcome
from evolve.event_codec import decode, encode
from evolve.event_types import EventData, EventKind
from evolve.money import Money
from evolve.problem import Problem
from evolve.proposal import Candidate, Charge, Individual, PromptTrial, Usage
from evolve.reply_form import ReplyForm
from evolve.search.bans import Bans, RemovedMember
from evolve.search.changes import Changes
from evolve.search.form_credit import FormRecord, FormRecords
from evolve.search.hints import Hints, StandingHint
from evolve.search.insights import Insights
from evolve.search.islands import Island
from evolve.search.learning import Learning
from evolve.search.open_proposal import OpenProposal
from evolve.search.priorities import Priorities, StandingPriority
from evolve.search.prompt_pool import PoolPrompt, PromptPool
from evolve.search.state import SearchState
from evolve.search.tuning import Generation, TuningSession, TuningSessions
from evolve.search.unloaded import (
    UNLOADED,
    evaluation_without_texts,
    individual_without_texts,
    known_size,
    unloaded_program,
)

Array = NDArray[np.number[Any]]
Json = Any

# Made anew of their fields.
VALUES: Mapping[str, type] = {
    one.__name__: one
    for one in (
        Account, Arm, Charge, FormRecord, FormRecords, GainScale, Generation, OpenProposal, PolicyRecord, PolicyYield,
        PolicyYields, PoolPrompt, PromptTrial, RemovedMember, RepairCandidate, ReplyForm, StandingHint,
        StandingPriority, Trial, TuningSession, Usage,
    )
}  # fmt: skip
# Filled: what the events tell, and what problem and configuration have made already or is found anew.
FILLED: Mapping[type, tuple[tuple[str, ...], tuple[str, ...]]] = {
    SearchState: (
        (
            "trials", "gain_scale", "forms", "account", "yields", "policy_weights", "tuning", "prompts", "asked",
            "reached", "open", "pending", "seeds", "starts", "latest", "latest_unbanned", "best", "improvements",
            "changes", "bans", "islands",
        ),
        ("problem", "config", "budget", "lineage", "seen", "_tried", "_targets"),
    ),
    Island: (
        ("archive", "failures", "repairable", "arm", "evaluated", "best", "since_best"),
        ("number", "config", "_extensions", "_selections", "_operators", "_problem", "_lineage", "_view"),
    ),
    CellArchive: (("members", "partition", "_cells"), ("_front", "_truncation")),
    DominatedNoveltyArchive: (
        ("members", "_axes", "_points", "_nearest", "_ages", "_clock"),
        ("_size", "_asked", "_arrival"),
    ),
    ParetoArchive: (("members",), ("_size", "_truncation")),
    TopArchive: (("members",), ("_size",)),
    GridPartition: (("axes",), ("size",)),
    CvtPartition: (("axes",), ("size", "_seed", "centres")),
    Axis: (("_low", "_high"), ("name", "_bins", "_fixed")),
    Trials: (("credit", "policy_credit", "open"), ()),
    Credit: (("tried", "won"), ()),
    PolicyCredit: (("by_policy",), ()),
    TuningSessions: (("by_number", "_of_candidate", "_awaited"), ("_open",)),
    PromptPool: (
        (
            "prompts", "_since_written", "_prompt_of", "_candidates", "_parents", "_fitness", "_best", "_scale",
            "_tasks",
        ),
        ("_maximum",),
    ),
    Changes: (("made", "hints", "priorities", "insights", "learning", "manual", "settings", "budget"), ()),
    Hints: (("given", "standing"), ()),
    Priorities: (("standing",), ()),
    Insights: (("evaluations", "versions", "standing", "kept", "owed"), ("_every",)),
    Learning: (("answered", "unlearnt", "updates"), ("_config",)),
    Bans: (("standing", "removed", "_descendants"), ()),
}  # fmt: skip
# A proposal is rebuilt from its event, with the programs that are loaded then.
_LEFT_OUT: Mapping[type, tuple[str, ...]] = {OpenProposal: ("proposal",)}
_TAG = "is"


@dataclass(slots=True)
class Packer:
    """Turns values into JSON.

    Attributes:
        individuals: those that the JSON refers to, by their places.
        arrays: likewise.
    """

    individuals: list[Individual] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    _places: dict[tuple[str, bool], int] = field(default_factory=dict)

    def pack(self, value: object) -> Json:
        """The JSON of a value.

        Raises:
            SnapshotError: it holds an object of a class that is not listed.
        """
        if value is None or isinstance(value, str | int | float):
            return value
        if isinstance(value, list):
            return [self.pack(one) for one in value]
        if pack := _PACKED.get(type(value)):
            return pack(self, value)
        if isinstance(value, EventData):
            return {_TAG: "event", "of": [str(value.kind), encode(value)]}
        if isinstance(value, Mapping):
            return self._dict(value)
        if type(value).__name__ in VALUES:
            left_out = _LEFT_OUT.get(type(value), ())
            parts = {
                one.name: self.pack(getattr(value, one.name)) for one in _fields(value) if one.name not in left_out
            }
            return {_TAG: type(value).__name__, "of": parts}
        if type(value) in FILLED:
            told = {name: self.pack(getattr(value, name)) for name in FILLED[type(value)][0]}
            return {_TAG: type(value).__name__, "of": told}
        raise SnapshotError(f"a snapshot cannot hold a value of the type {type(value).__name__}")

    def place(self, individual: Individual) -> int:
        """The place of an individual; of one candidate there is one, or two where only its fitness is known too."""
        key = individual.candidate_id, bool(individual.rewards)
        place = self._places.setdefault(key, len(self.individuals))
        if place == len(self.individuals):
            self.individuals.append(individual)
        return place

    def array(self, array: Array) -> int:
        """The place of an array, which is copied."""
        self.arrays.append(array.copy())
        return len(self.arrays) - 1

    def _individual(self, individual: Individual) -> Json:
        return {_TAG: "individual", "of": self.place(individual)}

    def _tuple(self, value: tuple[object, ...]) -> Json:
        return {_TAG: "tuple", "of": [self.pack(one) for one in value]}

    def _set(self, value: set[Any]) -> Json:
        return {_TAG: "set", "of": sorted(value)}

    def _deque(self, value: deque[Any]) -> Json:
        return {_TAG: "deque", "of": [value.maxlen, [self.pack(one) for one in value]]}

    def _counter(self, value: Counter[str]) -> Json:
        return {_TAG: "counter", "of": list(value.items())}

    def _dict(self, value: Mapping[Any, Any]) -> Json:
        return {_TAG: "dict", "of": [[self.pack(key), self.pack(one)] for key, one in value.items()]}

    def _money(self, value: Money) -> Json:
        return {_TAG: "money", "of": str(value)}

    def _candidate(self, value: Candidate) -> Json:
        parts = [value.id, value.proposal_number, value.position, value.island, value.fingerprint]
        return {_TAG: "candidate", "of": [*parts, value.early_stop_threshold, value.changed]}

    def _rows(self, value: Rows) -> Json:
        return {_TAG: "rows", "of": self.array(value.values)}

    def _population(self, value: Population) -> Json:
        members = np.array([self.place(member) for member in value], dtype=np.int64)
        return {_TAG: "population", "of": [self.array(members), self.array(value.ages), value.arrivals]}


_PACKED: Mapping[type, Callable[[Packer, Any], Json]] = {
    Individual: Packer._individual,  # noqa: SLF001 - the table of this class's own methods
    tuple: Packer._tuple,  # noqa: SLF001
    set: Packer._set,  # noqa: SLF001
    deque: Packer._deque,  # noqa: SLF001
    Counter: Packer._counter,  # noqa: SLF001
    Money: Packer._money,  # noqa: SLF001
    Candidate: Packer._candidate,  # noqa: SLF001
    Rows: Packer._rows,  # noqa: SLF001
    Population: Packer._population,  # noqa: SLF001
}


class Unpacker:
    """Turns JSON back into values, without programs and texts, as a replay has them.

    Args:
        individuals, arrays: those that the JSON refers to.
    """

    def __init__(self, individuals: Sequence[Individual], arrays: Sequence[Array]) -> None:
        self._individuals, self._arrays = individuals, arrays

    def fill(self, made: Any, packed: Json) -> Any:
        """Put what was packed into what was made already, as far as there is anything to put it into; the value.

        Containers and objects stay the same ones: others may hold them too.

        Raises:
            SnapshotError: it was packed of something else.
        """
        if type(made) in FILLED:
            parts = _parts(packed, type(made).__name__)
            for name in FILLED[type(made)][0]:
                setattr(made, name, self.fill(getattr(made, name), parts[name]))
            return made
        if isinstance(made, Population):
            members, ages, arrivals = _parts(packed, "population")
            found = [self._individuals[place] for place in self._arrays[members].tolist()]
            made.refill(found, self._arrays[ages].tolist(), arrivals)
            return made
        if isinstance(made, Rows):
            made.refill(np.asarray(self._arrays[_parts(packed, "rows")], dtype=np.float64))
            return made
        if isinstance(made, list) and made and type(made[0]) in FILLED:
            if len(made) != len(packed):
                raise SnapshotError(f"there are {len(made)} of {type(made[0]).__name__}, and the snapshot has another")
            for one, part in zip(made, packed, strict=True):
                self.fill(one, part)
            return made
        return _poured(made, self.unpack(packed))

    def unpack(self, packed: Json) -> Any:
        """The value of a JSON.

        Raises:
            SnapshotError: it names something that no snapshot holds.
        """
        if isinstance(packed, list):
            return [self.unpack(one) for one in packed]
        if not isinstance(packed, dict):
            return packed
        tag, of = packed[_TAG], packed["of"]
        if tag in VALUES:
            return VALUES[tag](**{name: self.unpack(part) for name, part in of.items()})
        if tag not in _UNPACKED:
            raise SnapshotError(f"a snapshot holds no {str(tag)[:40]}")
        return _UNPACKED[tag](self, of)

    def _individual(self, of: Json) -> Individual:
        return self._individuals[of]

    def _tuple(self, of: Json) -> tuple[Any, ...]:
        return tuple(self.unpack(one) for one in of)

    def _set(self, of: Json) -> set[Any]:
        return set(of)

    def _deque(self, of: Json) -> deque[Any]:
        return deque((self.unpack(one) for one in of[1]), maxlen=of[0])

    def _counter(self, of: Json) -> Counter[str]:
        return Counter(dict(of))

    def _dict(self, of: Json) -> dict[Any, Any]:
        return {self.unpack(key): self.unpack(one) for key, one in of}

    def _money(self, of: Json) -> Money:
        return Money.read(of)

    def _candidate(self, of: Json) -> Candidate:
        name, number, position, island, fingerprint, threshold, changed = of
        return Candidate(
            id=name,
            proposal_number=number,
            position=position,
            island=island,
            program=UNLOADED,
            fingerprint=fingerprint,
            early_stop_threshold=threshold,
            changed=changed,
        )

    def _event(self, of: Json) -> EventData:
        try:
            return decode(EventKind(of[0]), of[1])
        except (EvolveError, ValueError) as error:
            raise SnapshotError(f"an event of the snapshot cannot be read: {error}") from error


_UNPACKED: Mapping[str, Callable[[Unpacker, Json], Any]] = {
    "individual": Unpacker._individual,  # noqa: SLF001 - the table of this class's own methods
    "tuple": Unpacker._tuple,  # noqa: SLF001
    "set": Unpacker._set,  # noqa: SLF001
    "deque": Unpacker._deque,  # noqa: SLF001
    "counter": Unpacker._counter,  # noqa: SLF001
    "dict": Unpacker._dict,  # noqa: SLF001
    "money": Unpacker._money,  # noqa: SLF001
    "candidate": Unpacker._candidate,  # noqa: SLF001
    "event": Unpacker._event,  # noqa: SLF001
}


def pack_individual(individual: Individual) -> Json:
    """The JSON of an individual, with the size of its program; of one that is known by its fitness, that alone."""
    known = [individual.candidate_id, str(individual.evaluation.outcome), individual.fitness]
    if individual.fitness is not None and not individual.rewards:
        return known
    size = known_size(individual.program)
    return [*known, size, dict(individual.evaluation.scores), dict(individual.measures)]


def unpack_individual(problem: Problem, packed: Json) -> Individual:
    """The individual of a JSON, as a replay has it."""
    name, outcome, fitness, *rest = packed
    size, scores, measures = rest or (None, {}, {})
    evaluation = evaluation_without_texts(Outcome(outcome), scores)
    if rest:
        return individual_without_texts(problem, name, unloaded_program(size), evaluation, fitness, measures)
    return Individual(
        candidate_id=name, program=UNLOADED, evaluation=evaluation, fitness=fitness, measures=evaluation.measures
    )


def _fields(value: Any) -> Sequence[Any]:
    return fields(value)


def _parts(packed: Json, name: str) -> Any:
    if not isinstance(packed, dict) or packed.get(_TAG) != name:
        raise SnapshotError(f"the snapshot holds something else in the place of {name}")
    return packed["of"]


def _poured(made: Any, value: Any) -> Any:
    """A value in the container that was made for it, where there is one."""
    match made:
        case list() if isinstance(value, list):
            made[:] = value
        case deque() if isinstance(value, deque) and made.maxlen == value.maxlen:
            made.clear()
            made.extend(value)
        case set() if isinstance(value, set):
            made.clear()
            made.update(value)
        case dict() if isinstance(value, dict):
            made.clear()
            made.update(value)
        case _:
            return value
    return made
