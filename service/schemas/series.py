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
    valid_share: float = Field(description="Of the evaluations so far")
    duplicate_share: float = Field(description="Of all candidates so far")
    rejected_share: float = Field(description="Of all candidates so far")
    hypervolume: float | None = Field(
        description="Of the front so far, in rewards; sampled for more than 2 objectives; null: objectives lack bounds"
    )
    cells: Count | None = Field(
        default=None, description="Filled so far, of the grid as it is divided now; null: there are no measures"
    )
    qd_score: float | None = Field(
        default=None,
        description="Sum of the fitness of the programs that held these cells, counted from the lowest where that is"
        " below 0; null: there are no measures",
    )
    tokens_input: Count = Field(description="Tokens that the policies read, cached ones included")
    tokens_cached: Count = Field(default=0, description="Of those that were read, from a cache")
    tokens_output: Count = Field(description="Tokens that the policies wrote")
    cost: Spent | None = Field(default=None, description="Of the tokens so far; null: some of it is not known")
    distinct_share: float | None = Field(
        default=None,
        description="Of the valid evaluations so far, those whose reward vector was the first of its kind;"
        " null: nothing was valid yet",
    )
    reward_distance: float | None = Field(
        default=None,
        description="Mean Euclidean distance between two reward vectors of the last 100 valid evaluations;"
        " null: there are fewer than two, or they are too far apart for a number",
    )
    island_entropy: float = Field(default=0.0, description="In bits, of the islands of the last 100 evaluations")
    outcome_entropy: float = Field(default=0.0, description="In bits, of the outcomes of the last 100 evaluations")


class Success(Foreign):
    """How candidates of one kind did."""

    name: str = Field(description="Name of the operator or policy, or the position")
    evaluations: Count = Field(description="Number of candidates that were evaluated")
    valid: Count = Field(description="Number of evaluations with the outcome `ok`")
    improvements: Count = Field(description="How many became the best of the run")
    mean_fitness: float | None = Field(description="Mean fitness of the valid ones; null: there is none")


class Cost(Foreign):
    """What the proposals of one kind came to."""

    name: str = Field(description="Name of the policy or operator")
    proposals: Count = Field(description="Number of proposals")
    answered: Count = Field(description="Number of proposals that were answered")
    failed: Count = Field(description="Number of proposals that failed")
    answers: Count = Field(description="Number of answers")
    dropped: Count = Field(description="Parts of completions that made no answer")
    duplicates: Count = Field(description="Number of answers that repeat a program of the run")
    rejected: Count = Field(description="Number of answers that were refused before evaluation")
    tokens_input: Count = Field(description="Tokens that the policies read, cached ones included")
    tokens_cached: Count = Field(description="Of the tokens read, those that came from a cache")
    tokens_output: Count = Field(description="Tokens that the policies wrote")
    cost: Spent | None = Field(default=None, description="Of these tokens; null: some of it is not known")
    seconds_p50: float | None = Field(description="Half of the answered proposals took at most so long")
    seconds_p95: float | None = Field(description="95 of 100 answered proposals took at most so long")
    finish_reasons: dict[str, Count] = Field(
        default={}, description="Why completions ended, as servers said, with how many of each"
    )


class Metrics(Reply):
    """A run over its evaluations."""

    run_id: str = Field(description="Id of the run")
    points: list[SeriesPoint] = Field(description="Evenly over the evaluations, the last one now")
    operators: list[Success] = Field(description="Success by operator")
    policies: list[Success] = Field(description="Success by policy")
    positions: list[Success] = Field(description="By the place of the answer in its proposal")
    policy_costs: list[Cost] = Field(default=[], description="By policy; for the seeds nobody was asked")
    operator_costs: list[Cost] = Field(default=[], description="Cost by operator")


class RunMark(Reply):
    """Something that happened to a run between its evaluations."""

    kind: Literal["island.migrated", "island.reset", "run.paused", "run.resumed", "budget.extended"] = Field(
        description="Kind of the event",
    )
    place: Count = Field(description="Evaluations so far")
    at: Moment = Field(description="When it happened")
    from_island: int | None = Field(default=None, description="That migrants left")
    to_island: int | None = Field(default=None, description="That migrants reached, or that was reset")


# Not Foreign: the columns are long, and of all their texts only the names are others'.
class RunColumns(Reply):
    """Evaluations of a run in columns of one length, in the order in which they came."""

    run_id: str = Field(description="Id of the run")
    sequence: Count = Field(description="Everything up to this event is in the columns")
    total: Count = Field(description="Evaluations in all")
    begin: Count = Field(description="Evaluations that were left out because the caller has them")
    sampled: bool = Field(description="Whether there are more evaluations than are told")
    first_at: Moment | None = Field(description="When the run's first evaluation was")
    objectives: list[ForeignName] = Field(description="Empty: the evaluator gives one number, the fitness")
    outcomes: list[ForeignName] = Field(description="What `outcome` counts in; grows at its end only")
    operators: list[ForeignName] = Field(description="What `operator` counts in; grows at its end only")
    policies: list[ForeignName] = Field(
        description="What `policy` counts in; empty text: a seed's; grows at its end only"
    )
    place: list[int] = Field(description="Of the evaluation in the run, from 0")
    number: list[int] = Field(description="Of the proposal")
    position: list[int] = Field(description="Of the answer in its proposal")
    island: list[int] = Field(description="Number of the island")
    outcome: list[int] = Field(description="Index into `outcomes`")
    operator: list[int] = Field(description="Index into `operators`")
    policy: list[int] = Field(description="Index into `policies`")
    parent: list[int] = Field(
        description="Place of the first parent, which may not be told here; -1: there is none, or none was evaluated"
    )
    fitness: list[Number | None] = Field(description="To 7 digits; null: not valid")
    seconds: list[Number] = Field(description="Since the run's first evaluation")
    rewards: list[list[Number | None]] = Field(
        description="A column for each objective, to 7 digits, larger is better; null: not valid"
    )
    marks: list[RunMark] = Field(
        description="The newest, in order, from `begin` on; they take the place of those that the caller has from there"
    )


