"""Answers in numbered tags: the request for them, and a tolerant parser."""

import re
from collections.abc import Callable
from typing import TypeVar

from evolve.answers.chain import MAX_ANSWER, ChainFormat, ChainParser
from evolve.answers.reasoning import ReasoningFilter
from evolve.domains.domain import DomainReply
from evolve.errors import ConfigurationError

Answer = TypeVar("Answer")
Read = Callable[[str], tuple[Answer | None, str]]

MISSING = "the completion holds no further answer"


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


def blocks(text: str, tag: str, m: int, cut: bool) -> tuple[list[str], list[str]]:
    """Answers in tags of that name. A completion without such a tag is a single answer, and says so.

    Raises:
        ConfigurationError: `m` is below 1.
    """
    check_count(m)
    said = spoken(text)
    if mentions(said, tag):
        return tagged(said, ChainFormat(kind="tags", tag=tag), m, cut)
    if not said.strip() or len(said) > MAX_ANSWER:
        return [], ["the completion holds no answer in the format asked for"]
    return [said], [f"no <{tag}> tags: the whole completion was read as one answer"] if m > 1 else []


def taken(found: list[str], m: int) -> tuple[list[str], list[str]]:
    """The first `m` answers, and a note about the others."""
    rest = len(found) - m
    return found[:m], [f"{rest} answer{'s' if rest > 1 else ''} beyond the {m} asked for"] if rest > 0 else []


def fill(found: list[str], dropped: list[str], m: int, read: Read[Answer]) -> DomainReply[Answer]:
    """Parse the found texts as answers, and fill up to `m`."""
    pairs = [read(text) for text in found]
    pairs += [(None, MISSING)] * (m - len(pairs))
    return DomainReply(
        answers=tuple(answer for answer, _ in pairs),
        reasons=tuple(reason for _, reason in pairs),
        dropped=tuple(dropped),
    )


def field(text: str, tag: str) -> str | None:
    """The text in the first tag of that name, up to the next tag if it is not closed. None without such a tag."""
    opening = re.search(rf"<{re.escape(tag)}>", text, re.IGNORECASE)
    if opening is None:
        return None
    rest = text[opening.end() :]
    closing = re.search(rf"</{re.escape(tag)}>", rest, re.IGNORECASE)
    if closing is None:
        closing = re.search(r"</?[A-Za-z]", rest)
    return rest[: closing.start() if closing else len(rest)].strip()
