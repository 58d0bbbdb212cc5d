"""The stores of an installation in memory, as far as use cases need them: runs, problems, batches, keys and quotas."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from evolve.change_events import RequestedChange
from evolve.evaluation import Outcome
from evolve.event_types import BestImproved, EventData, RunCreated, RunFinished
from evolve.events import Event
from evolve.identity import digest
from evolve.program import Program
from evolve.proposal import Candidate, Individual
from evolve.views.candidate_view import CandidateView
from service.errors import ConflictError, LeaseLostError, NotFoundError, QuotaError
from service.ports import (
    ALL_BATCHES,
    ALL_RUNS,
    CANCELLED,
    ENDED,
    MAX_VIEW_REQUESTS,
    PAUSED,
    RUNNING,
    AuditEntry,
    BatchFilter,
    BatchRecord,
    Bundle,
    CandidateRecord,
    Counters,
    Intent,
    KeyRecord,
    LoggedEvent,
    NewProblem,
    NewRun,
    ProblemRecord,
    Quotas,
    RunFilter,
    RunReader,
    RunRecord,
    StoredSnapshot,
    UsageRecord,
    ViewRequest,
    nobody,
)
from service.projections import count, entered
from tests.contract.story import FixedClock


@dataclass(kw_only=True)
class _Run:
    """A run with its log, its lease and its intent."""

    new: NewRun
    problem_id: str
    events: list[LoggedEvent]
    intent: Intent = field(default_factory=Intent)
    fence: int = 0
    owner: str = ""
    lease_until: datetime | None = None
    revision: int = 0
    marked: bool = False
    waiting: list[str] = field(default_factory=list)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    individuals: dict[str, Individual] = field(default_factory=dict)

    @property
    def state(self) -> str:
        return next((state for logged in reversed(self.events) if (state := entered(logged.event))), "queued")

    def held(self, owner: str, now: datetime, gone: Callable[[str], bool]) -> bool:
        """Whether somebody else holds the lease."""
        lasts = self.lease_until is not None and now < self.lease_until
        return bool(self.owner) and self.owner != owner and lasts and not gone(self.owner)

    def record(self) -> RunRecord:
        new, counters, reason, failure = self.new, Counters(), "", ""
        best: tuple[str | None, float | None] = (None, None)
        for logged in self.events:
            counters = count(counters, logged.event)
            data: EventData = logged.event.data
            if isinstance(data, BestImproved):
                best = data.candidate_id, data.fitness
            if isinstance(data, RunFinished):
                reason, failure = data.reason, data.detail
        return RunRecord(
            id=new.id,
            tenant=new.tenant,
            problem_name=new.problem_name,
            bundle_hash=new.bundle.hash,
            state=self.state,
            desired_state=self.intent.desired_state,
            waiting=None,
            reason=reason,
            config=new.config,
            policies=new.policies,
            seed=new.seed,
            integrity=new.integrity,
            isolation=new.isolation,
            objectives=new.objectives,
            known_best=new.known_best,
            source=new.source,
            best_candidate_id=best[0],
            best_fitness=best[1],
            seed_fitness=None,
            counters=counters,
            sequence=self.events[-1].sequence,
            active_seconds=0.0,
            created_at=new.created_at,
            started_at=None,
            finished_at=self.events[-1].at if self.state in ENDED else None,
            problem_id=self.problem_id,
            labels=new.labels,
            batch_id=new.batch_id,
            fork_of=new.fork_of,
            revision=self.revision,
            desired_budget=self.intent.budget,
            created_by=new.created_by,
            failure=failure,
        )


class MemoryStorage:
    """The port Storage in memory, for one thread. What a unit wrote is taken back where an error leaves it."""

    url = "memory:"

    def __init__(self, clock: FixedClock | None = None) -> None:
        self.clock = clock or FixedClock()
        self.runs: dict[str, _Run] = {}
        self.problems = MemoryProblems()
        self.log = MemoryRunLog(self)
        self.reader = cast(RunReader, MemoryReader(self))
        self.readers = MemoryReaders(self)
        self.batches = MemoryBatches(self)
        self.accounts = MemoryAccounts(self)
        self.keys = MemoryKeys()
        self.audit = MemoryAuditLog()
        self.deletions = MemoryDeletions(self)
        self.columns = MemoryColumns()
        self.snapshots = MemorySnapshots()
        self.views = MemoryViewRequests(self)

    def intents(self, tenant: str) -> "MemoryRunIntents":
        return MemoryRunIntents(self, tenant)

    def claims(self, batch_id: str = "") -> "MemoryRunClaims":
        return MemoryRunClaims(self, batch_id)

    @contextmanager
    def unit(self) -> Iterator[None]:
        runs, batches = dict(self.runs), dict(self.batches.records)
        try:
            yield
        except BaseException:
            self.runs, self.batches.records = runs, batches
            raise

    def found(self, run_id: str, tenant: str = "") -> _Run:
        """A run that is not deleted, by its id or a beginning of it.

        Raises:
            NotFoundError: there is none.
        """
        for run in self.runs.values():
            if run.new.id.startswith(run_id) and not run.marked and tenant in ("", run.new.tenant):
                return run
        raise NotFoundError(f"there is no run {run_id}")


class MemoryColumns:
    """The port ColumnStore."""

    def __init__(self) -> None:
        self._saved: dict[str, tuple[str, bytes]] = {}

    def load(self, run_id: str, form: str) -> bytes | None:
        saved = self._saved.get(run_id)
        return saved[1] if saved is not None and saved[0] == form else None

    def save(self, run_id: str, form: str, sequence: int, content: bytes) -> None:
        del sequence
        self._saved[run_id] = form, content


class MemorySnapshots:
    """The port SnapshotStore."""

    def __init__(self) -> None:
        self._saved: dict[str, StoredSnapshot] = {}

    def load(self, run_id: str) -> StoredSnapshot | None:
        return self._saved.get(run_id)

    def save(self, run_id: str, snapshot: StoredSnapshot) -> None:
        self._saved[run_id] = snapshot

    def forget(self, run_id: str) -> None:
        self._saved.pop(run_id, None)


class MemoryViewRequests:
    """The port ViewRequests."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage
        self._waiting: dict[str, tuple[str, datetime, ViewRequest]] = {}

    def request(self, tenant: str, candidate_id: str, by: str) -> bool:
        del by
        reader = MemoryReader(self._storage, tenant)
        view = reader.view(candidate_id)
        if view is None or not view.on_demand:
            raise NotFoundError(f"nothing draws a view of {candidate_id} on demand")
        if candidate_id in self._waiting:
            return False
        if sum(one == tenant for one, _, _ in self._waiting.values()) >= MAX_VIEW_REQUESTS:
            raise QuotaError("too many views wait to be drawn")
        now, run_id = self._storage.clock.now(), reader.candidate(candidate_id).run_id
        self._waiting[candidate_id] = tenant, now, ViewRequest(run_id=run_id, candidate_id=candidate_id, created_at=now)
        return True

    def waiting(self, candidate_id: str) -> ViewRequest | None:
        return self._waiting[candidate_id][2] if candidate_id in self._waiting else None

    def take(self, limit: int, seconds: float) -> list[ViewRequest]:
        now = self._storage.clock.now()
        due = sorted((at, id_) for id_, (_, at, _) in self._waiting.items() if at <= now)
        taken = [replace(one := self._waiting[id_][2], tries=one.tries + 1) for _, id_ in due[:limit]]
        for one in taken:
            self.put_off(one, seconds, one.reason)
        return taken

    def put_off(self, request: ViewRequest, seconds: float, reason: str, *, tries: int | None = None) -> None:
        if request.candidate_id in self._waiting:
            tenant, _, before = self._waiting[request.candidate_id]
            counted = request.tries if tries is None else tries
            due_at = self._storage.clock.now() + timedelta(seconds=seconds)
            self._waiting[request.candidate_id] = tenant, due_at, replace(before, tries=counted, reason=reason)

    def store(self, candidate_id: str, view: CandidateView) -> None:
        run = self._storage.found(MemoryReader(self._storage).candidate(candidate_id).run_id)
        individual = run.individuals[candidate_id]
        if individual.evaluation.view is not None and individual.evaluation.view.on_demand:
            evaluation = replace(individual.evaluation, view=view)
            run.individuals[candidate_id] = replace(individual, evaluation=evaluation)
        self.drop(candidate_id)

    def drop(self, candidate_id: str) -> None:
        self._waiting.pop(candidate_id, None)


