"""The prompt by which a model writes a prompt, and the reading of what it writes."""

import re
from collections.abc import Callable

from evolve.answers.reasoning import ReasoningFilter
from evolve.prompt.space import PromptRequest
from evolve.prompt.templates import TEMPLATES, fill
from evolve.prompt.text import cut_middle, fenced, inert
from evolve.proposal import Message, Prompt, PromptTrial

MAX_PART_CHARACTERS = 4000
_PART = re.compile(r"<(problem|request)>\s*(.*?)\s*</\1>", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def build_writing_prompt(request: PromptRequest, count: Callable[[str], int]) -> Prompt:
    """Build the prompt of a proposal that writes a prompt: the configured texts, and the trials, the best first."""
    system = request.config.system or fill(request.templates, "system")
    trials = request.proposal.prompt_trials
    best = trials[0]
    text = fill(
        request.templates,
        "write_prompt",
        problem=fenced(inert(best.problem or request.problem.description.strip())),
        request=fenced(inert(best.request or _request(request))),
        trials="\n".join(_line(trial) for trial in trials),
    )
    messages = (Message(role="system", parts=(system,)), Message(role="user", parts=(text,)))
    return Prompt(messages=messages, tokens=count(system) + count(text))


def read_written(completion: str) -> tuple[str, str]:
    """The text of the problem and the request that a model wrote; empty: it wrote none."""
    reasoning = ReasoningFilter()
    text = reasoning.feed(completion) + reasoning.close()
    parts = {match[1]: _CONTROL.sub("", cut_middle(match[2], MAX_PART_CHARACTERS)) for match in _PART.finditer(text)}
    return parts.get("problem", ""), parts.get("request", "")


def _request(request: PromptRequest) -> str:
    template = "request_scalar" if len(request.problem.objectives) < 2 else "request_vector"
    return request.templates.get(template, TEMPLATES[template].text).strip()


def _line(trial: PromptTrial) -> str:
    texts = " and ".join(name for name in ("problem", "request") if getattr(trial, name)) or "the first texts"
    return f"- prompt {trial.number} ({texts}): {trial.proposals} proposals, mean gain {trial.gain:.4f}"
