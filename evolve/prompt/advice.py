"""The prompts of models that advise an author about a parent: a critic reviews it, an advisor proposes ideas for it."""

from dataclasses import replace

from evolve.answers.chain import ChainParser, example, parse_format
from evolve.prompt.build import parent_program, parent_section, task_text
from evolve.prompt.space import Count, PromptRequest, fit_feedback, joined, refuse_huge, space_of
from evolve.prompt.templates import fill
from evolve.proposal import Prompt

MAX_IDEA_CHARACTERS = 1000
_FORM = parse_format("tags:idea")


def build_review_prompt(request: PromptRequest, count: Count) -> Prompt:
    """Build the prompt of a critic: the problem, the parent, its scores and the evaluator's feedback.

    Args:
        request: as for `build_prompt`. The form of answers is ignored.
        count: as for `build_prompt`.

    Raises:
        PolicyRefused: the parent does not fit.
    """
    system, ending = fill(request.templates, "critic_system"), fill(request.templates, "critic")
    return _about_parent(request, count, system, ending)


def build_ideas_prompt(request: PromptRequest, count: Count) -> Prompt:
    """Build the prompt of an advisor: what a critic reads, and the form of as many ideas as answers are asked for.

    Args:
        request: as for `build_prompt`. The form of answers is ignored.
        count: as for `build_prompt`.

    Raises:
        PolicyRefused: the parent does not fit.
    """
    m = max(1, request.proposal.answers)
    asked = {"count": "one idea" if m == 1 else f"{m} ideas", "example": example(_FORM, m, "(an idea)")}
    system, ending = fill(request.templates, "advisor_system"), fill(request.templates, "advisor", **asked)
    return _about_parent(request, count, system, ending)


def read_ideas(text: str, limit: int) -> tuple[str, ...]:
    """The ideas that an advisor wrote, at most `limit`, each once. A text that marks none is a single idea."""
    parser = ChainParser(_FORM, limit, programs=False)
    ideas = [answer.text.strip()[:MAX_IDEA_CHARACTERS] for answer in [*parser.feed(text), *parser.close()]]
    ideas = [idea for idea in ideas if idea] or [text.strip()[:MAX_IDEA_CHARACTERS]]
    return tuple(dict.fromkeys(idea for idea in ideas if idea))


def _about_parent(request: PromptRequest, count: Count, system: str, ending: str) -> Prompt:
    task, space = task_text(request), space_of(request, count)
    for text in (system, task, ending):
        space.spend(text)
    parent = parent_section(request, parent_program(replace(request, edits="diff"), space))
    space.spend(parent)
    refuse_huge(request, space)
    return joined(system, (task, parent, fit_feedback(request, space), ending), space, (), request)