class MemoryRunLog:
    """The port RunLog."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage

    def create(self, run: NewRun) -> None:
        if run.id in self._storage.runs:
            raise ConflictError(f"a run {run.id} exists already")
        document = NewProblem(
            tenant=run.tenant,
            name=run.problem_name,
            bundle=run.bundle,
            document=run.document,
            created_at=run.created_at,
        )
        problem = self._storage.problems.add(document)
        event = Event(RunCreated(by=run.tenant, limits={key: dict(entry) for key, entry in run.limits.items()}))
        first = LoggedEvent(run_id=run.id, sequence=1, at=run.created_at, event=event)
        until = self._storage.clock.now() + timedelta(seconds=60) if run.owner else None
        self._storage.runs[run.id] = _Run(
            new=run, problem_id=problem.id, events=[first], owner=run.owner, lease_until=until
        )

    def take(self, run_id: str, owner: str, lease_seconds: float, gone: Callable[[str], bool] = nobody) -> int:
        run, now = self._storage.found(run_id), self._storage.clock.now()
        if run.held(owner, now, gone):
            raise ConflictError(f"somebody else drives {run_id}")
        run.owner, run.lease_until = owner, now + timedelta(seconds=lease_seconds)
        run.fence += 1
        return run.fence

    def release(self, run_id: str, fence: int) -> None:
        run = self._storage.runs.get(run_id)
        if run is not None and run.fence == fence:
            run.owner, run.lease_until = "", None

    def renew(self, run_id: str, fence: int, lease_seconds: float, health: Mapping[str, Any] | None = None) -> str:
        del health
        run = self._fenced(run_id, fence)
        run.lease_until = self._storage.clock.now() + timedelta(seconds=lease_seconds)
        return run.intent.desired_state

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        run = self._fenced(run_id, fence)
        for logged in events:
            assert logged.sequence == run.events[-1].sequence + 1, "sequence numbers are dense"
            run.events.append(logged)
            subject = logged.event.subject
            if isinstance(subject, Candidate):
                run.candidates[subject.id] = subject
            elif isinstance(subject, Individual):
                run.individuals[subject.candidate_id] = subject

    def events(self, run_id: str, after: int = 0, limit: int | None = None) -> Iterator[LoggedEvent]:
        found = [logged for logged in self._storage.found(run_id).events if logged.sequence > after]
        yield from found[:limit]

    def candidates(self, run_id: str, candidate_ids: Sequence[str]) -> list[Candidate]:
        candidates = self._storage.found(run_id).candidates
        return [candidates[candidate_id] for candidate_id in candidate_ids]

    def individuals(self, run_id: str, candidate_ids: Sequence[str]) -> list[Individual]:
        individuals = self._storage.found(run_id).individuals
        return [individuals[candidate_id] for candidate_id in candidate_ids if candidate_id in individuals]

    def bundle(self, run_id: str) -> Bundle:
        return self._storage.found(run_id).new.bundle

    def _fenced(self, run_id: str, fence: int) -> _Run:
        run = self._storage.found(run_id)
        if run.fence != fence:
            raise LeaseLostError(f"another took {run_id}")
        return run


class MemoryReader:
    """What use cases read of runs: of one tenant, or of all where it is empty."""

    def __init__(self, storage: MemoryStorage, tenant: str = "") -> None:
        self._storage, self._tenant = storage, tenant

    def runs(self, limit: int = 50, *, only: RunFilter = ALL_RUNS, oldest_first: bool = False) -> list[RunRecord]:
        found = [
            run.record()
            for run in self._storage.runs.values()
            if not run.marked and self._tenant in ("", run.new.tenant) and only.batch_id in ("", run.new.batch_id)
        ]
        found.sort(key=lambda run: (run.created_at, run.id), reverse=not oldest_first)
        return found[:limit]

    def run(self, run_id: str) -> RunRecord:
        return self._storage.found(run_id, self._tenant).record()

    def candidate(self, candidate_id: str) -> CandidateRecord:
        for run in self._storage.runs.values():
            if candidate_id in run.candidates and not run.marked and self._tenant in ("", run.new.tenant):
                return cast(CandidateRecord, SimpleNamespace(id=candidate_id, run_id=run.new.id))
        raise NotFoundError(f"there is no candidate {candidate_id}")

    def program(self, candidate_id: str) -> Program:
        return self._storage.found(self.candidate(candidate_id).run_id).candidates[candidate_id].program

    def view(self, candidate_id: str) -> CandidateView | None:
        individual = self._storage.found(self.candidate(candidate_id).run_id).individuals.get(candidate_id)
        return None if individual is None else individual.evaluation.view


class MemoryReaders:
    """The port Readers."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage

    def of(self, tenant: str, run_id: str = "") -> RunReader:
        assert not run_id, "use cases read all runs of a tenant"
        return cast(RunReader, MemoryReader(self._storage, tenant))


