"""The prompt of an analyst: it writes the insights of a run from the facts of its record."""

from collections.abc import Mapping
from dataclasses import dataclass

from evolve.errors import PolicyRefused
from evolve.problem import Problem
from evolve.prompt.scores import objectives_text
from evolve.prompt.space import Count
from evolve.prompt.templates import fill
from evolve.prompt.text import fenced, inert, one_line
from evolve.proposal import Message, Prompt

_MESSAGES_TOKENS = 16  # what a chat template puts around two messages, with some to spare


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystRequest:
    """The input of an analyst.

    Attributes:
        facts: of the run's record, in lines.
        before: the version that stands now; empty: none does.
        kept: lines of people or of an earlier run, which are to stay; empty: there are none.
        tokens: how many the insights may have.
    """

    facts: str
    before: str = ""
    kept: str = ""
    tokens: int = 500


def build_insights_prompt(
    problem: Problem, templates: Mapping[str, str], request: AnalystRequest, context_tokens: int, count: Count
) -> Prompt:
    """Build the prompt of an analyst. If it does not fit, the version that stands is left out.

    Raises:
        PolicyRefused: the rest does not fit.
    """
    system = fill(templates, "analyst_system")
    task = fill(
        templates,
        "problem",
        name=one_line(problem.name),
        description=inert(problem.description.strip()),
        language=problem.language,
        objectives=objectives_text(problem, templates),
    )
    facts = fill(templates, "analyst_facts", facts=fenced(inert(request.facts)))
    kept = fill(templates, "analyst_kept", kept=fenced(inert(request.kept))) if request.kept else ""
    before = fill(templates, "analyst_before", before=fenced(inert(request.before))) if request.before else ""
    ending = fill(templates, "analyst", words=max(20, request.tokens // 2))
    used = sum(count(text) for text in (system, task, facts, kept, ending)) + _MESSAGES_TOKENS
    if used > context_tokens:
        raise PolicyRefused(f"The facts do not fit the analyst's context: they take {used} of {context_tokens} tokens.")
    more = count(before) if before else 0
    if used + more > context_tokens:
        before, more = "", 0
    user = tuple(part for part in (task, facts, before, kept, ending) if part)
    messages = (Message(role="system", parts=(system,)), Message(role="user", parts=user))
    return Prompt(messages=messages, tokens=used + more)
