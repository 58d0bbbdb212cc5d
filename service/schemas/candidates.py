"""Programs on the wire: candidates of runs, their sources, lineages, diffs and evaluations."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from service.schemas.derived_models import DescribedAs
from service.schemas.event_parts import Rationale, ReplyFormSchema
from service.schemas.types import Count, Moment, Object, Page, Reply, Spent
from service.schemas.untrusted_text import Foreign

Status = Literal["pending", "evaluating", "evaluated", "duplicate", "rejected"]
Direction = Literal["ancestors", "descendants", "path"]


class Parent(Reply):
    """An edge of the lineage."""

    candidate_id: str = Field(description="Id of the parent")
    role: str = Field(description="`parent`, `crossover` or `inspiration`")


class CandidateUrls(Reply):
    """Where more of a program is."""

    self: str = Field(description="Path of the candidate")
    run: str = Field(description="Path of its run")
    source: str = Field(description="Path of its source text")
    lineage: str = Field(description="Path of its lineage")
    children: str = Field(description="Path of its children")
    diff: str = Field(description="Path of its difference to its parent")
    evaluations: str = Field(description="Path of its evaluations")
    drawing: str | None = Field(
        default=None, description="Path of the drawing of its view. Null: its view is not drawn on demand, or is drawn"
    )
    view: str | None = Field(description="Path of its view. Null: there is nothing to show, or not yet")
    proposal: str | None = Field(description="Null for a seed")


class Candidate(Foreign):
    """A candidate: an answer in a run, with its scores."""

    id: str = Field(description="Id of the candidate")
    run_id: str = Field(description="Id of the run")
    program_id: str | None = Field(description="Id of its content. Null: it was rejected before it became a program")
    proposal_id: str = Field(description="Id of the proposal that it answers")
    proposal_number: Count = Field(description="Number of its proposal. 0: a seed")
    position: Count = Field(description="Place among the answers of its proposal, from 0")
    name: str = Field(description="Its name in the run, `PROPOSAL.POSITION`, such as `28.0`. Seeds: `0.0`, ...")
    island: int = Field(description="Number of the island that it was made for")
    islands: list[int] = Field(description="Islands whose archive holds it now")
    operator: str = Field(description="Operator that made it, such as `mutate`. `seed` for a seed")
    policy: str = Field(description="Name of the policy that wrote it. Empty: a seed")
    status: Status = Field(
        description="`pending`, `evaluating` or `evaluated`. `duplicate` and `rejected` are never evaluated",
    )
    outcome: str | None = Field(
        description="Outcome of its evaluation, such as `ok` or `timeout`. Null: not evaluated",
    )
    reason: str = Field(description="Why it failed or was rejected, in one sentence. Empty: neither")
    fitness: float | None = Field(description="Number that the search compares, more is better. Null: not valid")
    scores: dict[str, float] = Field(description="Score by objective or metric")
    rewards: list[float] | None = Field(description="Reward vector, larger is better, in the order of the objectives")
    measures: dict[str, float] = Field(description="Value by measure")
    cases: dict[str, float] = Field(description="Score by test case")
    spread: dict[str, float] = Field(description="Spread of the scores over the repeats of a noisy evaluation")
    repeats: Count = Field(default=0, description="Number of its repeats. 0: none, or unknown")
    feedback: str | None = Field(description="Null: the key lacks the scope `programs:read`")
    answer: str | None = Field(default=None, description="Null: none that can be compared, or as for `feedback`")
    view_type: str | None = Field(
        default=None,
        description="Media type of its view. Empty: the view cannot be shown. Null: its evaluator drew nothing, or none"
        " yet",
    )
    view_on_demand: bool = Field(
        default=False, description="Whether its view is drawn when somebody requests it, and is not drawn yet"
    )
    view_reason: str | None = Field(
        default="", description="Why its view cannot be shown, in one sentence. Null: as for `feedback`"
    )
    seconds: float | None = Field(description="Duration of its evaluation in seconds. Null: not evaluated")
    isolation: str = Field(
        description="Isolation that it ran under: a level and the integrity, such as `strong/separate`",
    )
    parents: list[Parent] = Field(description="Candidates that it descends from, the parent first")
    changed: str = Field(
        default="",
        description="What of its parent it changed: `constants`, `structure` or `both`. Empty: a seed, or unknown",
    )
    duplicate_of: str | None = Field(description="Id of the candidate with the same program. Null: none")
    created_at: Moment = Field(description="When it was created")
    evaluated_at: Moment | None = Field(description="When it was evaluated. Null: never")
    urls: CandidateUrls = Field(description="Paths of its parts")


class CandidatePage(Page):
    """Programs of a run."""

    items: list[Candidate] = Field(description="Candidates")


class SourceFile(Foreign):
    """A file of a program."""

    path: str = Field(description="Path of the file inside the program")
    text: str = Field(description="Text of the file")


class Source(Reply):
    """The source text of a program."""

    candidate_id: str = Field(description="Id of the candidate")
    program_id: str = Field(description="Id of its content")
    files: list[SourceFile] = Field(description="Files of the program")


class Lineage(Reply):
    """A line or a family of programs."""

    candidate_id: str = Field(description="Id of the candidate")
    direction: Direction = Field(description="Requested direction")
    items: list[Candidate] = Field(description="Candidates, each with its parents")
    truncated: bool = Field(description="Whether there are more than `limit`")


class FileChange(Foreign):
    """The changes of a file."""

    path: str = Field(description="Path of the file inside the program")
    change: Literal["added", "removed", "changed"] = Field(description="Whether the file was added, removed or changed")
    added: Count | None = Field(description="Lines added. Null: too many differences to compare")
    removed: Count | None = Field(description="Lines removed. Null: too many differences to compare")
    diff: str | None = Field(description="Unified diff. Null: too many differences, read both sources")


class CandidateDiff(Reply):
    """The changes between two programs."""

    candidate_id: str = Field(description="Id of the candidate")
    against: str | None = Field(description="Null: a seed, compared with the empty program")
    added: Count = Field(description="Lines added, of all files")
    removed: Count = Field(description="Lines removed, of all files")
    files: list[FileChange] = Field(description="Files that differ")


class Evaluation(Foreign):
    """An attempt to score a candidate."""

    id: str = Field(description="Id of the evaluation")
    candidate_id: str = Field(description="Id of the candidate")
    attempt: Count = Field(description="Number of the attempt, from 1")
    outcome: str = Field(description="Outcome of the evaluation, such as `ok` or `timeout`")
    reason: str = Field(description="Why it failed, in one sentence. Empty: `ok`")
    scores: dict[str, float] = Field(description="Score by objective or metric")
    measures: dict[str, float] = Field(description="Value by measure")
    cases: dict[str, float] = Field(description="Score by test case")
    spread: dict[str, float] = Field(description="Standard deviation by score over the repeats")
    repeats: Count = Field(default=0, description="Number of repeats. 0: unknown")
    feedback: str | None = Field(description="Null: the key lacks the scope `programs:read`")
    answer: str | None = Field(default=None, description="Null: none that can be compared, or as for `feedback`")
    seconds: float = Field(description="Duration in seconds")
    worker: str = Field(description="Id of the worker that evaluated it")
    isolation: str = Field(
        description="Isolation that it ran under: a level and the integrity, such as `strong/separate`",
    )
    at: Moment = Field(description="When its result was stored")


class EvaluationPage(Page):
    """Evaluations, oldest first."""

    items: list[Evaluation] = Field(description="Evaluations, oldest first")


class ReevaluationReply(Reply):
    """A candidate that is to be evaluated once more."""

    candidate_id: str = Field(description="Id of the candidate")
    run_id: str = Field(description="Id of the run")
    requested: bool = Field(description="False: it was already requested")


class ProposalUrls(Reply):
    """Where more of a proposal is."""

    self: str = Field(description="Path of the proposal")
    candidates: str = Field(description="Path of the candidates that it brought")


class ChargedTokens(Foreign):
    """Tokens that were paid for: read, of these from a cache, and written."""

    input: Count = Field(description="Tokens read, including cached tokens")
    cached: Count = Field(description="Of these, tokens from a cache")
    output: Count = Field(description="Tokens written")


class Charge(Foreign):
    """A payment for a proposal beside its completion."""

    policy: str = Field(description="Policy that was paid")
    purpose: str = Field(description="Purpose: `review`, `ideas`, `embedding` or `insights`")
    tokens: ChargedTokens = Field(description="Tokens that were paid for")
    cost: Spent | None = Field(default=None, description="Cost of these tokens. Null: unknown")
    seconds: float = Field(description="Duration in seconds")


class DroppedPart(Reply):
    """A part of a completion in which no answer could be read."""

    chain: Count = Field(description="Number of the completion, from 0")
    reason: str = Field(description="The reason, in one sentence")


class Proposal(Foreign):
    """A prompt to a policy, and its cost."""

    id: str = Field(description="Id of the proposal")
    run_id: str = Field(description="Id of the run")
    number: Count = Field(description="Number of the proposal in the run, from 1")
    island: int = Field(description="Number of the island that it was made for")
    operator: str = Field(description="Operator that was drawn, such as `mutate`")
    probability: float = Field(default=1.0, description="With which the operator was drawn")
    selection: str = Field(description="Selection that chose the parent")
    weights: list[float] = Field(
        description="Weights that the selection drew, for each objective. Empty: none",
    )
    rationale: Annotated[dict[str, JsonValue], DescribedAs(Rationale)] = Field(
        default={},
        description="Reasons of the choices: numbers for the parent, and an object each for `island`, `operator`,"
        " `policy`, `form` and `second_parent`, if there was a choice",
    )
    policy: str = Field(description="Name of the policy that was asked")
    form: Annotated[Object, DescribedAs(ReplyFormSchema)] | None = Field(
        default=None,
        description="Requested form of the reply: `format`, `edits`, `answers` per completion, `samples`. Null: the"
        " policy's own",
    )
    state: str = Field(description="`asked`, `answered` or `failed`")
    reason: str = Field(description="Why it failed, in one sentence. Empty: no failure")
    tokens_input: Count = Field(description="Tokens that the policies read, including cached tokens")
    tokens_cached: Count = Field(description="Of the tokens read, those from a cache")
    tokens_output: Count = Field(description="Tokens that the policies wrote")
    cost: Spent | None = Field(default=None, description="Cost of its tokens. Null: unknown")
    seconds: float | None = Field(description="Time from the request to the end of the answer. Null: not ended")
    finish_reasons: list[str] = Field(description="Why each completion ended, as the server said")
    charges: list[Charge] = Field(default=[], description="Payments beside the completion")
    created_at: Moment = Field(description="When it was created")
    answered_at: Moment | None = Field(description="When it was answered. Null: not answered")
    urls: ProposalUrls = Field(description="Paths of its parts")


class ProposalPage(Page):
    """Proposals in order of their numbers."""

    items: list[Proposal] = Field(description="Proposals, by number")


class Message(Foreign):
    """A message of a prompt."""

    role: str = Field(description="`system` or `user`")
    content: str = Field(description="Text of the message")


class ProposalDetail(Proposal):
    """A proposal with everything that was written."""

    prompt: list[Message] = Field(description="Messages that the policy was sent")
    completions: list[str] = Field(description="Texts that the policy wrote")
    reasoning: list[str] = Field(
        default=[],
        description="Start of the model's thoughts before each completion",
    )
    dropped: list[Annotated[Object, DescribedAs(DroppedPart)]] = Field(
        description="Parts of completions that made no answer: chain and reason"
    )
