"""Which answer the candidates of a run agree on."""

from evolve.statistics.voting import VoteCount, VoteTable, decide
from service.schemas.votes import AnswerVotes, Rule, RunVotes

MAX_LISTED = 200


def judge(run_id: str, poll: VoteTable, rule: Rule, min_share: float) -> RunVotes:
    """What a rule makes of the votes of a run; of many answers the first."""
    verdict = decide(poll, rule, min_share)
    items = [_listed(tally, poll.votes) for tally in verdict.ranking[:MAX_LISTED]]
    return RunVotes(
        run_id=run_id,
        rule=rule,
        min_share=min_share,
        votes=poll.votes,
        answers=poll.answers,
        winner=None if verdict.winner is None else items[0],
        confidence=verdict.confidence,
        items=items,
        omitted=poll.answers - len(items),
    )


def _listed(tally: VoteCount, votes: int) -> AnswerVotes:
    return AnswerVotes(
        answer=tally.answer,
        votes=tally.votes,
        share=tally.votes / votes,
        weight=tally.weight,
        best_fitness=tally.fitness,
        best_candidate_id=tally.candidate_id,
    )
