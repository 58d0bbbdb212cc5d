"""The votes of a run, counted by the database: what comes back is a line for each answer, not for each candidate."""

from sqlalchemy import Connection, Double, Subquery, case, func, or_, select
from sqlalchemy.orm import aliased

from evolve.statistics.voting import VoteCount, VoteTable
from service.db.models import CandidateRow, EvaluationRow

MAX_ANSWERS = 1000
_PLACES = ("by_votes", "by_weight", "by_fitness")


def poll(connection: Connection, run_id: str, maximum: int = MAX_ANSWERS) -> VoteTable:
    """The votes of a run.

    Each evaluated candidate votes, and so does one that repeats the program of another, for what that one answered: how
    often an answer came is what a majority is about.

    Args:
        connection: in a transaction.
        run_id: whole.
        maximum: answers at most by each of votes, weight and fitness, so that no rule's first places are missing.
    """
    found = _placed(_counted(_cast(run_id)))
    query = select(*found.c).where(or_(*(found.c[place] <= maximum for place in _PLACES)))
    rows = connection.execute(query).mappings().all()
    tallies = [
        VoteCount(
            answer=row["answer"],
            votes=row["votes"],
            weight=row["weight"],
            fitness=row["fitness"],
            candidate_id=row["id"],
            age=(row["proposal_number"], row["position"]),
        )
        for row in rows
    ]
    return VoteTable(
        tallies=tallies, votes=int(rows[0]["all_votes"]) if rows else 0, answers=rows[0]["answers"] if rows else 0
    )


def _cast(run_id: str) -> Subquery:
    """A row a vote: the answer, the candidate whose program gave it, and its fitness scaled over all votes."""
    held = aliased(CandidateRow)
    fitness = held.fitness
    low, high = func.min(fitness).over(), func.max(fitness).over()
    scaled = case((fitness.is_(None), 0.0), (high > low, (fitness - low) / (high - low)), else_=1.0)
    return (
        select(EvaluationRow.answer, fitness, held.id, held.proposal_number, held.position, scaled.label("scaled"))
        .select_from(CandidateRow)
        .join(held, held.id == func.coalesce(CandidateRow.duplicate_of, CandidateRow.id))
        .join(EvaluationRow, (EvaluationRow.candidate_id == held.id) & (EvaluationRow.attempt == held.attempt))
        .where(CandidateRow.run_id == run_id, EvaluationRow.answer.is_not(None))
        .subquery()
    )


def _counted(cast: Subquery) -> Subquery:
    """A row a vote, with what all votes for its answer come to; `place` 1 is that of the answer's best candidate."""
    answer, best = cast.c.answer, (cast.c.fitness.desc().nulls_last(), cast.c.proposal_number, cast.c.position)
    return select(
        *cast.c,
        func.count().over(partition_by=answer).label("votes"),
        func.sum(cast.c.scaled, type_=Double).over(partition_by=answer).label("weight"),
        func.row_number().over(partition_by=answer, order_by=best).label("place"),
    ).subquery()


def _placed(counted: Subquery) -> Subquery:
    """A row an answer, with its places and with what all answers come to."""
    own = counted.c
    best = (own.fitness.desc().nulls_last(), own.proposal_number, own.position)
    orders = ((own.votes.desc(), *best), (own.weight.desc(), *best), best)
    return (
        select(
            *own,
            func.sum(own.votes).over().label("all_votes"),
            func.count().over().label("answers"),
            *(
                func.row_number().over(order_by=order).label(place)
                for place, order in zip(_PLACES, orders, strict=True)
            ),
        )
        .where(own.place == 1)
        .subquery()
    )
