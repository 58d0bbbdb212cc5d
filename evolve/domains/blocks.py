"""Answers in numbered tags: the request for them, and a tolerant parser."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from evolve.answers.chain import MAX_ANSWER, ChainFormat, ChainParser
from evolve.answers.reasoning import ReasoningFilter
from evolve.domains.domain import DomainReply
from evolve.errors import ConfigurationError

Answer = TypeVar("Answer")
Read = Callable[[str], tuple[Answer | None, str]]

MISSING = "the completion holds no further answer"
UNFORMED = "the completion holds no answer in the format asked for"


def check_count(m: int) -> None:
    """Refuse an invalid number of answers.

    Raises:
        ConfigurationError: it is below 1.
    """
    if m < 1:
        raise ConfigurationError(f"a completion is asked for at least 1 answer, not for {m}")


def tagged(text: str, chain_format: ChainFormat, m: int, cut: bool) -> tuple[list[str], list[str]]:
    """The texts of up to `m` answers in their order, and the dropped parts."""
    parser = ChainParser(chain_format, m, programs=False)
    parsed = [*parser.feed(text), *parser.close(cut)]
    return [one.text for one in parsed], parser.dropped


def mentions(text: str, tag: str) -> bool:
    """Whether a tag of that name, numbered or not, is opened in the text."""
    return re.search(rf"<{re.escape(tag)}[ _-]?[0-9]{{0,6}}[ \t]{{0,8}}>", text, re.IGNORECASE) is not None


def spoken(text: str) -> str:
    """The completion without the reasoning in front of it."""
    reasoning = ReasoningFilter()
    return reasoning.feed(text) + reasoning.close()


def blocks(text: str, tag: str, m: int, cut: bool, strict: bool) -> tuple[list[str | None], list[str]]:
    """The texts of answers in tags of that name, and what was dropped.

    Args:
        text: the completion.
        tag: its name, without the number.
        m: answers that were asked for.
        cut: the completion was cut off.
        strict: several answers stand in closed tags with the numbers 1 to m, in any order, or they are missing. Else
            numbers are not read, a tag may be left open, and a completion without any is one answer.

    Raises:
        ConfigurationError: `m` is below 1.
    """
    check_count(m)
    said = spoken(text)
    if strict and m > 1:
        return numbered(said, tag, m)
    if not strict and mentions(said, tag):
        found, dropped = tagged(said, ChainFormat(kind="tags", tag=tag), m, cut)
        return [*found], dropped
    if not said.strip() or len(said) > MAX_ANSWER:
        return [], [UNFORMED]
    return [said], [f"no <{tag}> tags: the whole completion was read as one answer"] if m > 1 else []


def numbered(text: str, tag: str, m: int) -> tuple[list[str | None], list[str]]:
    """What stands in `<tag_1>` to `<tag_m>`, None where one is missing, left open or too long, and what was dropped."""
    found = [between(text, f"{tag}_{number}") for number in range(1, m + 1)]
    kept = [one if one is not None and len(one) <= MAX_ANSWER else None for one in found]
    return kept, [] if any(kept) else [UNFORMED]


def between(text: str, tag: str) -> str | None:
    """What stands between the first tag of exactly that name and the closing tag behind it; None without both."""
    start = text.find(f"<{tag}>")
    end = text.find(f"</{tag}>", start)
    return None if start < 0 or end < 0 else text[start + len(tag) + 2 : end]


def taken(found: list[str], m: int) -> tuple[list[str], list[str]]:
    """The first `m` answers, and a note about the others."""
    rest = len(found) - m
    return found[:m], [f"{rest} answer{'s' if rest > 1 else ''} beyond the {m} asked for"] if rest > 0 else []


def fill(found: Sequence[str | None], dropped: list[str], m: int, read: Read[Answer]) -> DomainReply[Answer]:
    """Read what was found as answers, None as a missing one, and fill up to `m`."""
    pairs = [(None, MISSING) if text is None else read(text) for text in found]
    pairs += [(None, MISSING)] * (m - len(pairs))
    return DomainReply(
        answers=tuple(answer for answer, _ in pairs),
        reasons=tuple(reason for _, reason in pairs),
        dropped=tuple(dropped),
    )


def field(text: str, tag: str, strict: bool) -> str | None:
    """What stands in the first tag of that name; None without such a tag.

    Args:
        text: the answer.
        tag: its name.
        strict: the tag is written exactly so, and closed. Else case does not matter, and the next tag may end it.
    """
    if strict:
        inside = between(text, tag)
        return None if inside is None else inside.strip()
    opening = re.search(rf"<{re.escape(tag)}>", text, re.IGNORECASE)
    if opening is None:
        return None
    rest = text[opening.end() :]
    closing = re.search(rf"</{re.escape(tag)}>", rest, re.IGNORECASE)
    if closing is None:
        closing = re.search(r"</?[A-Za-z]", rest)
    return rest[: closing.start() if closing else len(rest)].strip()
