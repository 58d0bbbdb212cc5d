"""Control tokens of chat models, made harmless in programs and feedback.

A server reads the text of a control token, such as the end-of-turn mark of ChatML, as the token itself. So a program
with such a text would end the prompt in its middle. `neutralise` breaks the text with an invisible character, and
`restore` removes exactly that character. So a program survives the way to the model and back.
"""

import re

BREAK = "\u2060"

# The bars and brackets that models of the field build their control tokens from. A lone word in angle brackets is taken
# for a token only when it is known, because programs are full of generics and of markup. Nothing between the bars is a
# bracket: so a token inside them is found by itself.
_BODY = (
    r"\|[^<>|\[\]\s]{1,80}\|>"
    r"|\uff5c[^<>\uff5c\[\]\s]{1,80}\uff5c>"
    r"|/?(?:s|bos|eos|pad|unk|cls|sep|mask|(?:start|end)_of_(?:turn|image|audio)|image_soft_token|think"
    r"|tool_(?:call|response)|fim_(?:prefix|middle|suffix|pad)|unused\d{1,4}|extra_id_\d{1,4})>"
    r"|</?SYS>>"
)
_BRACKETS = (
    r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG|PREFIX|MIDDLE|SUFFIX|THINK)\]"
)
# Each begins with its bracket, outside of any group: so the search jumps from bracket to bracket.
_TOKEN = rf"<({{breaks}})({_BODY})|\[({{breaks}})({_BRACKETS})"
_ANY = re.compile(_TOKEN.replace("{breaks}", f"{BREAK}*"))
_BROKEN = re.compile(_TOKEN.replace("{breaks}", f"{BREAK}+"))
_WHOLE = re.compile(_TOKEN.replace("{breaks}", ""))


def neutralise(text: str) -> str:
    """Break the text of every control token. A broken token gets a further break."""
    return _ANY.sub(_with_break, text)


def restore(text: str) -> str:
    """Undo `neutralise`: remove a break from the text of every broken control token."""
    return _BROKEN.sub(_without_break, text)


def guard(text: str) -> str:
    """Break whole tokens and leave broken tokens: the last check of a prompt before it is sent."""
    return _WHOLE.sub(_with_break, text)


def _with_break(match: re.Match[str]) -> str:
    opening, breaks, body = _parts(match)
    return f"{opening}{BREAK}{breaks}{body}"


def _without_break(match: re.Match[str]) -> str:
    opening, breaks, body = _parts(match)
    return f"{opening}{breaks[1:]}{body}"


def _parts(match: re.Match[str]) -> tuple[str, ...]:
    return match[0][0], *(group for group in match.groups() if group is not None)
