"""Statistics of a run on the wire."""

from typing import Literal

from pydantic import Field

from service.schemas.types import Count, Reply, Spent
from service.schemas.untrusted_text import Foreign

ThresholdSource = Literal["budget", "objective", "seed"]


class AtBudget(Reply):
    """Expected results of k answers or chains, drawn at random from those of the run."""

    k: Count = Field(description="Number of answers, or chains")
    best: float | None = Field(description="Expected best of the seed and k of them (best@k). Null: no valid candidate")
    passed: float = Field(
        description="Probability that one of k passes, by `threshold` (pass@k). A failed answer never passes"
    )


class Draws(Reply):
    """best@k and pass@k by budget: k is 1, 2, 4, ... and all."""

    count: Count = Field(description="Size of the whole")
    at: list[AtBudget] = Field(description="Values by k")


class RewardDiversity(Reply):
    """Diversity of the reward vectors of valid answers."""

    valid: Count = Field(description="Number of valid answers")
    sampled: Count = Field(description="Number of these for the Euclidean distance. If fewer, a random sample")
    distinct: Count = Field(description="Reward vectors that differ")
    l1: float | None = Field(description="Mean over pairs of the sum of absolute differences. Null: fewer than two")
    l2: float | None = Field(description="Mean over pairs of the Euclidean distance. Null: fewer than two")


class ChainDiversity(Reply):
    """Means over chains with an evaluated answer."""

    chains: Count = Field(description="Number of chains with an evaluated answer")
    sampled: Count = Field(description="Number of these in the means. If fewer, a random sample")
    answers: float = Field(description="Evaluated answers of a chain")
    distinct: float = Field(description="Reward vectors that differ among its valid answers (distinct_k)")
    utility: float = Field(description="Scaled fitness for a reader with patience 0.8 (utility_k)")


class ProgramDiversity(Reply):
    """Diversity of valid programs: the mean Jaccard distance of their triples of words, from 0 to 1."""

    sampled: Count = Field(description="Number of programs. If there are more, a random sample")
    tokens: float | None = Field(description="Mean Jaccard distance of token triples. Null: fewer than two programs")
    tree: float | None = Field(description="Mean Jaccard distance over syntax trees. Null: these are not Python")


class MigrationGains(Reply):
    """Results of migrants on the islands that they reached."""

    arrivals: Count = Field(description="Pairs of a candidate and an island that it reached by migration")
    used: Count = Field(description="Number of these with an evaluated descendant there")
    gained: Count = Field(description="Number of these with a descendant there that beat all of the island")
    improvements: Count = Field(description="Number of such descendants")


class Yield(Foreign):
    """The yield of a policy or of an operator."""

    name: str = Field(description="Name of the policy or operator")
    answers: Count = Field(description="Answers of answered proposals, including duplicates and rejected answers")
    dropped: Count = Field(description="Parts of completions in which no answer could be read")
    recovered: dict[str, Count] = Field(
        description="Answers not written as requested that still made a program, by kind"
    )
    rejected: Count = Field(description="Answers that made no program, or a program too near to others")
    duplicates: Count = Field(description="Answers that repeat a program of the run")
    evaluations: Count = Field(description="Number of candidates that were evaluated")
    valid: Count = Field(description="Number of evaluations with the outcome `ok`")
    improvements: Count = Field(description="Number that became the best of the run")
    tokens: Count = Field(description="Tokens read and written")
    cost: Spent | None = Field(description="Null: partly unknown")
    tokens_per_improvement: float | None = Field(description="Tokens for each improvement. Null: no improvement")
    improvements_per_million_tokens: float | None = Field(description="Null: no tokens")
    cost_per_improvement: str | None = Field(
        description="Cost of each improvement. Null: no improvement, or unknown cost",
    )


class PromptYield(Foreign):
    """A prompt of the pool with what it has brought."""

    number: Count = Field(description="Number of the proposal that wrote it. 0: the configured texts")
    parent: Count | None = Field(
        description="Number of the prompt that it was written from. Null: the configured texts"
    )
    problem: str = Field(description="Text of the problem. Empty: the configured one")
    request: str = Field(description="Words of the request. Empty: the configured ones")
    proposals: Count = Field(description="Number of proposals that had it")
    evaluations: Count = Field(description="Number of their candidates that were evaluated")
    gain: float = Field(description="Mean gain of these over their parents, as a share of the largest of late")
    retired: bool = Field(description="Whether another prompt took its place")


class Collinearity(Reply):
    """Whether objectives say the same."""

    value: float = Field(description="Mean squared correlation of two objectives over valid answers, from 0 to 1")
    advice: str | None = Field(description="Null: they differ enough for selecting under many weights to pay")


class RunStatistics(Reply):
    """Statistics of a run."""

    run_id: str = Field(description="Id of the run")
    evaluations: Count = Field(description="Number of candidates that were evaluated")
    valid: Count = Field(description="Number of evaluations with the outcome `ok`")
    duplicates: Count = Field(description="Number of answers that repeat a program of the run")
    rejected: Count = Field(description="Number of answers that were refused before evaluation")
    best_fitness: float | None = Field(description="Highest fitness. Null: no valid candidate")
    best_at: Count | None = Field(description="Number of evaluations until the best")
    threshold: float | None = Field(
        description="Minimum fitness of an answer that passes. Null: better than the best seed"
    )
    threshold_from: ThresholdSource = Field(
        description="Source of the threshold: `budget.target`, the target of the only objective, or the best seed"
    )
    answers: Draws = Field(description="best@k and pass@k of answers")
    chains: Draws = Field(description="best@k and pass@k of chains")
    front: Count | None = Field(description="Candidates that no other dominates. Null: a single objective")
    hypervolume: float | None = Field(description="Null: objectives lack bounds, or a single objective")
    hypervolume_exact: bool = Field(description="Whether the hypervolume is computed, not sampled")
    cells: Count | None = Field(description="Number of filled cells. Null: no measures")
    coverage: float | None = Field(description="Share of the cells that are filled")
    qd_score: float | None = Field(description="Sum of the fitness over the filled cells. Null: no measures")
    rewards: RewardDiversity = Field(description="Diversity of the reward vectors")
    chain: ChainDiversity | None = Field(description="Null: no answer was evaluated")
    programs: ProgramDiversity = Field(description="Diversity of the programs")
    migrations: MigrationGains = Field(description="Gains by migration")
    policies: list[Yield] = Field(description="Yield by policy")
    operators: list[Yield] = Field(description="Yield by operator")
    prompts: list[PromptYield] = Field(description="Prompts of the pool, the best first. Empty: there is no pool")
    collinearity: Collinearity | None = Field(description="Null: there are fewer than two objectives, or valid answers")