class MemoryRunIntents:
    """The port RunIntents; runs that have succeeded are not continued here."""

    def __init__(self, storage: MemoryStorage, tenant: str) -> None:
        self._storage, self._tenant = storage, tenant

    def want(self, run_id: str, desired_state: str, by: str) -> RunRecord:
        run = self._unended(run_id)
        if run.state == PAUSED == desired_state and not run.intent.by:
            return run.record()
        run.intent = replace(run.intent, desired_state=desired_state, by=by)
        run.revision += 1
        return run.record()

    def extend(self, run_id: str, budget: Mapping[str, Any], by: str) -> RunRecord:
        run = self._unended(run_id)
        run.intent = replace(run.intent, budget={**run.intent.budget, **budget}, by=by)
        run.revision += 1
        return run.record()

    def change(self, run_id: str, change: RequestedChange) -> RunRecord:
        run = self._unended(run_id)
        run.intent = replace(run.intent, changes=(*run.intent.changes, change))
        run.revision += 1
        return run.record()

    def changes(self, run_id: str) -> Sequence[RequestedChange]:
        return self._storage.found(run_id, self._tenant).intent.changes

    def label(self, run_id: str, labels: Mapping[str, str], revision: int | None) -> RunRecord:
        del revision
        run = self._storage.found(run_id, self._tenant)
        run.new = replace(run.new, labels=labels)
        return run.record()

    def delete(self, run_id: str) -> None:
        run = self._storage.found(run_id, self._tenant)
        if run.state in {RUNNING, "pausing", "cancelling"}:
            raise ConflictError(f"run {run_id} is {run.state}: cancel or pause it first")
        if run.held("", self._storage.clock.now(), nobody):
            raise ConflictError(f"run {run_id} is held by a runner: try again in some seconds")
        run.marked = True

    def delete_batch(self, batch_id: str) -> None:
        for run in list(self._storage.runs.values()):
            if run.new.batch_id == batch_id:
                self.delete(run.new.id)

    def reevaluate(self, run_id: str, candidate_ids: Sequence[str], by: str, at: datetime) -> int:
        del by, at
        run = self._storage.found(run_id, self._tenant)
        fresh = [candidate_id for candidate_id in candidate_ids if candidate_id not in run.waiting]
        run.waiting += fresh
        return len(fresh)

    def _unended(self, run_id: str) -> _Run:
        run = self._storage.found(run_id, self._tenant)
        if run.state in ENDED:
            raise ConflictError(f"run {run_id} has ended, it is {run.state}: fork it, or start another")
        if run.intent.desired_state == CANCELLED:
            raise ConflictError(f"run {run_id} is {run.state} and being cancelled: fork it, or start another")
        return run


