"""A moment of a run in the form in which a service tells of it."""

from service.projections.series import SeriesSample
from service.schemas.series import SeriesPoint


def series_point(moment: SeriesSample) -> SeriesPoint:
    """A moment as it goes over the wire."""
    return SeriesPoint(
        evaluations=moment.evaluations,
        at=moment.at,
        best_fitness=moment.best_fitness,
        best_scores=dict(moment.best_scores),
        valid_share=moment.valid,
        duplicate_share=moment.duplicates,
        rejected_share=moment.rejected,
        hypervolume=moment.hypervolume,
        cells=moment.cells,
        qd_score=moment.qd_score,
        tokens_input=moment.tokens_input,
        tokens_cached=moment.tokens_cached,
        tokens_output=moment.tokens_output,
        cost=moment.cost,
        evaluation_seconds=moment.seconds,
        distinct_share=moment.variety.distinct,
        reward_distance=moment.variety.distance,
        island_entropy=moment.variety.island_entropy,
        outcome_entropy=moment.variety.outcome_entropy,
    )
