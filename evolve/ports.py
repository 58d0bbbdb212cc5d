"""The doors between the search and the world: who answers proposals, who embeds programs, who scores them."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.program import Program
from evolve.proposal import Candidate, Proposal, Reply
from evolve.reply_form import ReplyForm

if TYPE_CHECKING:  # commands that read must start fast, and numpy is slow to import
    from evolve.similarity.vectors import EmbeddedPrograms


class Policy(Protocol):
    """Turns a proposal into answers: a model behind a server, a bundled model, or a mutator."""

    @property
    def name(self) -> str:
        """The policy's name in records and statistics."""

    @property
    def answers(self) -> int:
        """m: answers asked of one chain."""

    @property
    def samples(self) -> int:
        """n: chains asked of one proposal."""

    @property
    def concurrency(self) -> int:
        """Proposals it answers at once with profit; it may change while calls go on."""

    def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Answer a proposal: answers as they complete, at last one `Completed`.

        A call that is cancelled, or fails, may give a last `Completed` of what was written and paid for by then, before
        it lets the cancellation or the error go on. The last word is told when the call has ended.

        Raises:
            PolicyError: no answer came; its class says whether asking again may help.
        """


@runtime_checkable
class AdaptivePolicy(Policy, Protocol):
    """A policy that can be asked in several forms, of which a run finds out which suits it."""

    @property
    def forms(self) -> Sequence[ReplyForm]:
        """The forms that it may be asked in, at least one."""


@runtime_checkable
class TuningPolicy(Policy, Protocol):
    """A policy that changes the numbers of good programs, and reads what came of its proposals (`Proposal.tuning`)."""

    @property
    def tunes(self) -> bool:
        """Whether it does."""


@runtime_checkable
class PromptedPolicy(Policy, Protocol):
    """A policy whose model reads the prompts of a pool, and can write one (`Proposal.prompt_trials`)."""

    @property
    def writes_prompts(self) -> bool:
        """Whether it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptedPolicy:
    """A policy that writes its requests differently from now on, since its server refused what they held.

    Attributes:
        policy: its name.
        parameter: of the request.
        action: `dropped`, `renamed`, `merged` or `lowered`.
        reason: the server's words, bounded.
    """

    policy: str
    parameter: str
    action: str
    reason: str


@runtime_checkable
class ServedPolicy(Protocol):
    """What a policy behind a server tells besides its replies; other policies have nothing to tell."""

    @property
    def heard(self) -> int:
        """A number that grows whenever something comes from the server: a policy that writes is not away."""

    def notices(self) -> Sequence[AdaptedPolicy]:
        """What it learnt of its server since this was asked last, each thing once."""


class Embedder(Protocol):
    """Turns programs into vectors whose directions tell how alike they are."""

    @property
    def name(self) -> str:
        """The policy's name in records and statistics."""

    async def embed(self, programs: Sequence[Program]) -> "EmbeddedPrograms":
        """The vectors of programs, float32 and of norm 1, of one length over a run; None for one that it cannot embed.

        Raises:
            PolicyUnavailable, PolicyDenied: it embeds none of them now.
        """


class Evaluator(Protocol):
    """Scores programs; every way a program can fail is an outcome, never an exception."""

    @property
    def slots(self) -> int:
        """Evaluations it runs at once with profit."""

    @property
    def waiting(self) -> str:
        """Why evaluations cannot go on at present, one sentence; empty: they can."""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        """Score one program. Cancelling the call ends the evaluation's processes."""


class SearchTracer(Protocol):
    """Records how long proposals and evaluations take, and which evaluation belongs to which proposal."""

    def proposal(self, proposal: Proposal) -> AbstractContextManager[object]:
        """Wrap everything that is done to have a proposal answered."""

    def evaluation(self, candidate: Candidate) -> AbstractContextManager[Callable[[Evaluation], object]]:
        """Wrap the evaluation of a candidate. The value of the context takes the result."""


class NoTracer:
    """Records nothing."""

    def __init__(self) -> None:
        self._proposal = nullcontext()
        self._evaluation = nullcontext(lambda _: None)

    def proposal(self, _: Proposal) -> AbstractContextManager[object]:
        """Wrap nothing."""
        return self._proposal

    def evaluation(self, _: Candidate) -> AbstractContextManager[Callable[[Evaluation], object]]:
        """Wrap nothing."""
        return self._evaluation


NO_TRACER = NoTracer()
