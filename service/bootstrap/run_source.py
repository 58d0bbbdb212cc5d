"""Where runs are: in a database, or with a service; the same doors to both."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolve.search.assessment import Assessment, Audit, HeldOut, Range
from service.bootstrap.storage import database_url, open_reader
from service.errors import RefusedError, UsageError
from service.ports import ENDED, CandidateKey, CandidateRecord, ResultReader, RunReader, RunRecord
from service.projections.closing import assessment_of
from service.projections.front import Front, measure_front

if TYPE_CHECKING:
    from service.client import Client
    from service.config import Settings
    from service.projections.comparison import Order
    from service.schemas.artifacts import ExportForm
    from service.schemas.failures import RunFailures
    from service.schemas.series import RunComparison
    from service.schemas.statistics import RunStatistics
    from service.schemas.votes import Rule, RunVotes

SERVER_VARIABLE, KEY_VARIABLE = "EVOLVE_SERVER", "EVOLVE_API_KEY_FILE"
POLL_SECONDS = 0.3
PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What a command was told of where runs are; None: what environment and settings say.

    Attributes:
        db: a database.
        server: address of a service; empty: none, whatever the settings say.
        key_file: file with a key of the service.
        notice: is told of a service on this machine that is used, or has gone; None: nobody is.
    """

    db: str | None = None
    server: str | None = None
    key_file: Path | None = None
    notice: Callable[[str], None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChoice:
    """A service that a command speaks to.

    Attributes:
        found: whether nobody named it: it is this user's, on this machine.
    """

    url: str
    key: str = field(repr=False)
    found: bool = False

    def client(self) -> "Client":
        """A client of it; nothing is asked of it yet."""
        from service.client import Client

        return Client(self.url, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSite:
    """A place where runs are.

    Attributes:
        name: of the place, as it may be shown.
        export: the lines of a run's export in a form, by whole id.
        weighted: the best candidate under weights, and what it is worth.
        front: what the Pareto front of a run is worth; None where it has but one objective.
        assessment: what came of examining what a run found; None where nothing did.
        compare: runs side by side, by whole ids, as they are ordered.
        statistics: what a run came to.
        failures: why answers of a run came to nothing.
        votes: what the candidates of a run answer, by a rule and with the share from which an answer is frequent.
        search: the candidates of a run with a text in their sources, the fittest first, or all in order of age.
        events: what happens in a run, by whole id, behind a sequence number, until it has ended.
    """

    name: str
    reader: ResultReader
    export: "Callable[[str, ExportForm], Iterator[str]]"
    weighted: Callable[[RunRecord, Mapping[str, float]], tuple[str, float]]
    front: Callable[[RunRecord], Front | None]
    assessment: Callable[[RunRecord], Assessment | None]
    compare: "Callable[[Sequence[str], Order], RunComparison]"
    statistics: "Callable[[RunRecord], RunStatistics]"
    failures: "Callable[[RunRecord], RunFailures]"
    votes: "Callable[[RunRecord, Rule, float], RunVotes]"
    search: Callable[[RunRecord, str, bool], Iterator[CandidateRecord]]
    events: Callable[[str, int], Iterator[Mapping[str, Any]]]


def server_of(settings: "Settings", where: SourceOptions) -> str:
    """The address of the service to speak to; empty: none, runs are in a database.

    Raises:
        UsageError: a database and a service are named.
    """
    if where.db is not None:
        if where.server:
            raise UsageError("--db and --server exclude each other: leave out one of them")
        return ""
    if where.server is not None:
        return where.server
    return os.environ.get(SERVER_VARIABLE) or settings.server.url


def choose_service(settings: "Settings", where: SourceOptions, *, said: bool = True) -> ServiceChoice | None:
    """The service to speak to: the one that is named, else the one of this user that serves the database here.

    Args:
        settings: of this installation.
        where: what a command was told.
        said: whether it is said that one was found; that one has gone always is.

    Raises:
        UsageError: a database and a service are named, or the key cannot be used.
        RefusedError: somebody else could have written what was found.
    """
    if server := server_of(settings, where):
        return ServiceChoice(url=server, key=server_key(settings, where))
    if where.db is not None or where.server is not None:
        return None
    from service.bootstrap.local_service import find_local_service, forget_ended_service

    database = database_url(settings, None)
    found = find_local_service(database)
    if found is None:
        return None
    if found.outage:
        if where.notice is not None:
            where.notice(f"{found.outage}: continuing without it")
            forget_ended_service(database)  # so that it is said once
        return None
    if said and where.notice is not None:
        where.notice(f"using your service at {found.url} (leave it out with --local)")
    return ServiceChoice(url=found.url, key=found.key, found=True)


@contextmanager
def advising_local(service: ServiceChoice | None) -> Iterator[None]:
    """Where a service that nobody named does not take something, say how to do without it."""
    try:
        yield
    except (UsageError, RefusedError) as error:
        if service is None or not service.found:
            raise
        raise type(error)(f"{error}. Or add --local to leave out your service") from error


def server_key(settings: "Settings", where: SourceOptions) -> str:
    """The key of a service that is named.

    Raises:
        UsageError: none is, or its file holds none.
    """
    from service.bootstrap.key_file import key_in

    named = os.environ.get(KEY_VARIABLE)
    path = where.key_file or (Path(named) if named else settings.server.key_file)
    if path is None:
        raise UsageError(
            f"the service needs a key: name its file with --api-key-file FILE, {KEY_VARIABLE} or the setting"
            f" server.key_file"
        )
    return key_in(path)


@contextmanager
def open_site(settings: "Settings", where: SourceOptions) -> Iterator[RunSite]:
    """The place where runs are, for reading.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where, said=False):
        with service.client() as client:
            yield remote_site(client)
        return
    with open_reader(settings, where.db) as reader:
        yield stored_site(reader, database_url(settings, where.db))


def stored_site(reader: RunReader, url: str) -> RunSite:
    """Runs in a database."""
    from service.config import redacted

    def export(run_id: str, form: "ExportForm") -> Iterator[str]:
        from service.projections.export import lines_of

        return lines_of(reader, reader.run(run_id), form)

    def weighted(run: RunRecord, weights: Mapping[str, float]) -> tuple[str, float]:
        from service.projections.columns import columns_of
        from service.projections.weighted import weighted_best

        return weighted_best(columns_of(reader, run), weights)

    def front(run: RunRecord) -> Front | None:
        return measure_front(run, [one.rewards for one in reader.front(run.id)]) if len(run.objectives) > 1 else None

    def compare(run_ids: Sequence[str], order: "Order") -> "RunComparison":
        from service.bootstrap.comparison import compare_stored

        return compare_stored(reader, run_ids, order)

    def statistics(run: RunRecord) -> "RunStatistics":
        from service.projections.columns import columns_of
        from service.projections.statistics import fold_statistics

        return fold_statistics(reader, columns_of(reader, run), run)

    def failures(run: RunRecord) -> "RunFailures":
        from service.projections.failures import group_failures

        return group_failures(run.id, reader.outcomes(run.id))

    def votes(run: RunRecord, rule: "Rule", min_share: float) -> "RunVotes":
        from service.projections.votes import judge

        return judge(run.id, reader.poll(run.id), rule, min_share)

    def search(run: RunRecord, text: str, ranked: bool) -> Iterator[CandidateRecord]:
        return _searched(reader, run.id, text, ranked=ranked)

    def events(run_id: str, after: int) -> Iterator[Mapping[str, Any]]:
        return _polled(reader, run_id, after)

    return RunSite(
        name=redacted(url),
        reader=reader,
        export=export,
        weighted=weighted,
        front=front,
        assessment=partial(assessment_of, reader),
        compare=compare,
        statistics=statistics,
        failures=failures,
        votes=votes,
        search=search,
        events=events,
    )


def remote_site(client: "Client", notice: Callable[[Exception], None] | None = None) -> RunSite:
    """Runs with a service."""
    from service.client import calls
    from service.client.reader import RemoteRunReader

    reader = RemoteRunReader(client)

    def weighted(run: RunRecord, weights: Mapping[str, float]) -> tuple[str, float]:
        words = ",".join(f"{name}={weight!r}" for name, weight in weights.items())
        best = client.send(calls.get_best(run.id, words))
        return best.candidate.id, best.value or 0.0

    def front(run: RunRecord) -> Front | None:
        if len(run.objectives) < 2:
            return None
        page = client.send(calls.list_front(run.id, limit=1))
        return Front(size=page.size, hypervolume=page.hypervolume, exact=page.exact)

    def compare(run_ids: Sequence[str], order: "Order") -> "RunComparison":
        about = calls.compare_runs(run_ids, over=order.over, by=order.by, names=order.names, budgets=order.budgets)
        return client.send(about)

    def statistics(run: RunRecord) -> "RunStatistics":
        return client.send(calls.get_run_statistics(run.id))

    def failures(run: RunRecord) -> "RunFailures":
        return client.send(calls.get_run_failures(run.id))

    def votes(run: RunRecord, rule: "Rule", min_share: float) -> "RunVotes":
        return client.send(calls.get_run_votes(run.id, rule=rule, min_share=min_share))

    def search(run: RunRecord, text: str, ranked: bool) -> Iterator[CandidateRecord]:
        return reader.search(run.id, text, ranked=ranked)

    def events(run_id: str, after: int) -> Iterator[Mapping[str, Any]]:
        return client.stream(run_id, after, notice=notice)

    return RunSite(
        name=client.server,
        reader=reader,
        export=reader.export,
        weighted=weighted,
        front=front,
        assessment=lambda run: _assessed(client, run),
        compare=compare,
        statistics=statistics,
        failures=failures,
        votes=votes,
        search=search,
        events=events,
    )


def _assessed(client: "Client", run: RunRecord) -> Assessment | None:
    from service.client import calls

    told = client.send(calls.get_assessment(run.id))
    if not told.holdout and told.audit is None:
        return None
    audit = told.audit and told.audit.model_dump(exclude={"holds", "sentence", "ranges", "failed"})
    ranges = [Range(**one.model_dump()) for one in told.audit.ranges] if told.audit else ()
    return Assessment(
        holdout=tuple(HeldOut(**one.model_dump(exclude={"difference"})) for one in told.holdout),
        audit=Audit(**audit, ranges=tuple(ranges), failed=tuple(told.audit.failed)) if told.audit and audit else None,
    )


def _searched(reader: RunReader, run_id: str, text: str, *, ranked: bool) -> Iterator[CandidateRecord]:
    """Candidates with a text in their sources, a portion of the run at a time."""
    reached: CandidateKey | None = None
    while True:
        found = reader.search(run_id, text, PAGE, reached, ranked=ranked)
        yield from found.candidates
        reached = found.reached
        if reached is None:
            return


def _polled(reader: RunReader, run_id: str, after: int) -> Iterator[Mapping[str, Any]]:
    """Events of a run in a database, looked for a few times a second."""
    while True:
        sequence, state = reader.sequences([run_id]).get(run_id, (0, "cancelled"))
        while after < sequence:
            for event in reader.events(run_id, after, PAGE):
                after = event.sequence
                yield event.as_json()
        if state in ENDED:
            return
        time.sleep(POLL_SECONDS)
