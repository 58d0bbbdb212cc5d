"""The room of a prompt: what it is made of, and how its parts are fitted to the context of its policy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evolve.configuration import PromptConfig
from evolve.errors import PolicyRefused
from evolve.problem import Problem
from evolve.prompt.templates import fill
from evolve.prompt.text import cut_middle, fenced, inert
from evolve.proposal import Individual, Message, Prompt, Proposal

Count = Callable[[str], int]

_MESSAGE_TOKENS = 8  # what a chat template puts around a message, with some to spare
_MIN_SAID = 200  # characters: less says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRequest:
    """The input of a prompt.

    Attributes:
        format: separation of a chain's answers: `tags:NAME`, `fences` or `single`.
        edits: `rewrite`, `continue` (for programs of one file) or `diff`.
        templates: texts that replace built-in templates, by name, checked by `check_templates`.
        insight_tokens: most tokens of the run's insights.
        context_tokens: limit of prompt and reply together, with `reply_tokens` of it for the reply.
    """

    problem: Problem
    proposal: Proposal
    format: str = "tags:answer"
    edits: str = "rewrite"
    config: PromptConfig = field(default_factory=PromptConfig)
    templates: Mapping[str, str] = field(default_factory=dict)
    insight_tokens: int = 500
    context_tokens: int = 16384
    reply_tokens: int = 4096


def space_of(request: PromptRequest, count: Count) -> "Space":
    """The room of an empty prompt."""
    return Space(request.context_tokens - request.reply_tokens - 2 * _MESSAGE_TOKENS, count)


def refuse_huge(request: PromptRequest, space: "Space") -> None:
    """Refuse a prompt whose necessary parts have no room.

    Raises:
        PolicyRefused: they have none.
    """
    if space.left < 0:
        raise PolicyRefused(
            f"The parent program {request.proposal.parent.candidate_id} does not fit the policy's context: a prompt"
            f" with nothing else takes {space.used} tokens, and there is room for {max(0, space.used + space.left)}."
        )


def joined(
    system: str, parts: Sequence[str], space: "Space", others: Sequence[Individual], request: PromptRequest
) -> Prompt:
    """The prompt of its parts; empty ones are left out.

    Args:
        system: the system message.
        parts: of the user message, in order.
        space: what they take.
        others: whose programs it shows beside the parent's.
        request: what it was made for.
    """
    return Prompt(
        messages=(
            Message(role="system", parts=(system,)),
            Message(role="user", parts=tuple(part for part in parts if part)),
        ),
        tokens=space.used + 2 * _MESSAGE_TOKENS,
        shown=(request.proposal.parent.candidate_id, *(individual.candidate_id for individual in others)),
    )


@dataclass(slots=True)
class Space:
    """Tokens left for the parts not placed yet."""

    left: int
    count: Count
    used: int = 0

    def spend(self, text: str) -> int:
        """Count a text that is shown in any case; its tokens."""
        tokens = self.count(text)
        self.left -= tokens
        self.used += tokens
        return tokens

    def take(self, text: str) -> bool:
        """Reserve the tokens of a text, if there are enough."""
        tokens = self.spend(text)
        if self.left >= 0:
            return True
        self.left += tokens
        self.used -= tokens
        return False

    def close(self) -> None:
        """Leave no room for parts that matter less than a part that was cut."""
        self.left = min(0, self.left)


def fit_feedback(request: PromptRequest, space: Space) -> str:
    """What the evaluator said about the parent, cut to the space."""
    feedback = request.proposal.parent.evaluation.feedback
    return fit_said(request, space, "feedback", feedback, int(request.config.feedback_kb * 1024))


def fit_said(request: PromptRequest, space: Space, template: str, said: str, maximum: int) -> str:
    """A text about the parent, cut to a number of bytes and to the remaining space.

    Args:
        request: of the prompt.
        space: remaining space of the prompt.
        template: of the part, with the placeholder of its own name.
        said: the text.
        maximum: bytes of it.
    """
    text = inert(said.strip())
    size = len(text.encode())
    if not text or maximum <= 0:
        return ""
    text = cut_middle(text, len(text) * maximum // max(size, maximum))
    part = fill(request.templates, template, **{template: fenced(text)})
    needed, left = space.count(part), max(0, space.left)
    if needed > left:
        shorter = int(len(part) * left / needed * 0.9) - (len(part) - len(text))
        part = fill(request.templates, template, **{template: fenced(cut_middle(text, shorter))})
        part = part if shorter >= _MIN_SAID and space.take(part) else ""
        space.close()
        return part
    space.spend(part)
    return part
