"""What is written of a run that nobody drives: it is paused or cancelled, cannot be opened yet, or never can."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evolve.closing import let_go
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
from service.ports import CANCELLED, ENDED, PAUSED, Clock, Intent, RunLog, RunRecord
from service.projections import entered
from service.runner.journal import Journal
from service.runner.lease import LEASE_SECONDS, held
from service.runner.patience import Patience, undisturbed
from service.times import rfc3339


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
            run.journal.note(RunCancelled(by=intent.by))
        if paused:
            run.journal.note(RunPaused(by=intent.by))
        await run.journal.commit()
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
        run.journal.note(RunWaiting(reason=reason, since=since))
        await run.journal.commit()


async def give_up(log: RunLog, clock: Clock, record: RunRecord, owner: str, detail: str) -> None:
    """End a run that can never be opened, with the sentence that says why; nothing where it has ended.

    Raises:
        NotFoundError: no such run.
        ConflictError: somebody else holds it.
        StorageError: the database cannot take it, or stays away.
    """
    async with _taken(log, clock, record.id, owner) as run:
        if run.state in ENDED:
            return
        await run.close()
        run.journal.note(RunFinished(reason="error", candidate_id=run.best[0], fitness=run.best[1], detail=detail))
        await run.journal.commit()


class _Run:
    """A run in this process's hands, as far as it must be known to close it."""

    def __init__(self, log: RunLog, run_id: str) -> None:
        self.journal: Journal
        self.state = "queued"
        self.best: tuple[str | None, float | None] = (None, None)
        self.sequence = 0
        self._log = log
        self._run_id = run_id
        self._open: set[int] = set()
        self._pending: set[str] = set()

    def read(self) -> None:
        """Fold the log."""
        for logged in self._log.events(self._run_id):
            self.sequence = logged.sequence
            self._apply(logged.event)

    async def close(self) -> None:
        """Let go of proposals and candidates under way."""
        pending = sorted(self._pending)
        candidates = await undisturbed(lambda: self._log.candidates(self._run_id, pending))
        self.journal.write(let_go(self._open, candidates))

    def _apply(self, event: Event) -> None:
        self.state = entered(event) or self.state
        match event.data:
            case ProposalCreated(number=number):
                self._open.add(number)
            case ProposalAnswered(number=number) | ProposalFailed(number=number):
                self._open.discard(number)
            case CandidateCreated(candidate_id=candidate_id):
                self._pending.add(candidate_id)
            case CandidateDuplicate(candidate_id=candidate_id) | CandidateEvaluated(candidate_id=candidate_id):
                self._pending.discard(candidate_id)
            case BestImproved(candidate_id=candidate_id, fitness=fitness):
                self.best = candidate_id, fitness


@asynccontextmanager
async def _taken(log: RunLog, clock: Clock, run_id: str, owner: str) -> AsyncIterator[_Run]:
    patience = Patience(clock, LEASE_SECONDS)
    async with held(log, run_id, owner, patience) as hold:
        run = _Run(log, run_id)
        await undisturbed(run.read)
        run.journal = Journal(log, clock, run_id, hold.fence, run.sequence, patience)
        yield run
