"""Builds the prompt of a proposal: constant parts first, varying parts last, fitted to the context."""

from dataclasses import replace

from evolve.answers.chain import example, parse_format
from evolve.answers.continuation import CONTINUE, first_lines
from evolve.answers.regions import asks_region, framed, guarded, names_of_region
from evolve.credit.operators import CROSSOVER, MUTATE
from evolve.credit.yields import times
from evolve.program import Program
from evolve.prompt.repository import changes_text, parent_text, rules_text
from evolve.prompt.request_text import noun_of, request_text
from evolve.prompt.scores import objectives_text, scores_text
from evolve.prompt.space import Count, PromptRequest, Space, fit_feedback, fit_said, joined, refuse_huge, space_of
from evolve.prompt.templates import fill
from evolve.prompt.text import fenced, fenced_source, inert, one_line, shown
from evolve.prompt.worktree import LIES_THERE, WORKTREE, worktree_text
from evolve.proposal import Individual, Message, Prompt

_MAX_REJECTION = 160
MAX_REVIEW_BYTES = 4096


def build_prompt(request: PromptRequest, count: Count) -> Prompt:
    """Build the prompt of a proposal.

    If it does not fit the context, parts are left out in this order: inspirations, from the last, failures, insights,
    feedback, review, ideas, reasons for unusable answers, and the second parent of a crossover, which makes it a
    mutation. The parent is always shown whole. Each part is counted once, and the prompt's size is
    the sum of its parts.

    Args:
        request: the proposal, the problem, and the form and the limits of prompt and reply.
        count: counts the tokens of a text. It is called again for constant parts, so it should cache.

    Raises:
        PolicyRefused: the parent does not fit.
    """
    system = request.config.system or fill(request.templates, "system")
    shared = task_text(request) + _reply(request)
    space = space_of(request, count)
    for text in (system, shared):
        space.spend(text)
    parent, beginning = parent_section(request, parent_program(request, space)), _beginning(request)
    for text in (parent, beginning):
        space.spend(text)
    second_parent, ending = _fit_ending(request, space)
    refuse_huge(request, space)
    rejections = _fit_rejections(request, space)
    ideas = _fit_ideas(request, space)
    review = fit_said(request, space, "review", request.proposal.review, MAX_REVIEW_BYTES)
    feedback = fit_feedback(request, space)
    insights = _fit_insights(request, space)
    failures = _fit_failures(request, space)
    inspirations, individuals = _fit_inspirations(request, space)
    individuals = (
        [request.proposal.second_parent, *individuals]
        if second_parent and request.proposal.second_parent
        else individuals
    )
    said = (feedback, review, ideas)
    parts = (shared, insights, *inspirations, failures, parent, *said, second_parent, rejections, ending)
    prompt = joined(system, parts, space, individuals, request)
    begun = (Message(role="assistant", parts=(beginning,)),) if beginning else ()
    return replace(prompt, messages=(*prompt.messages, *begun))


def parent_program(request: PromptRequest, space: "Space") -> str:
    """The parent as its policy sees it."""
    problem, program = request.problem, request.proposal.parent.program
    if request.edits == WORKTREE:
        return LIES_THERE
    if problem.repository is not None:
        return parent_text(problem.repository, program, problem.language, max(0, space.left), space.count)
    return _shown(request, program)


def _answers(request: PromptRequest) -> int:
    return 1 if request.format == "single" and request.edits != WORKTREE else max(1, request.proposal.answers)


def task_text(request: PromptRequest) -> str:
    """The same for every proposal of a run, as is `_reply`: it depends on problem, configuration and policy alone."""
    problem, templates = request.problem, request.templates
    return fill(
        templates,
        "problem",
        name=one_line(problem.name),
        description=inert(_problem_text(request)),
        language=problem.language,
        objectives=objectives_text(problem, templates),
    )


