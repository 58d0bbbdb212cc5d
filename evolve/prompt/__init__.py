"""Prompts: the problem, a parent and related programs, fitted to the policy's context."""

from evolve.prompt.advice import build_ideas_prompt, build_review_prompt, read_ideas
from evolve.prompt.build import build_prompt
from evolve.prompt.insights import AnalystRequest, build_insights_prompt
from evolve.prompt.space import PromptRequest
from evolve.prompt.templates import TEMPLATES, check_templates
from evolve.prompt.writing import build_writing_prompt, read_written

__all__ = [
    "TEMPLATES",
    "AnalystRequest",
    "PromptRequest",
    "build_ideas_prompt",
    "build_insights_prompt",
    "build_prompt",
    "build_review_prompt",
    "build_writing_prompt",
    "check_templates",
    "read_ideas",
    "read_written",
]
