"""The orders in which candidates are read, page by page: by age, and by fitness."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Double, Integer, bindparam, literal, tuple_

from service.db.models import CandidateRow
from service.db.row_mappers import AnySelect
from service.ports import CandidateKey

# Places that a statement has as parameters, for `by_age` and for `ranked`: see `place`.
AGE = (bindparam("after_number", type_=Integer), bindparam("after_position", type_=Integer))
RANK = (bindparam("after_fitness", type_=Double), *AGE)
_Place = CandidateKey | tuple[ColumnElement[Any], ...]


def place(after: CandidateKey | None) -> Mapping[str, float]:
    """The parameters of `AGE` or `RANK` for a place."""
    return {} if after is None else {key.key: value for key, value in zip(RANK[-len(after) :], after, strict=True)}


def behind(after: Sequence[float | ColumnElement[Any]]) -> ColumnElement[bool]:
    """Those that come after a place, by age."""
    return tuple_(CandidateRow.proposal_number, CandidateRow.position) > tuple_(
        *(_element(part, Integer) for part in after)
    )


def by_age(every: AnySelect, after: _Place | None) -> AnySelect:
    """Candidates, the oldest first."""
    following = every if after is None else every.where(behind(after))
    return following.order_by(CandidateRow.proposal_number, CandidateRow.position)


def ranked(every: AnySelect, after: _Place | None) -> list[AnySelect]:
    """Those that have a fitness, the fittest first, as statements one after the other."""
    if after is None:
        portions = [every.where(CandidateRow.fitness.is_not(None))]
    else:
        # Two seeks into the index instead of a walk over all that are as good.
        fitness = _element(after[0], Double)
        ties = every.where(CandidateRow.fitness == fitness, behind(after[1:]))
        portions = [ties, every.where(CandidateRow.fitness < fitness)]
    return [
        one.order_by(CandidateRow.fitness.desc(), CandidateRow.proposal_number, CandidateRow.position)
        for one in portions
    ]


def _element(part: float | ColumnElement[Any], kind: type[Integer | Double[float]]) -> ColumnElement[Any]:
    return part if isinstance(part, ColumnElement) else literal(part, kind)