def _problem_text(request: PromptRequest) -> str:
    prompt = request.proposal.prompt
    return (prompt.problem if prompt else "") or request.problem.description.strip()


def _reply(request: PromptRequest) -> str:
    problem, templates, m = request.problem, request.templates, _answers(request)
    bounded = any(guarded(seed) for seed in problem.seeds)
    if request.edits == WORKTREE:
        parent, base = request.proposal.parent.program, problem.repository
        return worktree_text(parent, m, bounded=bounded, templates=templates, repository=base)
    return fill(
        templates,
        "reply",
        count="one answer" if m == 1 else f"{m} answers",
        example=_example(request, m),
        edits=_edits(request) + (rules_text(problem.repository, templates) if problem.repository else ""),
        regions=fill(templates, "regions") if bounded and not _region_alone(request) else "",
    )


def _several_files(request: PromptRequest) -> bool:
    return request.problem.repository is not None or not all(seed.single for seed in request.problem.seeds)


def _example(request: PromptRequest, m: int) -> str:
    chain = parse_format(request.format)
    several = _several_files(request)
    if request.edits == "diff":
        return example(chain, m, "(edits)")
    program = "(the whole of this file)" if several else f"(a whole {noun_of(request.problem)})"
    program = "(the new region)" if _region_alone(request) else program
    if chain.kind == "fences" and several:
        return "\n---\n".join([f"FILE: path\n{fenced(program)}"] * m)
    body = program if chain.kind == "fences" else fenced(program, request.problem.language)
    return example(chain, m, f"FILE: path\n{body}" if several else body)


def _edits(request: PromptRequest) -> str:
    several = _several_files(request)
    if request.edits == "diff":
        return fill(request.templates, "diff") + (fill(request.templates, "diff_files") if several else "")
    if _region_alone(request):
        return fill(request.templates, "rewrite_region", frame=_frame(request)) + _region_names(request)
    return fill(request.templates, "rewrite_files" if several else "rewrite")


def _region_names(request: PromptRequest) -> str:
    """The names that answers must define for the lines around the region, which follow from the seeds."""
    names = {names_of_region(seed, request.problem.language) for seed in request.problem.seeds}
    if len(names) != 1 or not (only := names.pop()):
        return ""
    return fill(request.templates, "region_names", names=", ".join(f"`{name}`" for name in only))


def _region_alone(request: PromptRequest) -> bool:
    """Whether only regions are shown and requested. This is constant, because all programs share the frame."""
    if request.edits in {"diff", WORKTREE} or not all(asks_region(seed) for seed in request.problem.seeds):
        return False
    parts = [framed(seed) for seed in request.problem.seeds]
    return len({(part.head, part.tail) for part in parts if part}) == 1


def _frame(request: PromptRequest) -> str:
    parts = framed(request.problem.seeds[0])
    lines = [*parts.head, "(the region)", *parts.tail] if parts else []
    return fenced_source("\n".join(lines).strip("\n"), request.problem.language)


def _shown(request: PromptRequest, program: Program) -> str:
    """A program as the prompt shows it: its region alone where answers hold no more."""
    if request.problem.repository is not None:
        return changes_text(request.problem.repository, program)
    parts = framed(program) if _region_alone(request) else None
    if parts is None:
        return shown(program, request.problem.language)
    return fenced_source("\n".join(parts.region).strip("\n"), request.problem.language)


def _beginning(request: PromptRequest) -> str:
    """The start of a prefilled reply: the parent as the prompt shows it, up to a drawn line."""
    if request.edits != CONTINUE or _several_files(request):
        return ""
    opening, _, rest = _shown(request, request.proposal.parent.program).partition("\n")
    program = rest.rpartition("\n")[0]
    return f"{opening}\n{first_lines(program, request.problem.language, request.proposal.seed)}"


def parent_section(request: PromptRequest, program: str) -> str:
    """The part about the parent: its scores, and its program as the policy sees it."""
    scores = scores_text(request.problem, request.proposal.parent)
    return fill(request.templates, "parent", scores=scores, program=program)