class MemoryRunClaims:
    """The port BatchClaims."""

    def __init__(self, storage: MemoryStorage, batch_id: str) -> None:
        self._storage, self._batch_id = storage, batch_id

    def claim(
        self, owner: str, lease_seconds: float, holding: Sequence[str], gone: Callable[[str], bool] = nobody
    ) -> RunRecord | None:
        del lease_seconds
        now = self._storage.clock.now()
        for run in self._own():
            due = run.state not in {PAUSED, *ENDED} or (run.state == PAUSED and run.intent.desired_state == RUNNING)
            if due and run.new.id not in holding and not run.held(owner, now, gone):
                return run.record()
        return None

    def wanted(self, run_ids: Sequence[str]) -> Mapping[str, Intent]:
        return {run.new.id: run.intent for run in self._own() if run.new.id in run_ids}

    def reevaluations(self, run_id: str) -> list[str]:
        return list(self._storage.found(run_id).waiting)

    def reevaluated(self, run_id: str, candidate_ids: Sequence[str]) -> None:
        run = self._storage.found(run_id)
        run.waiting = [waiting for waiting in run.waiting if waiting not in candidate_ids]

    def reserve(self, owner: str, lease_seconds: float, gone: Callable[[str], bool] = nobody) -> None:
        now = self._storage.clock.now()
        for run in self._own():
            if run.state not in ENDED and not run.held(owner, now, gone):
                run.owner, run.lease_until = owner, now + timedelta(seconds=lease_seconds)

    def give_back(self, owner: str) -> None:
        for run in self._own():
            if run.owner == owner:
                run.owner, run.lease_until = "", None

    def _own(self) -> list[_Run]:
        runs = [run for run in self._storage.runs.values() if not run.marked]
        return [run for run in runs if self._batch_id in ("", run.new.batch_id)]


