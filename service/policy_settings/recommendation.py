"""Recommended settings: the next reply form to try, and the conclusions from the tried forms."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evolve.answers.continuation import CONTINUE
from evolve.proposal import CompletedReply
from evolve.reply_form import ReplyForm
from evolve.search.format_yield import FormatYield
from service.policy_settings.settings import PolicySettings

ANSWERS = 8  # asked for in each form
MAX_FORMS = 3
CLEARLY_BETTER = 1.5
MIN_CUT_SHARE = 0.25  # of the completions, from which a larger limit is worth it
LENGTH = "length"
MAX_TOKENS_LIMIT = 32_768

Recommended = dict[str, Any]


def sized(form: ReplyForm) -> ReplyForm:
    """The form with as many chains as give `ANSWERS` answers, at least one."""
    samples = max(1, ANSWERS // form.answers) if form.samples > 1 else 1
    return ReplyForm(format=form.format, edits=form.edits, answers=form.answers, samples=samples)


def next_form(forms: Sequence[ReplyForm], tried: Sequence[FormatYield]) -> ReplyForm | None:
    """The form to try next. None: enough are known.

    First comes the policy's own, then the other number of answers, then the other kind of edits with the better number.
    If nothing was valid by then, the last is a prefilled reply, if possible.

    Args:
        forms: possible forms of the policy, its own first.
        tried: so far.
    """
    known = {_key(found.form) for found in tried}
    left = [form for form in forms if _key(form) not in known]
    if not left or len(tried) >= MAX_FORMS:
        return None
    if not tried:
        return left[0]
    begun = [form for form in left if form.edits == CONTINUE]
    if begun and (left == begun or (len(tried) == MAX_FORMS - 1 and not any(found.valid for found in tried))):
        return begun[0]
    left = [form for form in left if form.edits != CONTINUE]
    best = best_yield(tried).form
    same_edits = [form for form in left if _key(form)[0] == _key(forms[0])[0]]
    same_answers = [form for form in left if form.answers == best.answers]
    return (same_edits or same_answers or left)[0]


def _key(form: ReplyForm) -> tuple[str, int]:
    """What makes a form another one."""
    return form.edits, form.answers


def best_yield(tried: Sequence[FormatYield]) -> FormatYield:
    """The form with the most valid programs for its tokens. An earlier form wins unless a later form is clearly better.

    Eight answers are little evidence, so a later form must bring `CLEARLY_BETTER` times as much.
    """
    best = tried[0]
    for found in tried[1:]:
        if _worth(found) > CLEARLY_BETTER * _worth(best):
            best = found
    return best


def _worth(found: FormatYield) -> float:
    """Valid programs per 1,000 tokens. Without valid programs, a little for readable answers."""
    return found.valid_per_kilotoken or 1e-6 * (found.parsed + found.new)


def recommended_settings(settings: PolicySettings, tried: Sequence[FormatYield], model: str) -> Recommended:
    """The settings with the results.

    Args:
        settings: as tried.
        tried: at least one form.
        model: the answering model.
    """
    form = best_yield(tried).form
    found = {**settings.describe(), "model": model or settings.model}
    found |= {"format": form.format, "edits": _key(form)[0], "answers": form.answers}
    found |= {"adapt": list(settings.adaptable)} if settings.adaptable else {}
    completions = [one.completed for one in tried if one.completed]
    if _share(completions, LENGTH) >= MIN_CUT_SHARE:
        found["max_tokens"] = min(settings.max_tokens * 2, max(settings.max_tokens, MAX_TOKENS_LIMIT))
    return {
        key: value
        for key, value in found.items()
        if key in settings.acting and value not in (None, "") and not _default(key, value)
    }


def _default(key: str, value: object) -> bool:
    if key in ("base_url", "model", "name", "edits", "answers", "adapt"):
        return False
    field = PolicySettings.model_fields[key]
    return bool(value == field.get_default(call_default_factory=True))


def _share(completions: Sequence[CompletedReply], reason: str) -> float:
    endings = [ending for completed in completions for ending in completed.finish_reasons]
    return endings.count(reason) / len(endings) if endings else 0.0


def advice(settings: PolicySettings, tried: Sequence[FormatYield]) -> list[str]:
    """Sentences on what would help; empty: nothing comes to mind."""
    completions = [one.completed for one in tried if one.completed]
    said: list[str] = []
    cut = _share(completions, LENGTH)
    thought = sum(one.usage.reasoning for one in completions)
    written = sum(one.usage.output for one in completions)
    if thought > written / 2:
        said.append('most tokens went into reasoning: set reasoning_effort = "low", or a larger max_tokens')
    elif cut >= MIN_CUT_SHARE:
        said.append(f"{cut:.0%} of the completions reached max_tokens = {settings.max_tokens}: raise it")
    if not any(one.valid for one in tried):
        said.append("no answer could be used: try a lower temperature, a larger model, or evolve train sft")
    return said


def as_policy_file(values: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """A policy file with one policy."""
    lines = [*(f"# {line}" for line in comments), "[[policies]]"]
    lines += [f"{key} = {_toml(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        entries = {str(key): entry for key, entry in value.items() if entry is not None}
        return "{ " + ", ".join(f"{_toml_key(key)} = {_toml(entry)}" for key, entry in entries.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # Strings, numbers and booleans are written as in JSON, which leaves one control character as it is.
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")


def _toml_key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)
