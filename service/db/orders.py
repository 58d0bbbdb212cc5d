"""The orders in which candidates are read, page by page: by age, and by fitness."""

from sqlalchemy import ColumnElement, Double, Integer, literal, tuple_

from service.db.models import CandidateRow
from service.db.row_mappers import AnySelect
from service.ports import CandidateKey


def behind(number: int, position: int) -> ColumnElement[bool]:
    """Those that come after a candidate, by age."""
    return tuple_(CandidateRow.proposal_number, CandidateRow.position) > tuple_(
        literal(number, Integer), literal(position, Integer)
    )


def by_age(every: AnySelect, after: CandidateKey | None) -> AnySelect:
    """Candidates, the oldest first."""
    following = every if after is None else every.where(behind(*after))
    return following.order_by(CandidateRow.proposal_number, CandidateRow.position)


def ranked(every: AnySelect, after: CandidateKey | None) -> list[AnySelect]:
    """Those that have a fitness, the fittest first, as statements one after the other."""
    if after is None:
        portions = [every.where(CandidateRow.fitness.is_not(None))]
    else:
        # Two seeks into the index instead of a walk over all that are as good.
        fitness = literal(after[0], Double)
        ties = every.where(CandidateRow.fitness == fitness, behind(*after[1:]))
        portions = [ties, every.where(CandidateRow.fitness < fitness)]
    return [
        one.order_by(CandidateRow.fitness.desc(), CandidateRow.proposal_number, CandidateRow.position)
        for one in portions
    ]
