"""Runs over time and side by side on the wire."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from service.schemas.types import Count, Moment, Number, Reply, Spent
from service.schemas.untrusted_text import Foreign, readable

MAX_COMPARED = 60
ForeignName = Annotated[str, BeforeValidator(readable)]


class SeriesPoint(Reply):
    """A run after some evaluations."""

    evaluations: Count = Field(description="Number of evaluations so far")
    at: Moment = Field(description="When the last of these evaluations was stored")
    best_fitness: float | None = Field(description="Null: nothing was valid yet")
    best_scores: dict[str, float] = Field(
        default={}, description="Best score of each objective so far, in its own unit. Empty: no objectives"
    )
    valid_share: float = Field(description="Share of valid candidates of the evaluations so far")
    duplicate_share: float = Field(description="Share of duplicates of the answers so far")
    rejected_share: float = Field(description="Share of rejected answers of the answers so far")
    hypervolume: float | None = Field(
        description="Of the front so far, in rewards. Sampled for more than 2 objectives. Null: no bounds"
    )
    cells: Count | None = Field(
        default=None, description="Cells filled so far, in the present division of the grid. Null: no measures"
    )
    qd_score: float | None = Field(
        default=None,
        description="Sum of the fitness of the programs in these cells, minus the lowest fitness if it is below 0."
        " Null: no measures",
    )
    tokens_input: Count = Field(description="Tokens that the policies read, including cached tokens")
    tokens_cached: Count = Field(default=0, description="Of the tokens read, those from a cache")
    tokens_output: Count = Field(description="Tokens that the policies wrote")
    cost: Spent | None = Field(default=None, description="Cost of the tokens so far. Null: partly unknown")
    evaluation_seconds: float = Field(
        default=0.0, description="Total time of the evaluations so far in seconds, which may overlap"
    )
    distinct_share: float | None = Field(
        default=None,
        description="Share of the valid evaluations so far with a new reward vector. Null: no valid evaluation",
    )
    reward_distance: float | None = Field(
        default=None,
        description="Mean Euclidean distance between two reward vectors of the last 100 valid evaluations."
        " Null: fewer than two, or too far apart for a number",
    )
    island_entropy: float = Field(
        default=0.0, description="Entropy of the islands of the last 100 evaluations, in bits"
    )
    outcome_entropy: float = Field(
        default=0.0, description="Entropy of the outcomes of the last 100 evaluations, in bits"
    )


class Success(Foreign):
    """Success of candidates of the same kind."""

    name: str = Field(description="Name of the operator or policy, or the position")
    evaluations: Count = Field(description="Number of candidates that were evaluated")
    valid: Count = Field(description="Number of evaluations with the outcome `ok`")
    improvements: Count = Field(description="Number that became the best of the run")
    mean_fitness: float | None = Field(description="Mean fitness of valid candidates. Null: none")
    gain: Number = Field(default=0.0, description="Fitness by which they raised the best of the run")
    seconds: float = Field(default=0.0, description="Total time of their evaluations in seconds, which may overlap")


class PolicyCurve(Foreign):
    """A policy at each of the points of a run."""

    name: str = Field(description="Name of the policy")
    evaluations: list[Count] = Field(description="Number of its candidates that were evaluated so far")
    gain: list[Number] = Field(description="Fitness by which they raised the best of the run so far")
    tokens: list[Count] = Field(description="Tokens that it read and wrote so far")
    cost: list[Number | None] = Field(
        description="Cost of these tokens in the currency of the policy's prices. Null: partly unknown"
    )


class Cost(Foreign):
    """Results of proposals of the same kind."""

    name: str = Field(description="Name of the policy or operator")
    proposals: Count = Field(description="Number of proposals")
    answered: Count = Field(description="Number of proposals that were answered")
    failed: Count = Field(description="Number of proposals that failed")
    answers: Count = Field(description="Number of answers")
    dropped: Count = Field(description="Parts of completions that made no answer")
    duplicates: Count = Field(description="Number of answers that repeat a program of the run")
    rejected: Count = Field(description="Number of answers that were refused before evaluation")
    tokens_input: Count = Field(description="Tokens that the policies read, including cached tokens")
    tokens_cached: Count = Field(description="Of the tokens read, those from a cache")
    tokens_output: Count = Field(description="Tokens that the policies wrote")
    cost: Spent | None = Field(default=None, description="Cost of these tokens. Null: partly unknown")
    seconds: float = Field(default=0.0, description="Total time of the answered proposals, which may overlap")
    seconds_p50: float | None = Field(description="Half of the answered proposals took at most so long")
    seconds_p95: float | None = Field(description="95 of 100 answered proposals took at most so long")
    finish_reasons: dict[str, Count] = Field(
        default={}, description="Why completions ended, as servers said, with how many of each"
    )


class Metrics(Reply):
    """A run over its evaluations."""

    run_id: str = Field(description="Id of the run")
    points: list[SeriesPoint] = Field(description="Points, evenly over the evaluations, the last of them now")
    operators: list[Success] = Field(description="Success by operator")
    policies: list[Success] = Field(description="Success by policy")
    positions: list[Success] = Field(description="By the place of the answer in its proposal")
    policy_costs: list[Cost] = Field(default=[], description="By policy, without seeds")
    operator_costs: list[Cost] = Field(default=[], description="Cost by operator")
    policy_curves: list[PolicyCurve] = Field(default=[], description="Policies at the same points")


class RunMark(Reply):
    """Something that happened to a run between its evaluations."""

    kind: Literal[
        "island.migrated",
        "island.reset",
        "run.paused",
        "run.resumed",
        "budget.extended",
        "hint.given",
        "program.inserted",
        "candidate.banned",
        "ban.lifted",
        "priority.given",
        "priority.lifted",
        "settings.changed",
    ] = Field(
        description="Kind of the event",
    )
    place: Count = Field(description="Evaluations so far")
    at: Moment = Field(description="When it happened")
    from_island: int | None = Field(default=None, description="Island that migrants left")
    to_island: int | None = Field(default=None, description="Island that migrants reached, or that was reset")


class RunFront(Reply):
    """The Pareto front of all objectives over time."""

    until: list[int | None] = Field(
        description="For each evaluation of the columns, the place of the first later one that dominates it. -1: none."
        " Null: an earlier one dominates it, or it is not valid"
    )
    counts: list[int] = Field(description="Numbers of evaluations, rising, the last of them now")
    sizes: list[int] = Field(description="Members of the front after each of these numbers of evaluations")
    ended: list[int] = Field(description="Places before `begin` of evaluations that left the front from `begin` on")
    ended_by: list[int] = Field(description="Place of the evaluation that dominates each of `ended`")


# Not Foreign: the columns are long, and of all their texts only the names are others'.
class RunColumns(Reply):
    """Evaluations of a run in columns of equal length, in their order."""

    run_id: str = Field(description="Id of the run")
    sequence: Count = Field(description="Everything up to this event is in the columns")
    total: Count = Field(description="Evaluations in all")
    begin: Count = Field(description="Evaluations that were left out because the caller has them")
    sampled: bool = Field(description="Whether some evaluations are left out")
    first_at: Moment | None = Field(description="When the run's first evaluation was")
    objectives: list[ForeignName] = Field(description="Empty: the evaluator returns a single number, the fitness")
    outcomes: list[ForeignName] = Field(description="Values for `outcome`. Grows only at its end")
    operators: list[ForeignName] = Field(description="Values for `operator`. Grows only at its end")
    policies: list[ForeignName] = Field(description="Values for `policy`. Empty text: a seed. Grows only at its end")
    place: list[int] = Field(description="Place of the evaluation in the run, from 0")
    proposal_number: list[int] = Field(description="Number of the proposal")
    position: list[int] = Field(description="Position of the answer in its proposal")
    island: list[int] = Field(description="Number of the island")
    outcome: list[int] = Field(description="Index into `outcomes`")
    operator: list[int] = Field(description="Index into `operators`")
    policy: list[int] = Field(description="Index into `policies`")
    parent: list[int] = Field(
        description="Place of the first parent, which may be left out here. -1: none, or not evaluated"
    )
    fitness: list[Number | None] = Field(description="To 7 digits. Null: not valid")
    seconds: list[Number] = Field(description="Seconds since the run's first evaluation")
    rewards: list[list[Number | None]] = Field(
        description="A column for each objective, to 7 digits, larger is better. Null: not valid"
    )
    marks: list[RunMark] = Field(
        description="The newest, in order, from `begin` on. They replace your items from there on"
    )
    front: RunFront | None = Field(default=None, description="Null: not asked for")


Axis = Literal["evaluations", "tokens", "money", "time"]


class ComparedRun(Foreign):
    """A run on the common axis."""

    run_id: str = Field(description="Id of the run")
    problem: str = Field(description="Name of the problem")
    state: str = Field(description="State of the run")
    seed: int = Field(description="Seed of its random draws")
    policies: list[str] = Field(description="Names of its policies")
    group: str = Field(description="Name of its group")
    evaluations: Count = Field(description="Number of candidates that were evaluated")
    tokens: Count = Field(default=0, description="Read and written")
    cost: Spent | None = Field(default=None, description="Cost of the tokens. Null: partly unknown")
    best: list[float | None] = Field(description="Best fitness so far at each place of the axis. Null: beyond its end")
    final_fitness: float | None = Field(description="Best fitness at its end, or now. Null: no valid candidate")
    best_candidate_id: str | None = Field(description="Id of its best candidate. Null: none")
    known_best: float | None = Field(description="Best known value in the problem's files. Null: none")
    direction: Literal["maximize", "minimize"] | None = Field(
        default=None,
        description="Direction of the run's only objective. With `minimize` its score is the negative fitness, with"
        " `maximize` the fitness itself. Null: none, or several",
    )


class GroupLevel(Reply):
    """The result of a group at a budget."""

    mean: float | None = Field(description="Mean of the best so far, over its seeds. Null: no seed got there")
    low: float | None = Field(description="Lower end of its 95 % interval. Null: too few seeds")
    high: float | None = Field(description="Upper end of its 95 % interval. Null: too few seeds")
    seeds: Count = Field(description="Number of seeds that got there. With several problems, pairs of problem and seed")


class ComparedGroup(Foreign):
    """Runs that belong together."""

    name: str = Field(description="Name of the group")
    title: str = Field(default="", description="Display name")
    run_ids: list[str] = Field(description="Ids of its runs")
    seeds: list[int] = Field(description="Seed of each of these runs")
    mean: list[float | None] = Field(description="Over the axis, until the end of its shortest run")
    low: list[float | None] = Field(description="Lowest of its runs at each place. Null: beyond their end")
    high: list[float | None] = Field(description="Highest of its runs at each place. Null: beyond their end")
    final_mean: float | None = Field(description="Mean of the final fitness over its runs. Null: none")
    final_deviation: float | None = Field(description="Standard deviation over the runs")
    best_at_k: list[float] = Field(description="Expected best of k of these runs, k from 1")
    levels: list[GroupLevel] = Field(default=[], description="At each of the `budgets`")


class Gap(Foreign):
    """The difference of two groups at a budget."""

    difference: float | None = Field(description="Difference of the means, below 0 if the first is behind. Null: none")
    low: float | None = Field(description="Lower end of its 95 % interval. Null: too few seeds")
    high: float | None = Field(description="Upper end of its 95 % interval. Null: too few seeds")
    paired: bool = Field(description="Whether seeds are paired")
    seeds: Count = Field(description="Number of seeds of the first group, or of pairs")
    others: Count = Field(description="Number of seeds of the second group, or of pairs")
    p_value: float | None = Field(
        default=None,
        description="p-value of no difference by a t test, with Holm's correction for all pairs at this budget."
        " Null: the only pair, or no interval",
    )
    ahead: Literal[-1, 0, 1] = Field(description="1: the first is ahead, -1: the second. 0: no measurable difference")
    sentence: str = Field(description="The finding, in one sentence")


class Lead(Foreign):
    """Two groups, and the lead of the first."""

    first: str = Field(description="Name of a group")
    second: str = Field(description="Name of the other group")
    gaps: list[Gap] = Field(description="At each of the `budgets`")


class RunComparison(Reply):
    """Runs side by side."""

    over: Axis = Field(default="evaluations", description="Quantity of the axis. Time is in seconds")
    currency: str = Field(default="", description="Currency of an axis of money")
    axis: list[int | float] = Field(description="Places on it, up to the end of the longest run")
    runs: list[ComparedRun] = Field(description="The runs, as requested")
    groups: list[ComparedGroup] = Field(
        description="Requested groups. Otherwise groups of several runs that differ only in the seed"
    )
    budgets: list[int | float] = Field(default=[], description="Places on the axis at which groups are compared")
    leads: list[Lead] = Field(default=[], description="For every two groups, groups of a single run included")
    notes: list[str] = Field(default=[], description="Reasons why these runs are not comparable")
