"""The prompt pool: prompts that compete for proposals, and what each has brought; a fold of a run's events.

A prompt of the pool has its own text of the problem, its own request, or both. The model of the run writes it from the
best prompt so far. A bandit chooses the prompt of each proposal. What a proposal gains is credited to its prompt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evolve.credit.bandit import MIN_VISITS, Arm, GainScale, choose, gain, reasons
from evolve.evaluation import Outcome
from evolve.event_types import (
    CandidateCreated,
    CandidateEvaluated,
    EventData,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
)
from evolve.policy_events import PromptWritten
from evolve.prompt import read_written
from evolve.proposal import CompletedReply, PromptTrial, Proposal, RejectedText
from evolve.selection import briefly

# Proposals with a prompt of the pool between two that write one.
INTERVAL = 10
BUILT_IN = 0
NO_PROMPT = "the reply has no prompt in it: it writes neither <problem> nor <request>"


@dataclass(slots=True, kw_only=True)
class PoolPrompt:
    """A prompt of the pool.

    Attributes:
        number: of the proposal that wrote it; 0: the configured texts.
        parent: number of the prompt that it was written from.
        problem: text of the problem; empty: the configured one.
        request: words of the request; empty: the configured ones.
        arm: what it has brought.
        evaluations: of children of its proposals.
        gain: their mean gain, over all of them.
        retired: whether another took its place.
    """

    number: int
    parent: int = BUILT_IN
    problem: str = ""
    request: str = ""
    arm: Arm = field(default_factory=Arm)
    evaluations: int = 0
    gain: float = 0.0
    retired: bool = False

    @property
    def trial(self) -> PromptTrial:
        """What a model is shown of it."""
        return PromptTrial(
            number=self.number,
            problem=self.problem,
            request=self.request,
            proposals=self.arm.visits,
            gain=self.gain,
        )


class PromptPool:
    """The prompts of a run.

    Args:
        maximum: how many compete, the configured texts among them; 0: the pool is off.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self.prompts = {BUILT_IN: PoolPrompt(number=BUILT_IN)}
        self._since_written = 0
        self._prompt_of: dict[int, int] = {}
        self._candidates: dict[str, int] = {}
        self._parents: dict[int, str] = {}
        self._fitness: dict[str, float | None] = {}
        self._best: float | None = None
        self._scale = GainScale()
        self._tasks: dict[int, tuple[PromptTrial, ...]] = {}

    @property
    def on(self) -> bool:
        """Whether prompts compete."""
        return self._maximum > 1

    def fold(self, data: EventData) -> None:
        """Fold one event."""
        if not self.on:
            return
        match data:
            case ProposalCreated(writes=True):
                self._tasks[data.proposal_number] = self.ranked()
                self._since_written = 0
            case ProposalCreated() if data.prompt is not None:
                self.prompts[data.prompt].arm.visits += 1
                self._since_written += 1
                self._prompt_of[data.proposal_number] = data.prompt
                self._parents[data.proposal_number] = data.parents[0][0]
            case CandidateCreated() if data.proposal_number in self._prompt_of:
                self._candidates[data.candidate_id] = data.proposal_number
            case CandidateEvaluated():
                self._evaluate(data)
            case PromptWritten():
                self._add(data)
            case ProposalAnswered() | ProposalFailed():
                self._tasks.pop(data.proposal_number, None)

    def due(self) -> bool:
        """Whether the next proposal is to write a prompt."""
        tried = all(prompt.arm.visits >= MIN_VISITS for prompt in self._living)
        return self.on and tried and self._since_written >= INTERVAL and not self._tasks

    def draw(self) -> tuple[PoolPrompt, Mapping[str, float | None]]:
        """The prompt of the next proposal, and what spoke for it; the configured one where there is no other."""
        living = self._living
        if len(living) == 1:
            return living[0], {}
        arms = [prompt.arm for prompt in living]
        place = choose(arms)
        return living[place], briefly(reasons(arms, place))

    def task(self, number: int) -> tuple[PromptTrial, ...]:
        """What the proposal `number`, which writes a prompt, is shown."""
        return self._tasks.get(number, ())

    def ranked(self) -> tuple[PromptTrial, ...]:
        """The prompts that compete, the best first."""
        order = sorted(self._living, key=lambda prompt: (-prompt.gain, prompt.number))
        return tuple(prompt.trial for prompt in order)

    @property
    def _living(self) -> list[PoolPrompt]:
        return [prompt for prompt in self.prompts.values() if not prompt.retired]

    def _evaluate(self, data: CandidateEvaluated) -> None:
        proposal = self._candidates.pop(data.candidate_id, None)
        if data.outcome == Outcome.CANCELLED:  # it says nothing against the prompt
            return
        self._fitness[data.candidate_id] = data.fitness
        if proposal is not None:
            prompt = self.prompts[self._prompt_of[proposal]]
            parent = self._fitness.get(self._parents[proposal])
            before = parent if parent is not None else self._best if self._best is not None else -float("inf")
            share = self._scale.share(gain(data.fitness, before, self._best))
            prompt.arm.learn(share)
            prompt.evaluations += 1
            prompt.gain += (share - prompt.gain) / prompt.evaluations
        if data.fitness is not None:
            self._best = data.fitness if self._best is None else max(self._best, data.fitness)

    def _add(self, data: PromptWritten) -> None:
        self.prompts[data.proposal_number] = PoolPrompt(
            number=data.proposal_number, parent=data.parent, problem=data.problem, request=data.request
        )
        living = self._living
        if len(living) > self._maximum:
            others = [prompt for prompt in living if prompt.number not in {BUILT_IN, data.proposal_number}]
            min(others, key=lambda prompt: (prompt.gain, prompt.number)).retired = True


def written_prompt(proposal: Proposal | None, completed: CompletedReply) -> tuple[PromptWritten | None, CompletedReply]:
    """The prompt that a model wrote, and its completion; None: it was asked for programs, or wrote nothing of use.

    The completion of a model that was asked for a prompt and wrote none says so, in the place of reasons that are about
    programs.
    """
    if proposal is None or not proposal.prompt_trials:
        return None, completed
    problem, request = read_written("".join(completed.completions[:1]))
    if not problem and not request:
        return None, replace(completed, dropped=(RejectedText(chain=0, reason=NO_PROMPT),))
    parent = proposal.prompt_trials[0].number
    written = PromptWritten(proposal_number=proposal.number, parent=parent, problem=problem, request=request)
    return written, replace(completed, dropped=())
