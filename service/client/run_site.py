"""Everything that can be read of the runs of a service."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evolve.configuration.learning import MAX_UPDATES
from evolve.events import EventKind
from evolve.search.assessment import Assessment, Audit, HeldOut, Range
from service.client import calls
from service.client.drawing import remote_view
from service.client.reader import RemoteRunReader
from service.ports import CandidateRecord, RunRecord
from service.projections.front import Front
from service.projections.run_site import MAX_POINTS, PointsBehind, RunSite

if TYPE_CHECKING:
    from service.client import Client
    from service.projections.comparison import Order
    from service.schemas.insights import InsightsList
    from service.schemas.series import RunComparison, SeriesPoint
    from service.schemas.votes import Rule, RunVotes


def remote_site(client: "Client", notice: Callable[[Exception], None] | None = None) -> RunSite:
    """Runs with a service."""
    reader = RemoteRunReader(client)

    def weighted(run: RunRecord, weights: Mapping[str, float]) -> tuple[str, float]:
        words = ",".join(f"{name}={weight!r}" for name, weight in weights.items())
        best = client.send(calls.get_best(run.id, weights=words))
        return best.candidate.id, best.value or 0.0

    def front(run: RunRecord) -> Front | None:
        if len(run.objectives) < 2:
            return None
        page = client.send(calls.list_front(run.id, limit=1))
        return Front(size=page.size, hypervolume=page.hypervolume, exact=page.exact)

    def compare(run_ids: Sequence[str], order: "Order") -> "RunComparison":
        about = calls.compare_runs(run_ids, over=order.over, by=order.by, names=order.names, budgets=order.budgets)
        return client.send(about)

    def points(run: RunRecord) -> PointsBehind:
        def behind(evaluations: int) -> "Sequence[SeriesPoint]":
            found = client.send(calls.get_run_metrics(run.id, points=MAX_POINTS)).points
            return [point for point in found if point.evaluations > evaluations]

        return behind

    def votes(run: RunRecord, rule: "Rule", min_share: float) -> "RunVotes":
        return client.send(calls.get_run_votes(run.id, rule=rule, min_share=min_share))

    def insights(run: RunRecord) -> "InsightsList":
        return client.send(calls.list_insights(run.id))

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
        points=points,
        statistics=lambda run: client.send(calls.get_run_statistics(run.id)),
        failures=lambda run: client.send(calls.get_run_failures(run.id)),
        insights=insights,
        updates=partial(_updates, client),
        votes=votes,
        search=search,
        events=events,
        drawn=partial(remote_view, client),
    )


def _assessed(client: "Client", run: RunRecord) -> Assessment | None:
    told = client.send(calls.get_assessment(run.id))
    if not told.holdout and told.audit is None:
        return None
    audit = told.audit and told.audit.model_dump(exclude={"holds", "sentence", "ranges", "failed"})
    ranges = [Range(**one.model_dump()) for one in told.audit.ranges] if told.audit else ()
    return Assessment(
        holdout=tuple(HeldOut(**one.model_dump(exclude={"difference"})) for one in told.holdout),
        audit=Audit(**audit, ranges=tuple(ranges), failed=tuple(told.audit.failed)) if told.audit and audit else None,
    )


def _updates(client: "Client", run: RunRecord) -> Sequence[Mapping[str, Any]]:
    kinds = [str(EventKind.POLICY_UPDATED)]
    return client.send(calls.list_events(run.id, kinds=kinds, limit=MAX_UPDATES)).items
