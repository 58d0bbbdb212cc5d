"""Builds the prompts of a problem for a policy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evolve.configuration import RunConfig
from evolve.problem import Problem
from evolve.prompt import PromptRequest, build_prompt, build_writing_prompt
from evolve.prompt.worktree import WORKTREE
from evolve.proposal import Prompt, Proposal
from service.policy.tokens import estimate_tokens

if TYPE_CHECKING:
    from service.policy.request_options import PromptBuilder

BuildFor = Callable[[PromptRequest, Callable[[str], int]], Prompt]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesForm:
    """The form of the answers of a policy that edits files."""

    format: str = "single"
    edits: str = WORKTREE


class ReplySettings(Protocol):
    """In what form a policy answers."""

    @property
    def format(self) -> str:
        """How the answers of a chain are set apart."""

    @property
    def edits(self) -> str:
        """How an answer is read: `rewrite` or `diff`."""


def prompt_builder(
    form: ReplySettings,
    problem: Problem,
    config: RunConfig,
    templates: Mapping[str, str],
    build_for: BuildFor = build_prompt,
) -> "PromptBuilder":
    """What builds the prompts of a problem for a policy.

    Args:
        form: in which it answers.
        problem, config, templates: as `serve` takes them.
        build_for: makes the prompt: that of an author, or `build_review_prompt`.
    """

    def build(proposal: Proposal, *, count: Callable[[str], int] = estimate_tokens, context_tokens: int) -> Prompt:
        # Files have no other form.
        asked = form if form.edits == WORKTREE else proposal.form or form
        request = PromptRequest(
            problem=problem,
            proposal=proposal,
            format=asked.format,
            edits=asked.edits,
            config=config.on_island(proposal.island).prompt,
            templates=templates,
            insight_tokens=config.insights.tokens,
            context_tokens=context_tokens,
            reply_tokens=0,  # the policy has kept room for the reply already
        )
        return build_writing_prompt(request, count) if proposal.prompt_trials else build_for(request, count)

    return build
