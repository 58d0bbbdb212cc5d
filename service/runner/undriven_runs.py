"""What is written of a run that nobody drives: it is paused or cancelled, cannot be opened yet, or never can."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from evolve.change_events import InsightsWritten
from evolve.event_types import (
    BestImproved,
    CandidateCreated,
    CandidateDuplicate,
    CandidateEvaluated,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
    RunCancelled,
    RunFinished,
    RunPaused,
    RunWaiting,
)
from evolve.events import Event
from evolve.search.shutdown import let_go
from service.ports import CANCELLED, ENDED, PAUSED, Clock, Intent, RunLog, RunRecord
from service.projections import entered
from service.runner.event_buffer import EventBuffer
from service.runner.lease import LEASE_SECONDS, held
from service.runner.storage_retry import StorageRetry, undisturbed
from service.timestamps import rfc3339

if TYPE_CHECKING:
    from evolve.proposal import Charge


async def settle(log: RunLog, clock: Clock, record: RunRecord, intent: Intent, owner: str) -> str:
    """Pause or cancel a run that nobody drives, without opening anything of it; the state that it is in then.

    Nothing is written where it has ended, is paused and wanted so, or is wanted running.

    Raises:
        NotFoundError: no such run.
        ConflictError: somebody else holds it.
        StorageError: the database cannot take it, or stays away.
    """
    async with _taken(log, clock, record.id, owner) as run:
        cancelled = intent.desired_state == CANCELLED and run.state not in ENDED
        paused = intent.desired_state == PAUSED and run.state not in {PAUSED, *ENDED}
        if cancelled:
            await run.close()
            run.event_buffer.note(RunCancelled(by=intent.by))
        if paused:
            run.event_buffer.note(RunPaused(by=intent.by))
        await run.event_buffer.commit()
        return CANCELLED if cancelled else PAUSED if paused else run.state


async def tell_waiting(log: RunLog, clock: Clock, record: RunRecord, owner: str, reason: str) -> None:
    """Write why a run cannot be opened at present; nothing where that is what it waits for already.

    Args:
        log: where the run is.
        clock: gives the event its time.
        record: the run as it was found.
        owner: who writes.
        reason: one sentence. The event names no time of the next try: the tries go on, the event stands.

    Raises:
        NotFoundError: no such run.
        ConflictError: somebody else holds it.
        StorageError: the database cannot take it, or stays away.
    """
    if record.waiting and record.waiting.get("reason") == reason:
        return
    async with _taken(log, clock, record.id, owner) as run:
        if run.state in {PAUSED, *ENDED}:
            return
        since = (record.waiting or {}).get("since") or rfc3339(clock.now())
        run.event_buffer.note(RunWaiting(reason=reason, since=since))
        await run.event_buffer.commit()


async def give_up(log: RunLog, clock: Clock, run_id: str, owner: str, detail: str, reason: str = "error") -> None:
    """End a run that cannot go on until somebody mends it, with the sentence that says why; nothing where it has ended.

    Raises:
        NotFoundError: no such run.
        ConflictError: somebody else holds it.
        StorageError: the database cannot take it, or stays away.
    """
    async with _taken(log, clock, run_id, owner) as run:
        if run.state in ENDED:
            return
        await run.close()
        best, fitness = run.best
        run.event_buffer.note(RunFinished(reason=reason, candidate_id=best, fitness=fitness, detail=detail))
        await run.event_buffer.commit()


class _Run:
    """A run in this process's hands, as far as it must be known to close it."""

    def __init__(self, log: RunLog, run_id: str) -> None:
        self.event_buffer: EventBuffer
        self.state = "queued"
        self.best: tuple[str | None, float | None] = (None, None)
        self.sequence = 0
        self._log = log
        self._run_id = run_id
        self._open: set[int] = set()
        self._pending: set[str] = set()
        self._owed: tuple[Charge, ...] = ()

    def read(self) -> None:
        """Fold the log."""
        for logged in self._log.events(self._run_id):
            self.sequence = logged.sequence
            self._apply(logged.event)

    async def close(self) -> None:
        """Let go of proposals and candidates under way."""
        pending = sorted(self._pending)
        candidates = await undisturbed(lambda: self._log.candidates(self._run_id, pending))
        self.event_buffer.write(let_go(self._open, candidates, owed=self._owed))

    def _apply(self, event: Event) -> None:
        self.state = entered(event) or self.state
        match event.data:
            case ProposalCreated(proposal_number=number):
                self._open.add(number)
            case ProposalAnswered(proposal_number=number) | ProposalFailed(proposal_number=number):
                self._open.discard(number)
                self._owed = () if event.data.tokens is not None else self._owed
            case InsightsWritten(charges=charges):
                self._owed += charges
            case CandidateCreated(candidate_id=candidate_id):
                self._pending.add(candidate_id)
            case CandidateDuplicate(candidate_id=candidate_id) | CandidateEvaluated(candidate_id=candidate_id):
                self._pending.discard(candidate_id)
            case BestImproved(candidate_id=candidate_id, fitness=fitness):
                self.best = candidate_id, fitness


@asynccontextmanager
async def _taken(log: RunLog, clock: Clock, run_id: str, owner: str) -> AsyncIterator[_Run]:
    patience = StorageRetry(clock, LEASE_SECONDS)
    async with held(log, run_id, owner, patience) as hold:
        run = _Run(log, run_id)
        await undisturbed(run.read)
        run.event_buffer = EventBuffer(log, clock, run_id, hold.fence, run.sequence, patience)
        yield run
