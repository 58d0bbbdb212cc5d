"""The request of a prompt, in the words of the operator, of a template or of the prompt pool."""

from typing import TYPE_CHECKING

from evolve.credit.operators import CROSSOVER, MUTATE, REPAIR, SIMPLIFY, Operator
from evolve.prompt.scores import weights_text
from evolve.prompt.templates import fill
from evolve.prompt.text import inert, one_line

if TYPE_CHECKING:
    from evolve.prompt.build import PromptRequest


def request_text(request: "PromptRequest", operator: str, m: int) -> str:
    """The request for m programs.

    Args:
        request: of the prompt.
        operator: that is asked for. It may differ from the proposal's where the second parent has no room.
        m: answers of a chain.
    """
    problem, templates = request.problem, request.templates
    weights = request.proposal.weights if len(problem.objectives) > 1 and operator != SIMPLIFY else ()
    drawn = fill(templates, "weights", weights=weights_text(problem, weights)) if weights else ""
    count = "one program" if m == 1 else f"{m} genuinely different programs"
    if request.proposal.request and operator == request.proposal.operator:
        return f"{drawn}{Operator(request=request.proposal.request).policy_request(count)}\n"
    if request.proposal.prompt and request.proposal.prompt.request and operator == MUTATE:
        return f"{drawn}{inert(request.proposal.prompt.request)}\n\nWrite {count}. Use the form asked for.\n"
    if operator in {CROSSOVER, REPAIR, SIMPLIFY}:
        return drawn + fill(templates, f"request_{operator}", count=count)
    if m == 1:
        return drawn + fill(templates, "request_one")
    if len(problem.objectives) < 2:
        return drawn + fill(templates, "request_scalar", count=m)
    names = ", ".join(one_line(name) for name in problem.objective_names)
    return drawn + fill(templates, "request_vector", count=m, names=names)
