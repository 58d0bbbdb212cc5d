"""Lineage on a database: the line to the seed, what descends from a candidate, the way from one to another."""

from collections import deque
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, and_, func, literal, select
from sqlalchemy.orm import aliased

from service.db.identifiers import chunks
from service.db.models import CandidateRow, ParentRow
from service.db.row_mappers import AnySelect
from service.db.scope import TenantScope

INSPIRATION = "inspiration"  # the one role that is no descent


def line(connection: Connection, candidate_id: str) -> list[str]:
    """Ids along the first parents, the candidate's own first."""
    start = select(CandidateRow.id, literal(0).label("depth")).where(CandidateRow.id == candidate_id)
    steps = start.cte("line", recursive=True)
    edge, other = aliased(ParentRow), aliased(ParentRow)
    first = (
        select(func.min(other.place))
        .where(other.candidate_id == steps.c.id, other.role == "parent")
        .correlate(steps)
        .scalar_subquery()
    )
    above = select(edge.parent_id, steps.c.depth + 1).join(
        steps, and_(edge.candidate_id == steps.c.id, edge.place == first)
    )
    up = steps.union_all(above)
    return list(connection.execute(select(up.c.id).order_by(up.c.depth)).scalars())


def children(candidate_id: str) -> AnySelect:
    """Ids of the candidates that have this one as parent, in crossover too."""
    return select(ParentRow.candidate_id).where(ParentRow.parent_id == candidate_id, ParentRow.role != INSPIRATION)


def descendants(connection: Connection, candidate_id: str, limit: int, scope: TenantScope) -> list[str]:
    """Ids of what descends from a candidate, itself left out, the oldest first.

    Goes on only from those that may be shown: a child is younger than its parents, so that nothing that descends from
    one behind the limit comes before it.
    """
    below = (
        select(CandidateRow.id, CandidateRow.proposal_number, CandidateRow.position)
        .join(ParentRow, ParentRow.candidate_id == CandidateRow.id)
        .where(ParentRow.role != INSPIRATION, scope.under(CandidateRow.run_id))
        .order_by(CandidateRow.proposal_number, CandidateRow.position)
        .distinct()
        .limit(limit)
    )
    places: dict[str, tuple[int, int]] = {}
    oldest, followed, ahead = list[str](), set[str](), [candidate_id]
    while ahead:
        for chunk in chunks(ahead):
            for found in connection.execute(below.where(ParentRow.parent_id.in_(chunk))):
                places[found.id] = (found.proposal_number, found.position)
        followed.update(ahead)
        places.pop(candidate_id, None)
        oldest = sorted(places, key=places.__getitem__)[:limit]
        ahead = [found for found in oldest if found not in followed]
    return oldest


def path(connection: Connection, ancestor_id: str, candidate_id: str, scope: TenantScope) -> list[str]:
    """Ids along a shortest line from a candidate down to another, both included; empty: there is none.

    Among lines of one length the one over earlier parents, seen from below.
    """
    parents = _above(connection, candidate_id, scope)
    below: dict[str, str | None] = {candidate_id: None}
    waiting = deque([candidate_id])
    while waiting and ancestor_id not in below:
        here = waiting.popleft()
        for parent in parents.get(here, ()):
            if parent not in below:
                below[parent] = here
                waiting.append(parent)
    return _down(below, ancestor_id) if ancestor_id in below else []


def _above(connection: Connection, candidate_id: str, scope: TenantScope) -> Mapping[str, Sequence[str]]:
    """Parents in their order, of a candidate and of all that it descends from."""
    edges = select(ParentRow.candidate_id, ParentRow.parent_id, ParentRow.place).where(
        ParentRow.role != INSPIRATION, scope.holds(ParentRow.parent_id)
    )
    steps = edges.where(ParentRow.candidate_id == candidate_id).cte("line", recursive=True)
    # UNION, not UNION ALL: what is reached over several ways is followed once, and a circle ends.
    up = steps.union(edges.join(steps, ParentRow.candidate_id == steps.c.parent_id))
    query = select(up.c.candidate_id, up.c.parent_id).order_by(up.c.candidate_id, up.c.place)
    parents: dict[str, list[str]] = {}
    for child, parent in connection.execute(query):
        parents.setdefault(child, []).append(parent)
    return parents


def _down(below: Mapping[str, str | None], ancestor_id: str) -> list[str]:
    found, here = [ancestor_id], below[ancestor_id]
    while here is not None:
        found.append(here)
        here = below[here]
    return found