Axis = Literal["evaluations", "tokens", "money", "time"]


class ComparedRun(Foreign):
    """One run on the common axis."""

    run_id: str = Field(description="Id of the run")
    problem: str = Field(description="Name of the problem")
    state: str = Field(description="State of the run")
    seed: int = Field(description="Seed of its random draws")
    policies: list[str] = Field(description="Names of its policies")
    group: str = Field(description="Name of its group")
    evaluations: Count = Field(description="Number of candidates that were evaluated")
    tokens: Count = Field(default=0, description="Read and written")
    cost: Spent | None = Field(default=None, description="Of the tokens; null: some of it is not known")
    best: list[float | None] = Field(description="Best fitness so far at each place of the axis; null: not come there")
    final_fitness: float | None = Field(description="Best fitness at its end, or now; null: nothing was valid")
    best_candidate_id: str | None = Field(description="Id of its best candidate; null: there is none")
    known_best: float | None = Field(description="Best known value, as the problem's files say; null: they name none")
    direction: Literal["maximize", "minimize"] | None = Field(
        default=None,
        description="Of the run's only objective: with `minimize` its score is the fitness with the other sign, with"
        " `maximize` the fitness itself; null: it has none, or several",
    )


class GroupLevel(Reply):
    """What a group had come to at a budget."""

    mean: float | None = Field(description="Of the best so far, over its seeds; null: none of them came so far")
    low: float | None = Field(description="Of its 95 % interval; null: too few seeds for one")
    high: float | None = Field(description="Upper end of its 95 % interval; null: too few seeds for one")
    seeds: Count = Field(description="That came so far; of several problems, pairs of problem and seed")


class ComparedGroup(Foreign):
    """Runs that belong together."""

    name: str = Field(description="Name of the group")
    title: str = Field(default="", description="What it is called before people")
    run_ids: list[str] = Field(description="Ids of its runs")
    seeds: list[int] = Field(description="Seed of each of these runs")
    mean: list[float | None] = Field(description="Over the axis, as far as all of its runs came")
    low: list[float | None] = Field(description="Lowest of its runs at each place of the axis; null: not come there")
    high: list[float | None] = Field(description="Highest of its runs at each place of the axis; null: not come there")
    final_mean: float | None = Field(description="Mean of the final fitness over its runs; null: none has one")
    final_deviation: float | None = Field(description="Standard deviation over the runs")
    best_at_k: list[float] = Field(description="Expected best of k of these runs, k from 1")
    levels: list[GroupLevel] = Field(default=[], description="At each of the `budgets`")


class Gap(Foreign):
    """How far one group was ahead of another at a budget."""

    difference: float | None = Field(description="Of the means, below 0 where it is behind; null: there is none")
    low: float | None = Field(description="Of its 95 % interval; null: too few seeds for one")
    high: float | None = Field(description="Upper end of its 95 % interval; null: too few seeds for one")
    paired: bool = Field(description="Whether seeds are compared one by one")
    seeds: Count = Field(description="Of the first group, that it is told from; where they are paired, of both")
    others: Count = Field(description="Of the second group")
    p_value: float | None = Field(
        default=None,
        description="Of no difference, by a t test, corrected by Holm for all pairs that are compared "
        "at this budget; null: it is the only pair, or has no interval",
    )
    ahead: Literal[-1, 0, 1] = Field(description="1: the first is ahead, -1: the second; 0: no difference can be told")
    sentence: str = Field(description="The finding, in one sentence")


class Lead(Foreign):
    """Two groups, and how far the first was ahead of the second."""

    first: str = Field(description="Name of a group")
    second: str = Field(description="Name of the other group")
    gaps: list[Gap] = Field(description="At each of the `budgets`")


class RunComparison(Reply):
    """Runs side by side."""

    over: Axis = Field(default="evaluations", description="What the axis counts; time in seconds")
    currency: str = Field(default="", description="Of an axis of money")
    axis: list[int | float] = Field(description="Places on it, up to where the longest run came")
    runs: list[ComparedRun] = Field(description="The runs, as they were asked for")
    groups: list[ComparedGroup] = Field(
        description="Those that were asked for; else those with several runs, which differ in nothing but the seed"
    )
    budgets: list[int | float] = Field(default=[], description="Places on the axis at which groups are compared")
    leads: list[Lead] = Field(default=[], description="Of every two groups, those of one run among them")
    notes: list[str] = Field(default=[], description="What keeps these runs from being compared as they stand")
