"""What a run came to, in numbers: `docs/reference/metrics.md` says what each of them is."""

from collections.abc import Mapping, Sequence

import numpy as np

from evolve.statistics.answer_sets import (
    classes_by_reward,
    collinearity,
    collinearity_warning,
    distinct_k,
    mean_pairwise_l1,
    mean_pairwise_l2,
)
from service.ports import RunReader, RunRecord
from service.projections.answers import chain_diversity, of_answers, of_chains, threshold_of
from service.projections.columns import Columns, Floats
from service.projections.costs import Cost
from service.projections.grid import cover
from service.projections.migrants import migration_gains
from service.projections.money import money_share
from service.projections.program_diversity import program_diversity
from service.projections.prompts import prompt_yields
from service.projections.ranking import rank_front
from service.projections.series import Success, finite_or_none, successes
from service.schemas.statistics import Collinearity, RewardDiversity, RunStatistics, Yield

MAX_REWARDS = 2000
DRAWN_WITH = 0
MILLION = 1_000_000


def fold_statistics(reader: RunReader, columns: Columns, run: RunRecord) -> RunStatistics:
    """The statistics of a run as it is now.

    What would take the square of many candidates is of a sample that is always drawn alike; each says of how many.
    """
    fitness = columns.fitness
    valid = ~np.isnan(fitness)
    front = rank_front(columns).measured if len(columns.names) > 1 else None
    covered = cover(columns) if len(columns) else None
    rewards = columns.rewards
    rewards = rewards[np.isfinite(rewards).all(axis=1)]
    threshold, source = threshold_of(run)
    return RunStatistics(
        run_id=run.id,
        evaluations=len(columns),
        valid=int(valid.sum()),
        duplicates=run.counters.duplicates,
        rejected=run.counters.rejected,
        best_fitness=float(fitness[valid].max()) if valid.any() else None,
        best_at=int(np.nanargmax(fitness)) + 1 if valid.any() else None,
        threshold=threshold,
        threshold_from=source,
        answers=of_answers(columns, run),
        chains=of_chains(columns, run),
        front=front.size if front else None,
        hypervolume=front.hypervolume if front else None,
        hypervolume_exact=front.exact if front else True,
        cells=int(covered[0][-1]) if covered else None,
        coverage=float(covered[0][-1] / columns.partition.size) if covered and columns.partition else None,
        qd_score=finite_or_none(covered[1][-1]) if covered else None,
        rewards=reward_diversity(rewards),
        chain=chain_diversity(columns),
        programs=program_diversity(reader, columns),
        migrations=migration_gains(reader, columns),
        policies=_yields(successes(columns, 1), columns.costs.by_policy()),
        operators=_yields(successes(columns, 0), columns.costs.by_operator()),
        prompts=prompt_yields(reader, run),
        collinearity=_collinearity(rewards),
    )


def reward_diversity(rewards: Floats) -> RewardDiversity:
    """How different reward vectors are: the Euclidean distance of at most `MAX_REWARDS` of them, the rest of all."""
    taken = rewards
    if len(rewards) > MAX_REWARDS:
        drawn = np.random.default_rng(DRAWN_WITH).choice(len(rewards), MAX_REWARDS, replace=False)
        taken = rewards[np.sort(drawn)]
    with np.errstate(over="ignore", invalid="ignore"):  # what is too far apart has no number
        l1, l2 = mean_pairwise_l1(rewards), mean_pairwise_l2(taken)
    several = len(rewards) > 1
    return RewardDiversity(
        valid=len(rewards),
        sampled=len(taken),
        distinct=distinct_k(classes_by_reward(rewards)) if len(rewards) else 0,
        l1=finite_or_none(l1) if several else None,
        l2=finite_or_none(l2) if several else None,
    )


def _collinearity(rewards: Floats) -> Collinearity | None:
    if rewards.shape[1] < 2 or len(rewards) < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        value = collinearity(rewards)
        advice = collinearity_warning(rewards) if np.isfinite(value) else None
    return Collinearity(value=value, advice=advice) if np.isfinite(value) else None


def _yields(found: Sequence[Success], costs: Mapping[str, Cost]) -> list[Yield]:
    brought = {one.name: one for one in found}
    return [_yield(name, brought.get(name), costs.get(name, Cost())) for name in sorted(brought.keys() | costs.keys())]


def _yield(name: str, success: Success | None, cost: Cost) -> Yield:
    tokens, improvements = cost.tokens_input + cost.tokens_output, success.improvements if success else 0
    return Yield(
        name=name,
        answers=cost.answers,
        dropped=cost.dropped,
        recovered=dict(cost.recovered),
        rejected=cost.rejected,
        duplicates=cost.duplicates,
        evaluations=success.evaluations if success else 0,
        valid=success.valid if success else 0,
        improvements=improvements,
        tokens=tokens,
        cost=cost.money,
        tokens_per_improvement=tokens / improvements if improvements else None,
        improvements_per_million_tokens=improvements * MILLION / tokens if tokens else None,
        cost_per_improvement=money_share(cost.money, improvements),
    )
