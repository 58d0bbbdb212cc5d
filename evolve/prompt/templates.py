"""The templates of a prompt, with named placeholders (`$name`). A user may replace each by its name."""

import difflib
import string
from collections.abc import Mapping
from dataclasses import dataclass

from evolve.errors import ConfigurationError
from evolve.prompt import texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A built-in text.

    Attributes:
        required: placeholders that a replacement must hold, for the prompt would miss its point without them.
        optional: placeholders that it may hold.
    """

    text: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


TEMPLATES: Mapping[str, Template] = {
    "system": Template(text=texts.SYSTEM),
    "problem": Template(text=texts.PROBLEM, required=("description", "objectives"), optional=("name", "language")),
    "objective": Template(
        text=texts.OBJECTIVE, required=("name", "direction"), optional=("bounds", "weight", "target")
    ),
    "reply": Template(text=texts.REPLY, required=("example", "edits", "regions"), optional=("count",)),
    "rewrite": Template(text=texts.REWRITE),
    "rewrite_region": Template(text=texts.REWRITE_REGION, required=("frame",)),
    "region_names": Template(text=texts.REGION_NAMES, required=("names",)),
    "rewrite_files": Template(text=texts.REWRITE_FILES),
    "diff": Template(text=texts.DIFF),
    "diff_files": Template(text=texts.DIFF_FILES),
    "repository": Template(text=texts.REPOSITORY, required=("mutable",)),
    "regions": Template(text=texts.REGIONS),
    "worktree": Template(text=texts.WORKTREE, required=("place", "files", "regions"), optional=("added",)),
    "worktree_one": Template(text=texts.WORKTREE_ONE),
    "worktree_copies": Template(text=texts.WORKTREE_COPIES, required=("count",)),
    "inspirations": Template(text=texts.INSPIRATIONS),
    "inspiration": Template(text=texts.INSPIRATION, required=("program",), optional=("number", "scores")),
    "failures": Template(text=texts.FAILURES, required=("failures",)),
    "parent": Template(text=texts.PARENT, required=("program", "scores")),
    "second_parent": Template(text=texts.SECOND_PARENT, required=("program", "scores")),
    "feedback": Template(text=texts.FEEDBACK, required=("feedback",)),
    "review": Template(text=texts.REVIEW, required=("review",)),
    "hint": Template(text=texts.HINT, required=("hint",)),
    "insights": Template(text=texts.INSIGHTS, required=("insights",)),
    "critic_system": Template(text=texts.CRITIC_SYSTEM),
    "critic": Template(text=texts.CRITIC),
    "ideas": Template(text=texts.IDEAS, required=("ideas",)),
    "advisor_system": Template(text=texts.ADVISOR_SYSTEM),
    "advisor": Template(text=texts.ADVISOR, required=("count", "example")),
    "analyst_system": Template(text=texts.ANALYST_SYSTEM),
    "analyst_facts": Template(text=texts.ANALYST_FACTS, required=("facts",)),
    "analyst_before": Template(text=texts.ANALYST_BEFORE, required=("before",)),
    "analyst_kept": Template(text=texts.ANALYST_KEPT, required=("kept",)),
    "analyst": Template(text=texts.ANALYST, optional=("words",)),
    "weights": Template(text=texts.WEIGHTS, required=("weights",)),
    "rejections": Template(text=texts.REJECTIONS, required=("rejections",), optional=("count",)),
    "write_prompt": Template(text=texts.WRITE_PROMPT, required=("problem", "request", "trials")),
    "request_one": Template(text=texts.REQUEST_ONE),
    "request_scalar": Template(text=texts.REQUEST_SCALAR, required=("count",)),
    "request_vector": Template(text=texts.REQUEST_VECTOR, required=("count",), optional=("names",)),
    "request_crossover": Template(text=texts.REQUEST_CROSSOVER, required=("count",)),
    "request_repair": Template(text=texts.REQUEST_REPAIR, required=("count",)),
    "request_simplify": Template(text=texts.REQUEST_SIMPLIFY, required=("count",)),
}


def check_templates(templates: Mapping[str, str]) -> None:
    """Check the user's templates, by name.

    Raises:
        ConfigurationError: a name or a placeholder is unknown, or a required placeholder is missing.
    """
    for name, text in templates.items():
        if name not in TEMPLATES:
            raise ConfigurationError(f"there is no template called {name!r}: {_hint(name, tuple(TEMPLATES))}")
        _check(name, text, TEMPLATES[name])


def fill(templates: Mapping[str, str], template: str, /, **values: object) -> str:
    """A template's text, or the user's, with its placeholders filled. The filled values are not read again."""
    return string.Template(templates.get(template, TEMPLATES[template].text)).substitute(values)


def _check(name: str, text: str, built_in: Template) -> None:
    known = (*built_in.required, *built_in.optional)
    template = string.Template(text)
    if not template.is_valid():
        raise ConfigurationError(
            f"template {name!r} holds a $ that starts no placeholder: write $$ for the sign itself"
        )
    found = template.get_identifiers()
    for placeholder in found:
        if placeholder not in known:
            raise ConfigurationError(
                f"template {name!r} has an unknown placeholder ${placeholder}: {_hint(placeholder, known)}"
            )
    for placeholder in built_in.required:
        if placeholder not in found:
            raise ConfigurationError(f"template {name!r} lacks the placeholder ${placeholder}")


def _hint(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else f"it may be {', '.join(known)}" if known else "it takes none"