def _fit_ending(request: PromptRequest, space: Space) -> tuple[str, str]:
    """The second parent, if there is one and it fits, and the request, which is for a mutation if it does not fit."""
    proposal = request.proposal
    if proposal.second_parent is not None and (proposal.operator == CROSSOVER or proposal.request):
        program = _shown(request, proposal.second_parent.program)
        second_parent = fill(
            request.templates,
            "second_parent",
            scores=scores_text(request.problem, proposal.second_parent),
            program=program,
        )
        ending = _ending(request, proposal.operator)
        if space.take(second_parent + ending):
            return second_parent, ending
    ending = _ending(request, MUTATE if proposal.second_parent or proposal.operator == CROSSOVER else proposal.operator)
    space.spend(ending)
    return "", ending


def _ending(request: PromptRequest, operator: str) -> str:
    hint = fill(request.templates, "hint", hint=request.proposal.hint) if request.proposal.hint else ""
    return hint + request_text(request.problem, request.proposal, request.templates, operator, _answers(request))


def _fit_insights(request: PromptRequest, space: Space) -> str:
    """The run's insights, cut at a line's end to the tokens that they may have. Left out if they do not fit."""
    if not (text := inert(request.proposal.insights.strip())):
        return ""
    if (tokens := space.count(text)) > request.insight_tokens:
        end = max(1, len(text) * request.insight_tokens // tokens)
        text = text[: end + 1].rpartition("\n")[0] or text[:end]
    part = fill(request.templates, "insights", insights=fenced(text))
    return part if space.take(part) else ""


def _fit_rejections(request: PromptRequest, space: Space) -> str:
    """Reasons why the policy's last answers were unusable. Left out if they do not fit."""
    shown_reasons = request.proposal.rejections[: request.config.rejections]
    if not shown_reasons:
        return ""
    lines = [f"- {times(count)}: {one_line(reason, _MAX_REJECTION)}" for reason, count in shown_reasons]
    total = sum(count for _, count in shown_reasons)
    part = fill(request.templates, "rejections", rejections="\n".join(lines), count=total)
    return part if space.take(part) else ""


def _fit_ideas(request: PromptRequest, space: Space) -> str:
    """An advisor's ideas, one for each answer. Left out if they do not fit: answers are counted by them."""
    if not (ideas := request.proposal.ideas):
        return ""
    numbered = [f"Idea {number}:\n{fenced(inert(idea))}" for number, idea in enumerate(ideas, 1)]
    part = fill(request.templates, "ideas", ideas="\n".join(numbered))
    return part if space.take(part) else ""


def _fit_failures(request: PromptRequest, space: Space) -> str:
    reasons = [
        f"- {failure.evaluation.outcome}: {one_line(failure.evaluation.reason)}"
        for failure in request.proposal.failures[: request.config.failures]
    ]
    reasons = list(dict.fromkeys(reasons))
    for shown_reasons in range(len(reasons), 0, -1):
        part = fill(request.templates, "failures", failures="\n".join(reasons[:shown_reasons]))
        if space.take(part):
            if shown_reasons < len(reasons):
                space.close()
            return part
    if reasons:
        space.close()
    return ""


def _fit_inspirations(request: PromptRequest, space: Space) -> tuple[list[str], list[Individual]]:
    """The inspirations that fit, from the first, which are the best, up to the first that does not fit."""
    parts: list[str] = []
    individuals: list[Individual] = []
    heading = fill(request.templates, "inspirations")
    for individual in request.proposal.inspirations:
        part = fill(
            request.templates,
            "inspiration",
            number=len(parts) + 1,
            scores=scores_text(request.problem, individual),
            program=_shown(request, individual.program),
        )
        if not space.take(part if parts else heading + part):
            break
        parts.append(part if parts else heading + part)
        individuals.append(individual)
    return parts, individuals
