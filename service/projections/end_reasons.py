"""Why runs and completions ended, in words, and what helps: the same in terminals and on pages."""

from collections.abc import Mapping

LENGTH = "length"
LENGTH_ADVICE = "a larger max_tokens, or fewer answers a chain, help"
_ENDS = {
    "target": "the target is reached",
    "evaluations": "the budget of evaluations is used up",
    "answers": "the budget of answers is used up",
    "tokens": "the budget of tokens is used up",
    "money": "the budget of money is used up",
    "wall_seconds": "the time is up",
    "stopping_rule": "its stopping rule ended it",
    "patience": "no better program came for the set number of evaluations",
    "exhausted": "nothing new comes any more",
    "error": "no seed could be scored",
    "policy_refused": "the policy refused one proposal after another",
    "no_usable_answers": "no answer of the policy could be used",
    "no_new_programs": "no answer was a new program",
    "no_valid_children": "every child failed",
    "extension_failed": "an extension failed",
    "recorded": "it was recorded from another loop",
}


def ending(reason: str) -> str:
    """Why a run ended, in words."""
    return _ENDS.get(reason, reason)


def length_advice(finish_reasons: Mapping[str, int]) -> str:
    """What helps completions that were cut off at their limit of tokens; empty: none was."""
    return LENGTH_ADVICE if finish_reasons.get(LENGTH) else ""
