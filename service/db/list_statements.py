"""The statements of lists of runs and candidates, built once for each scope and filter.

Building one costs SQLAlchemy more than running it. What differs between two pages of a list is a parameter.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, tuple_

from service.db import filters, orders, records
from service.db.columns import UtcDateTime
from service.db.compact_ids import CompactId
from service.db.models import CandidateRow, RunRow
from service.db.row_mappers import AnySelect
from service.db.scope import TenantScope
from service.ports import CandidateFilter, RunFilter, RunKey

_LIMIT = bindparam("limit", type_=Integer)
_KEPT = 128  # statements of a kind; filters come from outside


@lru_cache(maxsize=_KEPT)
def runs(scope: TenantScope, only: RunFilter, *, oldest_first: bool, continued: bool) -> AnySelect:
    """Runs by the time of their creation, with the parameters of `run_place`; labels are not compared.

    Args:
        scope: which runs are there.
        only: which of them.
        oldest_first: else the newest are.
        continued: whether the list begins behind a run.
    """
    keys = (RunRow.created_at, RunRow.id)
    query = records.RUNS.where(scope.runs(), *filters.of_runs(only))
    if continued:
        seen = tuple_(bindparam("after_at", type_=UtcDateTime()), bindparam("after_id", type_=CompactId()))
        query = query.where(tuple_(*keys) > seen if oldest_first else tuple_(*keys) < seen)
    return query.order_by(*(key.asc() if oldest_first else key.desc() for key in keys)).limit(_LIMIT)


def run_place(after: RunKey | None, limit: int) -> Mapping[str, Any]:
    """The parameters of a page of `runs`."""
    return {"limit": limit} if after is None else {"limit": limit, "after_at": after[0], "after_id": after[1]}


@lru_cache(maxsize=_KEPT)
def by_age(only: CandidateFilter) -> AnySelect:
    """Candidates of a run, the oldest first, with the parameters `run`, `limit` and those of `orders.place`."""
    return orders.by_age(_of_run(only), orders.AGE).limit(_LIMIT)


@lru_cache(maxsize=_KEPT)
def ranked(only: CandidateFilter, *, continued: bool) -> tuple[AnySelect, ...]:
    """Candidates of a run, the fittest first, as statements one after the other, with the parameters of `by_age`."""
    portions = orders.ranked(_of_run(only), orders.RANK if continued else None)
    return tuple(portion.limit(_LIMIT) for portion in portions)


def _of_run(only: CandidateFilter) -> AnySelect:
    return records.CANDIDATES.where(CandidateRow.run_id == bindparam("run"), *filters.of_candidates(only))
