"""Runs of `evolve.run` that are kept in a database, and runs of a database as results."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from evolve.budget import Account
from evolve.configuration import RunConfig
from evolve.event_types import CandidateCreated, EvaluationData, RunCancelled, RunCreated
from evolve.events import Event, Subject
from evolve.money import Money
from evolve.proposal import Individual
from evolve.search.result import INTERRUPTED, EventSummary, Result
from evolve.views.candidate_view import CandidateView
from service.bootstrap.storage import open_existing_storage, open_storage
from service.config import load_settings
from service.errors import ConflictError, NotFoundError
from service.ports import ENDED, LoggedEvent, RunLog, RunRecord, Storage
from service.process.identity import is_gone, this_process
from service.usecases.plan import RunPlan, plan_stored, record_of

LAST = "last"
LEASE_SECONDS, RENEW_SECONDS = 3600.0, 300.0


def storage_url(storage: str | Path) -> str:
    """The URL of a database that is named by a path or a URL."""
    text = str(storage)
    return text if "://" in text else f"sqlite:///{Path(text).expanduser().absolute()}"


class KeptRun:
    """Writes the events of a run into a database as they are decided, as a command does.

    Args:
        storage: the database.
        plan: of the run, with its id.
        config: that it is driven with.
        earlier: what became of it so far; None: it is new.

    Raises:
        ConflictError: the stored run has gone on since, was cancelled, or is driven by somebody else.
    """

    def __init__(self, storage: Storage, plan: RunPlan, config: RunConfig, earlier: Result | None) -> None:
        self._storage, self._run_id = storage, plan.run_id
        now = storage.clock.now()
        try:
            record = storage.reader.run(self._run_id)
        except NotFoundError:
            storage.log.create(record_of(replace(plan, config=config), "", now))
            record = storage.reader.run(self._run_id)
        if earlier is not None and _sequence(earlier) != record.sequence:
            raise ConflictError(
                f"run {self._run_id} was continued or cancelled since this result:"
                " read it by evolve.open_run, or start another"
            )
        self._fence = storage.log.take(self._run_id, this_process(), LEASE_SECONDS, is_gone)
        self._sequence, self._renewed = record.sequence, storage.clock.monotonic()

    def append(self, events: Sequence[Event]) -> None:
        """Keep what was decided. An interrupt leaves the run as it stands, so that it can be continued."""
        now = self._storage.clock.now()
        kept = [event for event in events if not isinstance(event.data, RunCancelled)]
        logged = [
            LoggedEvent(run_id=self._run_id, sequence=sequence, at=now, event=event)
            for sequence, event in enumerate(kept, self._sequence + 1)
        ]
        self._storage.log.append(self._run_id, self._fence, logged)
        self._sequence += len(logged)
        if self._storage.clock.monotonic() - self._renewed > RENEW_SECONDS:
            self._storage.log.renew(self._run_id, self._fence, LEASE_SECONDS)
            self._renewed = self._storage.clock.monotonic()

    def draw(self, candidate_id: str, view: CandidateView) -> None:
        """Keep what was drawn of a candidate on demand."""
        self._storage.views.store(candidate_id, view)

    def close(self) -> None:
        """Let others have the run."""
        self._storage.log.release(self._run_id, self._fence)


@contextmanager
def kept(url: str, plan: RunPlan, config: RunConfig, earlier: Result | None = None) -> Iterator[KeptRun | None]:
    """The run in the database of a URL for as long as it is driven; an empty URL: it is kept nowhere."""
    if not url:
        yield None
        return
    with ExitStack() as stack:
        run = KeptRun(stack.enter_context(open_storage(load_settings(), url)), plan, config, earlier)
        stack.callback(run.close)
        yield run


def _sequence(result: Result) -> int:
    """Of the last event of a result that is stored: behind that of its creation, without an interrupt's."""
    events = [event for event in result.events if not isinstance(event.data, RunCancelled)]
    return len(events) + (0 if events and isinstance(events[0].data, RunCreated) else 1)


def read_run(run_id: str, storage: str | Path | None) -> tuple[Result, RunPlan, str]:
    """A stored run as a result, its plan, and the URL of its database.

    Args:
        run_id: id of the run or a beginning of it; `last`: the newest.
        storage: path or URL of the database; None: that of the settings, where commands keep theirs.

    Raises:
        NotFoundError: there is no such run or database.
    """
    with open_existing_storage(load_settings(), None if storage is None else storage_url(storage)) as opened:
        if run_id == LAST:
            newest = opened.reader.runs(limit=1)
            if not newest:
                raise NotFoundError("the database has no run yet: keep one with evolve.run(..., storage=...)")
            run_id = newest[0].id
        record = opened.reader.run(run_id)
        plan = replace(plan_stored(record, opened.log), labels=record.labels)
        return _result(record, plan, opened.log, opened), plan, opened.url


def _result(record: RunRecord, plan: RunPlan, log: RunLog, storage: Storage) -> Result:
    summary = EventSummary(record.id, plan.problem, plan.config)
    events = [logged.event for logged in log.events(record.id)]
    created = [event.data.candidate_id for event in events if isinstance(event.data, CandidateCreated)]
    scored = [event.data.candidate_id for event in events if isinstance(event.data, EvaluationData)]
    candidates: dict[str, Subject] = {one.id: one for one in log.candidates(record.id, created)}
    individuals: dict[str, Subject] = {
        one.candidate_id: _with_view(one, storage) for one in log.individuals(record.id, scored)
    }
    summary.take(_with_subject(event, candidates, individuals) for event in events)
    counters = record.counters
    account = Account(
        evaluations=counters.evaluations,
        answers=counters.answers,
        tokens=counters.tokens_input + counters.tokens_output,
        money=None if counters.cost is None else Money.read(str(counters.cost)),
        since_best=_since(summary.result("", Account(), 0.0), record.best_candidate_id),
    )
    reason = record.reason if record.state in ENDED else INTERRUPTED
    return summary.result(reason, account, record.active_seconds)


def _with_view(individual: Individual, storage: Storage) -> Individual:
    view = storage.reader.view(individual.candidate_id)
    return replace(individual, evaluation=replace(individual.evaluation, view=view)) if view else individual


def _with_subject(event: Event, candidates: Mapping[str, Subject], individuals: Mapping[str, Subject]) -> Event:
    if isinstance(event.data, CandidateCreated):
        return Event(event.data, candidates.get(event.data.candidate_id))
    if isinstance(event.data, EvaluationData):
        return Event(event.data, individuals.get(event.data.candidate_id))
    return event


def _since(result: Result, best: str | None) -> int:
    """Evaluations since the best was found."""
    order = [one["candidate_id"] for one in result.candidates if one["status"] == "evaluated"]
    return len(order) - 1 - order.index(best) if best in order else len(order)
