"""Everything that can be read of the runs of one place, and all of it for a database."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from evolve.events import EventKind
from evolve.repository import Repository
from evolve.search.assessment import Assessment
from evolve.views.candidate_view import CandidateView
from service.ports import ENDED, CandidateKey, CandidateRecord, ResultReader, RunReader, RunRecord
from service.projections.closing import assessment_of
from service.projections.front import Front, measure_front

if TYPE_CHECKING:
    from service.projections.columns import Columns
    from service.projections.comparison import Order
    from service.schemas.export_form import ExportForm
    from service.schemas.failures import RunFailures
    from service.schemas.insights import InsightsList
    from service.schemas.series import RunComparison, SeriesPoint
    from service.schemas.statistics import RunStatistics
    from service.schemas.votes import Rule, RunVotes

POLL_SECONDS = 0.3
MAX_POINTS = 1000
PAGE = 500

PointsBehind = Callable[[int], "Sequence[SeriesPoint]"]


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
        points: opens a run over its evaluations: the points behind some evaluations, at most `MAX_POINTS`, evenly.
        statistics: what a run came to.
        failures: why answers of a run came to nothing.
        insights: the versions of what a run has learnt.
        updates: of the policy within a run, as their events tell them, in order.
        votes: what the candidates of a run answer, by a rule and with the share from which an answer is frequent.
        search: the candidates of a run with a text in their sources, the fittest first, or all in order of age.
        events: what happens in a run, by whole id, behind a sequence number, until it has ended.
        repository: that the programs of a run change; None: they are whole by themselves.
        drawn: the view of a candidate, drawn first where it is drawn on demand; None: its evaluator draws nothing.
    """

    name: str
    reader: ResultReader
    export: "Callable[[str, ExportForm], Iterator[str]]"
    weighted: Callable[[RunRecord, Mapping[str, float]], tuple[str, float]]
    front: Callable[[RunRecord], Front | None]
    assessment: Callable[[RunRecord], Assessment | None]
    compare: "Callable[[Sequence[str], Order], RunComparison]"
    points: "Callable[[RunRecord], PointsBehind]"
    statistics: "Callable[[RunRecord], RunStatistics]"
    failures: "Callable[[RunRecord], RunFailures]"
    insights: "Callable[[RunRecord], InsightsList]"
    updates: Callable[[RunRecord], Sequence[Mapping[str, Any]]]
    votes: "Callable[[RunRecord, Rule, float], RunVotes]"
    search: Callable[[RunRecord, str, bool], Iterator[CandidateRecord]]
    events: Callable[[str, int], Iterator[Mapping[str, Any]]]
    drawn: Callable[[CandidateRecord], CandidateView | None]
    repository: Callable[[RunRecord], Repository | None] = lambda _: None


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
        from service.projections.comparison_reply import compare_stored

        return compare_stored(reader, run_ids, order)

    def points(run: RunRecord) -> PointsBehind:
        from service.projections.columns import Columns

        return partial(_points_behind, reader, Columns(run))

    def statistics(run: RunRecord) -> "RunStatistics":
        from service.projections.columns import columns_of
        from service.projections.statistics import fold_statistics

        return fold_statistics(reader, columns_of(reader, run), run)

    def insights(run: RunRecord) -> "InsightsList":
        from service.projections.insight_versions import insights_list

        return insights_list(reader, run.id)

    def search(run: RunRecord, text: str, ranked: bool) -> Iterator[CandidateRecord]:
        return _searched(reader, run.id, text, ranked=ranked)

    return RunSite(
        name=redacted(url),
        reader=reader,
        export=export,
        weighted=weighted,
        front=front,
        assessment=partial(assessment_of, reader),
        compare=compare,
        points=points,
        statistics=statistics,
        failures=partial(_failures, reader),
        insights=insights,
        updates=partial(_updates, reader),
        votes=partial(_votes, reader),
        search=search,
        events=partial(_polled, reader),
        drawn=lambda candidate: reader.view(candidate.id),
    )


def _failures(reader: RunReader, run: RunRecord) -> "RunFailures":
    from service.projections.failures import group_failures

    return group_failures(run.id, reader.outcomes(run.id))


def _votes(reader: RunReader, run: RunRecord, rule: "Rule", min_share: float) -> "RunVotes":
    from service.projections.votes import judge

    return judge(run.id, reader.poll(run.id), rule, min_share)


def _points_behind(reader: RunReader, columns: "Columns", evaluations: int) -> "Sequence[SeriesPoint]":
    from service.projections.series import moments_behind
    from service.projections.series_point import series_point

    columns.catch_up(reader)
    return [series_point(moment) for moment in moments_behind(columns, evaluations, MAX_POINTS)]


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


def _updates(reader: RunReader, run: RunRecord) -> Sequence[Mapping[str, Any]]:
    return [entry.as_json() for entry in reader.events(run.id, kinds=(str(EventKind.POLICY_UPDATED),))]
