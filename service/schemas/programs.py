"""Programs on the wire: candidates of runs, their sources, lineages, diffs and evaluations."""

from typing import Literal

from pydantic import Field, JsonValue

from service.schemas.foreign import Foreign
from service.schemas.types import Count, Moment, Object, Page, Reply, Spent

Status = Literal["pending", "evaluating", "evaluated", "duplicate", "rejected"]
Direction = Literal["ancestors", "descendants", "path"]


class Parent(Reply):
    """One edge of the lineage."""

    candidate_id: str
    role: str = Field(description="`parent`, `crossover` or `inspiration`")


class ProgramUrls(Reply):
    """Where more of a program is."""

    self: str
    run: str
    source: str
    lineage: str
    children: str
    diff: str
    evaluations: str
    proposal: str | None = Field(description="Null for a seed")


class Program(Foreign):
    """A candidate: one answer in one run, with what it was worth."""

    id: str
    run_id: str
    program_id: str | None = Field(description="Of its content; null: it was rejected before it became a program")
    proposal_id: str
    proposal_number: Count = Field(description="0 are the seeds")
    position: Count = Field(description="Place among the answers of its proposal")
    island: int
    islands: list[int] = Field(description="Islands whose archive holds it now")
    operator: str
    policy: str
    status: Status
    outcome: str | None
    reason: str
    fitness: float | None
    scores: dict[str, float]
    rewards: list[float] | None = Field(description="Reward vector, larger is better, in the order of the objectives")
    measures: dict[str, float]
    cases: dict[str, float]
    spread: dict[str, float] = Field(description="Of scores over the repeats of a noisy evaluation")
    repeats: Count = Field(default=0, description="How often it was scored; 0: not at all, or not known")
    feedback: str | None = Field(description="Null: the key lacks the scope `programs:read`")
    answer: str | None = Field(default=None, description="Null: it gives none that can be compared, or as `feedback`")
    seconds: float | None
    isolation: str
    parents: list[Parent]
    duplicate_of: str | None
    created_at: Moment
    evaluated_at: Moment | None
    urls: ProgramUrls


class ProgramPage(Page):
    """Programs of a run."""

    items: list[Program]


class SourceFile(Foreign):
    """One file of a program."""

    path: str
    text: str


class Source(Reply):
    """The source text of a program."""

    candidate_id: str
    program_id: str
    files: list[SourceFile]


class Lineage(Reply):
    """A line or a family of programs."""

    candidate_id: str
    direction: Direction
    items: list[Program]
    truncated: bool = Field(description="Whether there are more than `limit`")


class FileChange(Foreign):
    """What changed in one file."""

    path: str
    change: Literal["added", "removed", "changed"]
    added: Count | None = Field(description="Lines; null: too many differ to compare them")
    removed: Count | None
    diff: str | None = Field(description="Unified diff; null: too many lines differ, read both sources")


class ProgramDiff(Reply):
    """What changed from one program to another."""

    candidate_id: str
    against: str | None = Field(description="Null: a seed is compared with nothing")
    added: Count
    removed: Count
    files: list[FileChange]


class Evaluation(Foreign):
    """One attempt at scoring a candidate."""

    id: str
    candidate_id: str
    attempt: Count
    outcome: str
    reason: str
    scores: dict[str, float]
    measures: dict[str, float]
    cases: dict[str, float]
    spread: dict[str, float]
    repeats: Count = Field(default=0, description="How often it was scored; 0: not known")
    feedback: str | None = Field(description="Null: the key lacks the scope `programs:read`")
    answer: str | None = Field(default=None, description="Null: it gives none that can be compared, or as `feedback`")
    seconds: float
    worker: str
    isolation: str
    at: Moment


class EvaluationPage(Page):
    """Attempts, the first one first."""

    items: list[Evaluation]


class Reassessment(Reply):
    """A candidate that is to be evaluated once more."""

    candidate_id: str
    run_id: str
    wanted: bool = Field(description="False: it was wanted already")


class ProposalUrls(Reply):
    """Where more of a proposal is."""

    self: str
    programs: str


class ChargedTokens(Foreign):
    """Tokens that were paid for: read, of these from a cache, and written."""

    input: Count
    cached: Count
    output: Count


class Charge(Foreign):
    """What was paid for a proposal beside its completion."""

    policy: str = Field(description="Who was paid")
    purpose: str = Field(description="For what: `review` or `embedding`")
    tokens: ChargedTokens
    cost: Spent | None = Field(default=None, description="Of these tokens; null: it is not known")
    seconds: float


class Proposal(Foreign):
    """What a policy was asked, and what it cost."""

    id: str
    run_id: str
    number: Count
    island: int
    operator: str
    probability: float = Field(default=1.0, description="With which the operator was drawn")
    selection: str
    weights: list[float]
    why: dict[str, JsonValue] = Field(
        default={},
        description="What else decided: of the parent by itself, and an object each for `island`, `operator`, `policy`"
        " and `second_parent`, where there was a choice",
    )
    policy: str
    form: Object | None = Field(
        default=None,
        description="How the policy was asked to write: `format`, `edits`, `answers` a completion, `samples`; null: in"
        " its own way",
    )
    state: str = Field(description="`asked`, `answered` or `failed`")
    reason: str
    tokens_input: Count
    tokens_cached: Count
    tokens_output: Count
    cost: Spent | None = Field(default=None, description="Of its tokens; null: it is not known")
    seconds: float | None
    finish_reasons: list[str]
    charges: list[Charge] = Field(default=[], description="What was paid beside the completion")
    created_at: Moment
    answered_at: Moment | None
    urls: ProposalUrls


class ProposalPage(Page):
    """Proposals in order of their numbers."""

    items: list[Proposal]


class Message(Foreign):
    """One message of a prompt."""

    role: str
    content: str


class ProposalDetail(Proposal):
    """A proposal with everything that was written."""

    prompt: list[Message]
    completions: list[str]
    reasoning: list[str] = Field(
        default=[],
        description="Of each completion the beginning of what the model thought before it",
    )
    dropped: list[Object] = Field(description="Parts of completions that made no answer: chain and reason")
