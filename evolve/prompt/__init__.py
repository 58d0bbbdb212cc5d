"""Prompts: what a policy is shown of a problem, a parent and its kin, fitted to the policy's context."""

from evolve.prompt.build import PromptRequest, build_prompt, build_review_prompt
from evolve.prompt.templates import TEMPLATES, check_templates

__all__ = ["TEMPLATES", "PromptRequest", "build_prompt", "build_review_prompt", "check_templates"]
