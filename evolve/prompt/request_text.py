"""The request of a prompt, in the words of the operator, of a template or of the prompt pool."""

from collections.abc import Mapping

from evolve.credit.operators import CROSSOVER, MUTATE, REPAIR, SIMPLIFY, Operator
from evolve.problem import Problem
from evolve.prompt.scores import weights_text
from evolve.prompt.templates import fill
from evolve.prompt.text import inert, one_line
from evolve.proposal import Proposal


def request_text(problem: Problem, proposal: Proposal, templates: Mapping[str, str], operator: str, m: int) -> str:
    """The request for m programs, or for m answers where text is asked for that is not run.

    Args:
        problem, proposal, templates: of the prompt.
        operator: that is asked for. It may differ from the proposal's where the second parent has no room.
        m: answers of a chain.
    """
    weights = proposal.weights if len(problem.objectives) > 1 and operator != SIMPLIFY else ()
    drawn = fill(templates, "weights", weights=weights_text(problem, weights)) if weights else ""
    noun = noun_of(problem)
    count = f"one {noun}" if m == 1 else f"{m} genuinely different {noun}s"
    if proposal.request and operator == proposal.operator:
        return f"{drawn}{Operator(request=proposal.request).policy_request(count)}\n"
    if proposal.prompt and proposal.prompt.request and operator == MUTATE:
        return f"{drawn}{inert(proposal.prompt.request)}\n\nWrite {count}. Use the form asked for.\n"
    if operator in {CROSSOVER, REPAIR, SIMPLIFY}:
        return drawn + fill(templates, f"request_{operator}", count=count)
    if m == 1:
        return drawn + fill(templates, "request_one")
    if len(problem.objectives) < 2:
        return drawn + fill(templates, "request_scalar", count=m)
    names = ", ".join(one_line(name) for name in problem.objective_names)
    return drawn + fill(templates, "request_vector", count=m, names=names)


def noun_of(problem: Problem) -> str:
    """What policies are asked for: programs, or answers where a text is wanted that is in no language of programs."""
    return "answer" if problem.evaluator.text and problem.language == "text" else "program"
