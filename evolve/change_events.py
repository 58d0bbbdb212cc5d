"""The kinds of events that change a live run beside its search: each with its author, and an id that counts once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evolve.event_types import OMITTED, EventData, EventKind
from evolve.program import Program
from evolve.proposal import Charge, Individual

MAX_INSERTED_FILES = 200  # of a program that a person inserts


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeData(EventData):
    """The base of all: what `by` asked for; a change that is asked for again under the same `change_id` counts once."""

    change_id: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HintGiven(ChangeData):
    """A person says what to try: `text` stands in the prompts of the next `proposals`, in place of any other hint.

    With an `island`, of its proposals alone, and in place of any other hint of that island. None: of all islands.
    """

    kind: ClassVar[EventKind] = EventKind.HINT_GIVEN
    text: str
    proposals: int
    island: int | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramInserted(ChangeData):
    """A person brings a program that descends from `parent`; the proposal that follows holds it as its candidate.

    `changed` is what differs from the parent; see `evolve.similarity.changed_parts`.
    """

    kind: ClassVar[EventKind] = EventKind.PROGRAM_INSERTED
    program_id: str
    parent: str
    island: int
    changed: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateBanned(ChangeData):
    """A person bans a candidate: it is no parent, inspiration or migrant; with `descendants`, nor is what descends."""

    kind: ClassVar[EventKind] = EventKind.CANDIDATE_BANNED
    candidate_id: str
    descendants: bool

    def narrows(self, earlier: "CandidateBanned | None") -> bool:
        """Whether an earlier ban of the same candidate covers more, so that it stays: only lifting takes a ban back."""
        return earlier is not None and earlier.descendants and not self.descendants


@dataclass(frozen=True, slots=True, kw_only=True)
class BanLifted(ChangeData):
    """A person lifts the ban of a candidate; what it took out of the archives is offered to them again."""

    kind: ClassVar[EventKind] = EventKind.BAN_LIFTED
    candidate_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityGiven(ChangeData):
    """A person gives a candidate priority: it is the parent of the next `proposals`."""

    kind: ClassVar[EventKind] = EventKind.PRIORITY_GIVEN
    candidate_id: str
    proposals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityLifted(ChangeData):
    """A person lifts the priority of a candidate before it is used up."""

    kind: ClassVar[EventKind] = EventKind.PRIORITY_LIFTED
    candidate_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChanged(ChangeData):
    """A person gives keys of the configuration other values; `policies.NAME` is the weight of a policy."""

    kind: ClassVar[EventKind] = EventKind.SETTINGS_CHANGED
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRefused(ChangeData):
    """The search could not make a change of the kind `requested`, for a `reason` that nobody knew before."""

    kind: ClassVar[EventKind] = EventKind.CHANGE_REFUSED
    requested: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsWritten(ChangeData):
    """A version of the run's insights, which stands in prompts until the next; an empty text ends that.

    Attributes:
        text: empty where an event was sent, for it quotes programs.
        source: who wrote it: `facts` (the run, without a model), `analyst`, `person` or `earlier_run`.
        evaluations: candidates that were evaluated when it became due.
        policy: the analyst that was asked; empty: none was.
        reason: why the analyst wrote nothing; empty: it did, or none was asked.
        charges: what the analyst took, which the next completion pays.
    """

    kind: ClassVar[EventKind] = EventKind.INSIGHTS_WRITTEN
    text: str = ""
    source: str
    evaluations: int
    policy: str = field(default="", metadata=OMITTED)
    reason: str = field(default="", metadata=OMITTED)
    charges: tuple[Charge, ...] = field(default=(), metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUpdated(ChangeData):
    """The policy of the run was trained on the run's own answers; its version is asked beside those before it.

    Attributes:
        number: of the update, from 1.
        policy: the version, `NAME@VERSION` of the registry; empty: none came of it.
        start: the policy of the run that it descends from.
        base: what was trained: a version, or `start`.
        answered: proposals that were answered when it became due.
        through: number of the newest proposal that it could learn from.
        model: SHA-256 of the version's folder.
        job: the training job; empty: none was submitted.
        figures: of the training.
        seconds: from when it was due.
        reason: why no version came of it; empty: one did.
    """

    kind: ClassVar[EventKind] = EventKind.POLICY_UPDATED
    number: int
    policy: str = field(default="", metadata=OMITTED)
    start: str
    base: str
    answered: int
    through: int
    model: str = field(default="", metadata=OMITTED)
    job: str = field(default="", metadata=OMITTED)
    figures: Mapping[str, float] = field(default_factory=dict, metadata=OMITTED)
    seconds: float
    reason: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedChange:
    """What a front door hands to a search: the event to be, with the program or the individual that the event names."""

    data: ChangeData
    program: Program | None = None
    individual: Individual | None = None


CHANGE_KINDS: tuple[EventKind, ...] = (
    EventKind.HINT_GIVEN,
    EventKind.INSIGHTS_WRITTEN,
    EventKind.POLICY_UPDATED,
    EventKind.PROGRAM_INSERTED,
    EventKind.CANDIDATE_BANNED,
    EventKind.BAN_LIFTED,
    EventKind.PRIORITY_GIVEN,
    EventKind.PRIORITY_LIFTED,
    EventKind.SETTINGS_CHANGED,
    EventKind.CHANGE_REFUSED,
)