class MemoryProblems:
    """The port ProblemStore."""

    def __init__(self) -> None:
        self.records: list[ProblemRecord] = []
        self._bundles: dict[str, Bundle] = {}

    def add(self, problem: NewProblem) -> ProblemRecord:
        same = [one for one in self.records if (one.tenant, one.name) == (problem.tenant, problem.name)]
        for record in same:
            if record.bundle_hash == problem.bundle.hash:
                return record
        self._bundles[problem.bundle.hash] = problem.bundle
        record = ProblemRecord(
            id="prb_" + digest(f"{problem.tenant}/{problem.name}/{problem.bundle.hash}"),
            tenant=problem.tenant,
            name=problem.name,
            version=len(same) + 1,
            bundle_hash=problem.bundle.hash,
            document=problem.document,
            created_at=problem.created_at,
        )
        self.records.append(record)
        return record

    def get(self, tenant: str, problem_id: str) -> ProblemRecord:
        for record in reversed(self.records):
            if record.tenant == tenant and problem_id in (record.id, record.name, f"{record.name}@{record.version}"):
                return record
        raise NotFoundError(f"there is no problem {problem_id}")

    def problems(self, tenant: str, name: str = "", before: str = "", limit: int = 50) -> list[ProblemRecord]:
        assert not before, "one page is enough here"
        return [one for one in reversed(self.records) if one.tenant == tenant and name in ("", one.name)][:limit]

    def bundle(self, bundle_hash: str) -> Bundle:
        return self._bundles[bundle_hash]

    def delete(self, tenant: str, problem_id: str) -> None:
        self.records.remove(self.get(tenant, problem_id))


