"""Statistics of a run on the wire."""

from typing import Literal

from pydantic import Field

from service.schemas.types import Count, Reply, Spent
from service.schemas.untrusted_text import Foreign

ThresholdSource = Literal["budget", "objective", "seed"]


class AtBudget(Reply):
    """What is to be expected of so many answers, or chains, drawn at random from those of the run."""

    k: Count = Field(description="Number of answers, or chains")
    best: float | None = Field(description="Expected best of the seed and k of them (best@k); null: nothing was valid")
    passed: float = Field(
        description="Probability that one of k passes, as `threshold` says (pass@k); one that failed never does"
    )


class Draws(Reply):
    """best@k and pass@k by budget: k is 1, 2, 4, ... and all."""

    count: Count = Field(description="Of how many")
    at: list[AtBudget] = Field(description="Values by k")


class RewardDiversity(Reply):
    """How different the reward vectors of valid answers are."""

    valid: Count = Field(description="Number of valid answers")
    sampled: Count = Field(description="Of these, by the Euclidean distance; drawn where they are fewer")
    distinct: Count = Field(description="Reward vectors that differ")
    l1: float | None = Field(description="Mean over pairs of the sum of absolute differences; null: fewer than two")
    l2: float | None = Field(description="Mean over pairs of the Euclidean distance; null: fewer than two")


class ChainDiversity(Reply):
    """What a chain holds, in the mean over chains with an evaluated answer."""

    chains: Count = Field(description="Number of chains with an evaluated answer")
    sampled: Count = Field(description="Of these; drawn where they are fewer")
    answers: float = Field(description="Evaluated answers of a chain")
    distinct: float = Field(description="Reward vectors that differ among its valid answers (distinct_k)")
    utility: float = Field(
        description="Fitness, from 0 to 1 over the run, as a reader with patience 0.8 meets it (utility_k)"
    )


class ProgramDiversity(Reply):
    """How different valid programs are: the mean Jaccard distance of their runs of three words, from 0 to 1."""

    sampled: Count = Field(description="Programs, drawn where there are more")
    tokens: float | None = Field(description="Words are tokens; null: fewer than two programs")
    tree: float | None = Field(description="Words are those of the syntax tree; null: these are not Python")


class MigrationGains(Reply):
    """What came of migrants on the islands that they reached."""

    arrivals: Count = Field(description="Pairs of a candidate and an island that it reached by migration")
    used: Count = Field(description="Of these, that had an evaluated descendant there")
    gained: Count = Field(description="Of these, that had a descendant there better than all the island had")
    improvements: Count = Field(description="Such descendants")


class Yield(Foreign):
    """What came of asking one policy, or for one operator."""

    name: str = Field(description="Name of the policy or operator")
    answers: Count = Field(description="Of proposals that were answered; duplicates and rejected ones among them")
    dropped: Count = Field(description="Parts of completions in which no answer could be read")
    recovered: dict[str, Count] = Field(
        description="Answers that were not written as asked and made a program all the same, by kind"
    )
    rejected: Count = Field(description="Answers that made no program, or one too near to others")
    duplicates: Count = Field(description="Answers that repeat a program of the run")
    evaluations: Count = Field(description="Number of candidates that were evaluated")
    valid: Count = Field(description="Number of evaluations with the outcome `ok`")
    improvements: Count = Field(description="How many became the best of the run")
    tokens: Count = Field(description="Tokens read and written")
    cost: Spent | None = Field(description="Null: some of it is not known")
    tokens_per_improvement: float | None = Field(description="Tokens for each improvement; null: there was none")
    improvements_per_million_tokens: float | None = Field(description="Null: there were no tokens")
    cost_per_improvement: str | None = Field(
        description="Cost of each improvement; null: there was none, or the cost is not known",
    )


class Collinearity(Reply):
    """Whether objectives say the same."""

    value: float = Field(description="Mean squared correlation of two objectives over valid answers, from 0 to 1")
    advice: str | None = Field(description="Null: they differ enough for selecting under many weights to pay")


class RunStatistics(Reply):
    """What a run came to, in numbers."""

    run_id: str = Field(description="Id of the run")
    evaluations: Count = Field(description="Number of candidates that were evaluated")
    valid: Count = Field(description="Number of evaluations with the outcome `ok`")
    duplicates: Count = Field(description="Number of answers that repeat a program of the run")
    rejected: Count = Field(description="Number of answers that were refused before evaluation")
    best_fitness: float | None = Field(description="Highest fitness; null: nothing was valid")
    best_at: Count | None = Field(description="Evaluations until the best came")
    threshold: float | None = Field(
        description="An answer passes from this fitness on; null: better than the best seed"
    )
    threshold_from: ThresholdSource = Field(
        description="Where that is from: `budget.target`, the target of the one objective, or the best seed"
    )
    answers: Draws = Field(description="best@k and pass@k of answers")
    chains: Draws = Field(description="best@k and pass@k of chains")
    front: Count | None = Field(description="Candidates that no other dominates; null: there is one objective")
    hypervolume: float | None = Field(description="Null: objectives lack bounds, or there is but one")
    hypervolume_exact: bool = Field(description="Whether the hypervolume is computed, not sampled")
    cells: Count | None = Field(description="Filled; null: there are no measures")
    coverage: float | None = Field(description="Share of the cells that are filled")
    qd_score: float | None = Field(description="Sum of the fitness over the filled cells; null: there are no measures")
    rewards: RewardDiversity = Field(description="Diversity of the reward vectors")
    chain: ChainDiversity | None = Field(description="Null: no answer was evaluated")
    programs: ProgramDiversity = Field(description="Diversity of the programs")
    migrations: MigrationGains = Field(description="Gains by migration")
    policies: list[Yield] = Field(description="Yield by policy")
    operators: list[Yield] = Field(description="Yield by operator")
    collinearity: Collinearity | None = Field(description="Null: there are fewer than two objectives, or valid answers")
