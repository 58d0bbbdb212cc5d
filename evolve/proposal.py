"""Proposals and what comes back for them: the values that pass between search, policy and evaluator."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evolve.evaluation import Evaluation
from evolve.money import Money
from evolve.program import Program
from evolve.reply_form import ReplyForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One answer in one run, as a program.

    Attributes:
        proposal_number: of its proposal. 0: a seed.
        position: place among the proposal's answers: chain * m + place in the chain.
        fingerprint: hash of the normalised program; equal ones are duplicates.
        parents: (candidate id, role) in order, role parent, crossover or inspiration; none for a seed.
        early_stop_threshold: fitness that further repeats of its evaluation depend on; None: all are made.
        recovered: what of its answer was not in the form asked for; see `evolve.answers.edit.Child`.
        changed: what of its parent; see `evolve.similarity.changed_parts`. Empty: a seed.
    """

    id: str
    proposal_number: int
    position: int
    island: int
    program: Program
    fingerprint: str
    parents: tuple[tuple[str, str], ...] = ()
    early_stop_threshold: float | None = None
    recovered: tuple[str, ...] = ()
    changed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Individual:
    """A candidate with its evaluation: what an archive holds and a prompt shows.

    Attributes:
        fitness: None when it failed.
        rewards: the reward vector, more is better, in the order of the problem's objectives.
        signed_scores: the scores that it was made from, more is better: what dominance is decided by.
        measures: values on the axes of the grid, built-in ones included.
    """

    candidate_id: str
    program: Program
    evaluation: Evaluation
    fitness: float | None = None
    rewards: tuple[float, ...] = ()
    signed_scores: tuple[float, ...] = ()
    measures: Mapping[str, float]

    def without_view(self) -> "Individual":
        """The same for a search, which holds thousands and looks at none."""
        if self.evaluation.view is None:
            return self
        return replace(self, evaluation=replace(self.evaluation, view=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningRecord:
    """What the optimizer of a tuning session needs: with equal records it is in an equal state.

    Attributes:
        session: number of the proposal that began it.
        seed: of its random stream.
        base: the program whose numbers are tuned.
        generations: the fitness by position of each proposal that is over; None: an answer has none.
    """

    session: int
    seed: int
    base: Individual
    generations: tuple[tuple[float | None, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTrial:
    """A prompt of the pool with what it has brought.

    Attributes:
        number: of the proposal that wrote it; 0: the configured texts.
        problem, request: its texts; empty: the configured one.
        proposals: that had it.
        gain: mean gain of their children, as a share of the largest of late.
    """

    number: int
    problem: str = ""
    request: str = ""
    proposals: int = 0
    gain: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One ask: everything a policy needs to answer with a set of children.

    Attributes:
        number: dense per run, from 1 (0 are the seeds); the random streams derive from it.
        seed: seed for the policy's own sampling; another for every proposal.
        probability: with which this operator was asked for.
        second_parent: of a crossover. None: another operator.
        selection: name of the selection that chose the parent; empty when the strategy did.
        weights: the weights drawn by it, in the order of the objectives; empty when none were.
        rationale: what else decided, as a few JSON values: those of the parent by themselves, and a mapping for each
            other choice there was, of `island`, `operator`, `policy` and `second_parent`.
        answers, samples: m answers in each of n chains are asked for, `limit` answers at most in all.
        form: how the policy is asked to write; None: in its own way.
        request: what an operator of the user's own asks for, with `$count` for how many; empty: the built-in words.
        review: what a critic wrote of the parent; empty: none was asked, or it wrote nothing.
        ideas: what an advisor proposes for the parent, one for each answer; empty: none was asked, or it wrote nothing.
        rejections: why the policy's last answers could not be used, with how often, the most frequent reason first.
        hint: what a person suggests to try; empty: no hint stands.
        hint_id: id of the change that gave that hint.
        insights: what the run has learnt so far, in a short text; empty: there is none.
        insights_id: id of the change that wrote them.
        priority_id: id of the change that gave its parent priority; empty: none did.
        change_id: of the change by which a person brought its program; empty: a policy is asked.
        tuning: of a proposal to a tuner.
        prompt: of the pool, which its texts are from; None: the pool is off, or the policy reads no prompts.
        prompt_trials: of a proposal that writes a prompt: those of the pool, the best first; else empty.
    """

    id: str
    number: int
    island: int
    operator: str
    probability: float = 1.0
    parent: Individual
    second_parent: Individual | None = None
    inspirations: tuple[Individual, ...] = ()
    failures: tuple[Individual, ...] = ()
    selection: str = ""
    weights: tuple[float, ...] = ()
    rationale: Mapping[str, Any] = field(default_factory=dict)
    policy: str = ""
    seed: int = 0
    answers: int = 1
    samples: int = 1
    limit: int = 1
    form: ReplyForm | None = None
    request: str = ""
    review: str = ""
    ideas: tuple[str, ...] = ()
    rejections: tuple[tuple[str, int], ...] = ()
    hint: str = ""
    hint_id: str = ""
    insights: str = ""
    insights_id: str = ""
    priority_id: str = ""
    change_id: str = ""
    tuning: TuningRecord | None = None
    prompt: PromptTrial | None = None
    prompt_trials: tuple[PromptTrial, ...] = ()

    def position(self, answer: "Answer") -> int | None:
        """Place of an answer among those of all chains; None for one that was not asked for."""
        asked = 0 <= answer.chain < self.samples and 0 <= answer.index < self.answers
        return answer.chain * self.answers + answer.index if asked else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a prompt, in parts: shared text first, varying text last, so that prefixes are stored once."""

    role: str
    parts: tuple[str, ...]

    @property
    def content(self) -> str:
        """The message as it is sent."""
        return "".join(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a policy was shown.

    Attributes:
        tokens: its length by the policy's own count or estimate; 0 when unknown.
        shown: ids of the candidates whose programs it holds, the parent first.
    """

    messages: tuple[Message, ...]
    tokens: int = 0
    shown: tuple[str, ...] = ()

    @property
    def beginning(self) -> str:
        """What the reply is to go on from; empty: it begins as the policy likes."""
        return self.messages[-1].content if self.messages and self.messages[-1].role == "assistant" else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of a policy: a reply to a proposal, handed on the moment it is complete.

    Attributes:
        text: the answer as written: a full rewrite or SEARCH/REPLACE edits.
        edits: `rewrite`, `continue` (read as a rewrite) or `diff`: how the text is to be read.
        shown: ids of the candidates that the prompt had room for; None: all of the proposal's.
    """

    chain: int
    index: int
    text: str
    edits: str = "rewrite"
    shown: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedText:
    """Part of the completion of a chain that made no answer, with the reason."""

    chain: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one proposal: input (of which cached) and output (of which reasoning, as far as a server says so)."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """What counts against a token budget."""
        return self.input + self.output

    def __add__(self, other: "Usage") -> "Usage":
        """The tokens of both."""
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What was paid for a proposal beside its completion.

    Attributes:
        policy: who was paid.
        purpose: for what: `review`, `ideas`, `embedding` or `insights`.
        cost: of the tokens, at the policy's price; None: it has none, and what it cost is not known.
    """

    policy: str
    purpose: str
    usage: Usage = Usage()
    cost: Money | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedReply:
    """The last reply to a proposal: what the policy wrote and what it cost.

    Attributes:
        completions: text of each chain; a policy without a model gives its own account of what it did.
        reasoning: what each chain thought before its text; bounded.
        finish_reasons: why each chain ended, as the server says.
        dropped: what of the chains made no answer, with the reason.
        recovered: how many answers were not set apart as asked, and taken all the same, by kind.
        cost: of the tokens, at the policy's price; None: it has none, and what it cost is not known.
        attempts: requests made, failed ones included.
        charges: what was paid beside the completion.
    """

    completions: tuple[str, ...]
    finish_reasons: tuple[str, ...] = ()
    prompt: Prompt | None = None
    dropped: tuple[RejectedText, ...] = ()
    recovered: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = Usage()
    cost: Money | None = None
    seconds: float = 0.0
    attempts: int = 1
    charges: tuple[Charge, ...] = ()
    reasoning: tuple[str, ...] = ()


Reply = Answer | CompletedReply