class MemoryBatches:
    """The port BatchStore."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage
        self.records: dict[str, BatchRecord] = {}

    def add(self, batch: BatchRecord) -> None:
        self.records[batch.id] = batch

    def get(self, tenant: str, batch_id: str) -> BatchRecord:
        for batch in self.records.values():
            if batch.tenant == tenant and batch.id.startswith(batch_id):
                states: dict[str, int] = {}
                for run in self._storage.runs.values():
                    if run.new.batch_id == batch.id and not run.marked:
                        states[run.state] = states.get(run.state, 0) + 1
                return replace(batch, states=states)
        raise NotFoundError(f"there is no batch {batch_id}")

    def batches(
        self, tenant: str, before: str = "", limit: int = 50, only: BatchFilter = ALL_BATCHES
    ) -> list[BatchRecord]:
        assert not before, "one page is enough here"
        ids = [batch.id for batch in self.records.values() if batch.tenant == tenant and only.name in ("", batch.name)]
        return [self.get(tenant, batch_id) for batch_id in sorted(ids, reverse=True)][:limit]

    def remove(self, tenant: str, batch_id: str) -> None:
        del self.records[self.get(tenant, batch_id).id]


class MemoryAccounts:
    """The port TenantAccounts, with the tenant `default` alone."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage
        self._quotas = {"default": Quotas()}

    def quotas(self, tenant: str) -> Quotas:
        if tenant not in self._quotas:
            raise NotFoundError(f"there is no tenant {tenant}")
        return self._quotas[tenant]

    def set_quotas(self, tenant: str, quotas: Quotas) -> None:
        self.quotas(tenant)
        self._quotas[tenant] = quotas

    def hold(self, tenant: str) -> None:
        self.quotas(tenant)

    def active_runs(self, tenant: str) -> int:
        runs = [run for run in self._storage.runs.values() if run.new.tenant == tenant and not run.marked]
        return sum(run.state not in ENDED for run in runs)

    def usage(self, tenant: str, since: datetime, until: datetime) -> UsageRecord:
        runs = [run for run in self._storage.runs.values() if run.new.tenant == tenant]
        counters = [run.record().counters for run in runs]
        individuals = [one for run in runs for one in run.individuals.values()]
        evaluations = [one.evaluation for one in individuals if one.evaluation.outcome is not Outcome.CANCELLED]
        return UsageRecord(
            tenant=tenant,
            since=since,
            until=until,
            runs=len(runs),
            active_runs=self.active_runs(tenant),
            proposals=sum(one.proposals for one in counters),
            answers=sum(one.answers for one in counters),
            evaluations=len(evaluations),
            evaluation_seconds=0.0,
            tokens_input=sum(one.tokens_input for one in counters),
            tokens_cached=sum(one.tokens_cached for one in counters),
            tokens_output=sum(one.tokens_output for one in counters),
        )


class MemoryKeys:
    """The port KeyStore."""

    def __init__(self) -> None:
        self._records: dict[str, KeyRecord] = {}
        self._hashes: dict[str, str] = {}

    def add(self, record: KeyRecord, key_hash: str) -> None:
        self._records[record.id] = record
        self._hashes[key_hash] = record.id

    def find(self, key_hash: str) -> KeyRecord | None:
        return self._records.get(self._hashes.get(key_hash, ""))

    def has_beginning(self, shown: str) -> bool:
        return any(record.shown == shown for record in self._records.values())

    def keys(self, tenant: str, after: str = "", limit: int = 50) -> list[KeyRecord]:
        found = [one for one in self._records.values() if one.tenant == tenant and one.id > after]
        return sorted(found, key=lambda record: record.id)[:limit]

    def revoke(self, tenant: str | None, key_id: str, at: datetime) -> KeyRecord:
        record = self._records.get(key_id)
        if record is None or tenant not in (None, record.tenant):
            raise NotFoundError(f"there is no key {key_id}")
        self._records[key_id] = replace(record, revoked_at=record.revoked_at or at)
        return self._records[key_id]

    def used(self, key_id: str, at: datetime) -> None:
        record = self._records.get(key_id)
        if record is not None and (record.last_used_at is None or at - record.last_used_at >= timedelta(minutes=1)):
            self._records[key_id] = replace(record, last_used_at=at)


class MemoryAuditLog:
    """The port AuditLog."""

    def __init__(self) -> None:
        self.written: list[AuditEntry] = []

    def write(self, entry: AuditEntry) -> None:
        self.written.append(entry)

    def entries(self, tenant: str, before: str = "", limit: int = 50) -> list[AuditEntry]:
        found = [one for one in reversed(self.written) if one.tenant == tenant and (not before or one.id < before)]
        return found[:limit]


class MemoryDeletions:
    """The port Deletions; each step removes one run."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage

    def advance(self) -> bool:
        marked = [run_id for run_id, run in self._storage.runs.items() if run.marked]
        if marked:
            self.remove(marked[0])
        return bool(marked)

    def remove(self, run_id: str) -> None:
        run = self._storage.runs.get(run_id)
        if run is not None and run.marked:
            del self._storage.runs[run_id]
