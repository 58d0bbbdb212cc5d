"""Control tokens of chat models, kept from acting where their text turns up in programs and feedback.

A server reads the text of a control token, such as the end-of-turn mark of ChatML, as the token itself wherever it
stands, so a program that holds one would end the prompt in its middle. `neutralise` breaks such text with an invisible
character and `restore` takes exactly that break out again, so a program survives the way to the model and back.
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
    """Break the text of every control token; a token that is broken already gets one more break."""
    return _ANY.sub(_with_break, text)


def restore(text: str) -> str:
    """Undo `neutralise`: take one break out of the text of every broken control token."""
    return _BROKEN.sub(_without_break, text)


def guard(text: str) -> str:
    """Break the tokens that are whole and leave the broken ones: the last look at a prompt before it is sent."""
    return _WHOLE.sub(_with_break, text)


def _with_break(match: re.Match[str]) -> str:
    opening, breaks, body = _parts(match)
    return f"{opening}{BREAK}{breaks}{body}"


def _without_break(match: re.Match[str]) -> str:
    opening, breaks, body = _parts(match)
    return f"{opening}{breaks[1:]}{body}"


def _parts(match: re.Match[str]) -> tuple[str, ...]:
    return match[0][0], *(group for group in match.groups() if group is not None)
