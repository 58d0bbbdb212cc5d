"""Re-evaluation: candidates of a run that is not at work are scored once more, beside what they were worth."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evolve.configuration import RunConfig
from evolve.events import Event
from evolve.identity import evaluation_id
from evolve.payloads import describe_reevaluation
from evolve.ports import Evaluator
from evolve.problem import Problem
from evolve.proposal import Candidate
from evolve.search.scoring import CandidateScorer
from service.errors import ConflictError
from service.ports import ENDED, PAUSED, CandidateRecord, Clock, RunLog, RunReader
from service.runner.event_buffer import EventBuffer
from service.runner.lease import RunLease, held
from service.runner.storage_retry import StorageRetry, undisturbed

_SCORED = frozenset({"evaluated", "duplicate"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reevaluation:
    """What candidates of a run are evaluated again with.

    Attributes:
        reader: tells what the run and its candidates are.
        owner: who holds the run's lease meanwhile.
    """

    run_id: str
    problem: Problem
    config: RunConfig
    evaluator: Evaluator
    log: RunLog
    reader: RunReader
    clock: Clock
    owner: str


async def reevaluate(job: Reevaluation, candidate_ids: Sequence[str]) -> None:
    """Evaluate candidates once more; each result is an event, committed as it comes.

    Archives, fitness, counters and the best stay what they are. A candidate that awaits its first evaluation is left to
    the run, and one that never became a program is passed over.

    Raises:
        NotFoundError: no such run.
        ConflictError: it is at work, or somebody else holds it.
        StorageError: the database cannot take the results, or stays away.
    """
    # A run that waits to go on must not wait for long for a database that its next runner will wait for.
    patience = StorageRetry(job.clock, seconds=60.0)
    session = _Session(job, patience)
    async with held(job.log, job.run_id, job.owner, patience, session.stop) as hold:
        await session.run(hold, candidate_ids)


class _Session:
    def __init__(self, job: Reevaluation, patience: StorageRetry) -> None:
        self._job = job
        self._patience = patience
        self._scorer = CandidateScorer(job.problem, job.config)
        self._tasks: list[asyncio.Task[None]] = []

    def stop(self) -> None:
        """Let go of what is under way: the lease is lost."""
        for task in self._tasks:
            task.cancel()

    async def run(self, hold: RunLease, candidate_ids: Sequence[str]) -> None:
        """Evaluate them, as many at once as the evaluator has slots."""
        job = self._job
        run = await undisturbed(lambda: job.reader.run(job.run_id))
        if run.state not in {PAUSED, *ENDED}:
            raise ConflictError(f"run {job.run_id} is {run.state}: its candidates are evaluated again when it is not")
        self._event_buffer = EventBuffer(job.log, job.clock, job.run_id, hold.fence, run.sequence, self._patience)
        self._committing = asyncio.Lock()
        work = await undisturbed(lambda: self._find(list(dict.fromkeys(candidate_ids))))
        waiting = iter(work)
        places = range(min(len(work), max(1, job.config.concurrency.evaluations or job.evaluator.slots)))
        self._tasks = [asyncio.create_task(self._take_turns(waiting)) for _ in places]
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self.stop()
            ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        hold.check()
        for failure in (end for end in ends if isinstance(end, Exception)):
            raise failure

    async def _take_turns(self, waiting: Iterator[tuple[Candidate, int]]) -> None:
        for candidate, attempt in waiting:
            await self._evaluate(candidate, attempt)

    def _find(self, candidate_ids: Sequence[str]) -> list[tuple[Candidate, int]]:
        """Candidates with programs, each with the number of its next attempt."""
        job = self._job
        records = [record for record in job.reader.named(candidate_ids) if self._scored(record)]
        candidates = job.log.candidates(job.run_id, [record.id for record in records])
        return [(candidate, self._attempt(candidate.id)) for candidate in candidates]

    def _scored(self, record: CandidateRecord) -> bool:
        return record.run_id == self._job.run_id and record.status in _SCORED

    def _attempt(self, candidate_id: str) -> int:
        return max((past.attempt for past in self._job.reader.evaluations(candidate_id)), default=0) + 1

    async def _evaluate(self, candidate: Candidate, attempt: int) -> None:
        scored = await self._job.evaluator.evaluate(candidate.program, evaluation_id(candidate.id, attempt))
        individual = self._scorer.individual(candidate, scored)
        event = Event(describe_reevaluation(individual, attempt), individual)
        async with self._committing:
            self._event_buffer.write([event])
            await self._event_buffer.commit()
