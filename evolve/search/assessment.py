"""The closing assessment of a run: what its programs are worth on what was held out, and whether its best holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evolve.evaluation import COMBINED, Outcome
from evolve.event_types import AuditScored, HoldoutScored, RunClosing
from evolve.events import Event, EventKind
from evolve.problem import Objective

FITNESS = "fitness"
EXAMINING = frozenset({EventKind.RUN_CLOSING, EventKind.HOLDOUT_SCORED, EventKind.AUDIT_SCORED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScore:
    """What a program was worth to the search."""

    fitness: float | None
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """A program on what was held out.

    Attributes:
        outcome: of its held-out scoring; empty: it was not done.
        reason: one sentence where it failed.
        fitness, scores: on what was held out.
        recorded_fitness, recorded_scores: those that the search went by.
    """

    candidate_id: str
    outcome: str
    reason: str
    fitness: float | None
    scores: Mapping[str, float]
    recorded_fitness: float | None
    recorded_scores: Mapping[str, float]

    @property
    def difference(self) -> float | None:
        """Held-out fitness less the recorded one: far below 0, the search has fitted what it was scored by."""
        return None if self.fitness is None or self.recorded_fitness is None else self.fitness - self.recorded_fitness


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A score over the evaluations of an audit. `holds`: whether all lie within the tolerance of the recorded one."""

    name: str
    recorded: float
    low: float
    high: float
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The best program of a run, evaluated anew under other seeds.

    Attributes:
        wanted, made: how often.
        tolerance: by how much a score may differ: as a share of the objective's declared range, else of the score.
        failed: reasons of those that could not be scored.
        ranges: of each score that the search went by.
    """

    candidate_id: str
    wanted: int
    made: int
    tolerance: float
    failed: tuple[str, ...]
    ranges: tuple[Range, ...]

    @property
    def holds(self) -> bool | None:
        """Whether every score held in every evaluation; None: not all were made."""
        if self.failed or any(not one.holds for one in self.ranges):
            return False
        return True if self.made == self.wanted else None

    @property
    def sentence(self) -> str:
        """What came of it."""
        if not self.made:
            return f"none of {self.wanted} new evaluations was made"
        verdict = {True: "the scores hold", False: "the scores do not hold", None: "the scores hold so far"}[self.holds]
        failed = f", {len(self.failed)} of them failed: {self.failed[0]}" if self.failed else ""
        made = f"{self.made}" if self.made == self.wanted else f"{self.made} of {self.wanted}"
        return f"{verdict} within {self.tolerance:.3g} in {made} evaluations under other seeds{failed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """All of it. `holdout` holds the best first, and the best seed, which the others are compared with, at last."""

    holdout: tuple[HeldOut, ...]
    audit: Audit | None


def examined(plan: RunClosing) -> list[str]:
    """Ids of the candidates that the event `run.closing` is about."""
    return list(dict.fromkeys([*plan.holdout, *([plan.audit] if plan.audit else [])]))


def assess(
    events: Iterable[Event], worths: Mapping[str, SearchScore], objectives: Sequence[Objective]
) -> Assessment | None:
    """What the events of examinations come to; None where a run has none.

    Args:
        events: those of kind `run.closing`, `holdout.scored` and `audit.scored`, others are passed over.
        worths: of the candidates that are examined, by id.
        objectives: of the problem; none where the evaluator gives one scalar.
    """
    plan: RunClosing | None = None
    held: dict[str, HoldoutScored] = {}
    audits: dict[int, AuditScored] = {}
    for event in events:
        if event.kind not in EXAMINING:
            continue
        match event.data:
            case RunClosing() as plan:
                held, audits = {}, {}  # a run that was continued is examined anew at its next end
            case HoldoutScored() as scored:
                held[scored.candidate_id] = scored
            case AuditScored() as scored:
                audits[scored.number] = scored
    if plan is None:
        return None
    holdout = [_held_out(one, held.get(one), worths[one]) for one in plan.holdout if one in worths]
    audited = plan.audit if plan.audit in worths else None
    audit = _audit(plan, audited, list(audits.values()), worths[audited], objectives) if audited else None
    return Assessment(holdout=tuple(holdout), audit=audit)


def _held_out(candidate_id: str, scored: HoldoutScored | None, worth: SearchScore) -> HeldOut:
    return HeldOut(
        candidate_id=candidate_id,
        outcome=scored.outcome if scored else "",
        reason=scored.reason if scored else "",
        fitness=scored.fitness if scored else None,
        scores=scored.scores if scored else {},
        recorded_fitness=worth.fitness,
        recorded_scores=worth.scores,
    )


def _audit(
    plan: RunClosing, audited: str, made: Sequence[AuditScored], worth: SearchScore, objectives: Sequence[Objective]
) -> Audit:
    tolerance = plan.tolerance
    good = [one for one in made if one.outcome == Outcome.OK]
    bounds = {one.name: one for one in objectives}
    ranges = []
    for name in bounds or (COMBINED if COMBINED in worth.scores else FITNESS,):
        recorded = worth.fitness if name == FITNESS else worth.scores.get(name)
        found = [one.fitness if name == FITNESS else one.scores.get(name) for one in good]
        values = [value for value in found if value is not None]
        if recorded is not None and values:
            ranges.append(_range(name, recorded, values, tolerance * _unit(recorded, bounds.get(name))))
    return Audit(
        candidate_id=audited,
        wanted=plan.evaluations,
        made=len(made),
        tolerance=tolerance,
        failed=tuple(f"{one.outcome}: {one.reason}" for one in made if one.outcome != Outcome.OK),
        ranges=tuple(ranges),
    )


def _range(name: str, recorded: float, values: Sequence[float], allowed: float) -> Range:
    low, high = min(values), max(values)
    holds = recorded - low <= allowed and high - recorded <= allowed
    return Range(name=name, recorded=recorded, low=low, high=high, holds=holds)


def _unit(recorded: float, objective: Objective | None) -> float:
    if objective is not None and objective.low is not None and objective.high is not None:
        return objective.high - objective.low
    return abs(recorded)
