"""Messages about values that pydantic refuses, in words of the sender."""

import re
from difflib import get_close_matches

from pydantic_core import ErrorDetails

MAX_LISTED = 300  # characters of all allowed values
_SIMILAR = 3
_MAX_SHOWN = 60
# A choice of words, or a list of them: `^(a|b)?$` and `^((a|b)(,(a|b))*)?$`.
_WORD = r"[a-z_-]+(?:\\\.[a-z_-]+)*"
_CHOICE = re.compile(rf"\^\(?\((?P<words>{_WORD}(?:\|{_WORD})+)\)(?P<list>\(,\([^()]*\)\)\*\))?\??\$")
_RULES = {r"^[^\x00]*$": "must not hold NUL characters", r"^[0-9]{0,9}$": "must be a whole number"}


def message_of(error: ErrorDetails, description: str = "") -> str:
    """What is wrong with a value.

    Args:
        error: pydantic's error.
        description: of the field or parameter; empty: it has none.
    """
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] != "string_pattern_mismatch":
        return message
    pattern, value = str(error["ctx"]["pattern"]), str(error["input"])
    if choice := _CHOICE.fullmatch(pattern):
        words = choice["words"].replace("\\", "").split("|")
        values = value.split(",") if choice["list"] else [value]
        return _not_among(next((one for one in values if one not in words), value), words)
    if pattern in _RULES:
        return _RULES[pattern]
    form = re.sub("`", "", re.split(r"\.(?:\s|$)", description)[0])
    return f"{value[:_MAX_SHOWN]!a} has the wrong form ({form[0].lower()}{form[1:]})" if form else message


def _not_among(value: str, words: list[str]) -> str:
    shown, listed = f"{value[:_MAX_SHOWN]!a}", ", ".join(words)
    if len(listed) <= MAX_LISTED:
        return f"{shown} is not one of {listed}"
    similar = get_close_matches(value[:_MAX_SHOWN], words, _SIMILAR, 0.0)
    return f"{shown} is not one of the {len(words)} possible values, such as {', '.join(similar)}"
