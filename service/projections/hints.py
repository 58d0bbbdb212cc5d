"""Hints of a run, and what the proposals brought whose prompts held them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from evolve.change_events import HintGiven, RequestedChange
from evolve.event_types import EventKind, ProposalCreated
from service.ports import LoggedEvent, RunReader, RunRecord
from service.projections.columns import Columns
from service.projections.progress_curve import best_so_far

MAX_HINTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class HintYield:
    """A hint with its results; `at`: when the search received it, None: not yet."""

    hint: HintGiven
    at: datetime | None
    used: int = 0
    evaluations: int = 0
    valid: int = 0
    improvements: int = 0
    best_fitness: float | None = None


def hint_yields(
    reader: RunReader, run: RunRecord, columns: Columns, waiting: Sequence[RequestedChange]
) -> list[HintYield]:
    """The newest hints of a run, the newest first, those that wait for its runner before all."""
    given = list(reader.events(run.id, kinds=(str(EventKind.HINT_GIVEN),)))[-MAX_HINTS:]
    found = [_yield(reader, run, columns, logged) for logged in reversed(given)]
    hints = [change.data for change in reversed(waiting) if isinstance(change.data, HintGiven)]
    wanted = [HintYield(hint=hint, at=None) for hint in hints]
    known = {one.hint.change_id for one in found}  # its event may be newer than the changes that were read
    return [*(one for one in wanted if one.hint.change_id not in known), *found][:MAX_HINTS]


def _yield(reader: RunReader, run: RunRecord, columns: Columns, logged: LoggedEvent) -> HintYield:
    hint = logged.event.data
    assert isinstance(hint, HintGiven), "the class of this kind"
    numbers = []
    # It stands in the proposals that follow it, one after the other, until they are used up or another takes its place.
    following = reader.events(run.id, logged.sequence, hint.proposals, kinds=(str(EventKind.PROPOSAL_CREATED),))
    for entry in following if hint.text else ():
        created = entry.event.data
        assert isinstance(created, ProposalCreated), "the class of this kind"
        if created.hint != hint.change_id:
            break
        numbers.append(created.proposal_number)
    places = np.flatnonzero(np.isin(np.array(columns.numbers, dtype=np.int64), numbers))
    fitness = columns.fitness
    before = np.concatenate([[-np.inf], best_so_far(fitness)[:-1]]) if len(fitness) else fitness
    mine = fitness[places]
    valid = mine[~np.isnan(mine)]
    return HintYield(
        hint=hint,
        at=logged.at,
        used=len(numbers),
        evaluations=len(places),
        valid=len(valid),
        improvements=int((mine > before[places]).sum()),
        best_fitness=float(valid.max()) if len(valid) else None,
    )
