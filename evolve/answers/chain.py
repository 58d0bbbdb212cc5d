"""Chains: a policy's completion, parsed into its answers while it is being written."""

import re
from dataclasses import dataclass

from evolve.answers.reasoning import NAMES, ReasoningFilter, after_reasoning
from evolve.answers.recovery import recover
from evolve.answers.scanners import AnswerBuffer, FenceScanner, ParsedAnswer, Scanner, SingleScanner, TagScanner
from evolve.errors import ConfigurationError

MAX_ANSWER = 100_000
MAX_RECOVERED = 400_000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_ENDS_IN_NUMBER = re.compile(r".*[_-]?[0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFormat:
    """The separation of the answers of a chain.

    Attributes:
        kind: `tags`, `fences` or `single`.
        tag: name of the numbered tags, without the number. Empty for the other kinds.
    """

    kind: str
    tag: str = ""


def parse_format(text: str) -> ChainFormat:
    """Read the name of a format: `tags:NAME`, `fences` or `single`.

    Raises:
        ConfigurationError: it is none of them.
    """
    if text in {"fences", "single"}:
        return ChainFormat(kind=text)
    kind, _, tag = text.partition(":")
    if kind != "tags":
        raise ConfigurationError(f"format = {text!r} is unknown: choose tags:NAME, fences or single")
    if not _NAME.fullmatch(tag) or _ENDS_IN_NUMBER.fullmatch(tag) or tag.lower() in NAMES:
        raise ConfigurationError(
            f"format = {text!r} needs a tag name of letters, digits, - and _ that does not end in a digit, such as"
            " tags:answer"
        )
    return ChainFormat(kind="tags", tag=tag)


def example(chain_format: ChainFormat, m: int, body: str = "...") -> str:
    """A skeleton of the reply that the format expects: `m` answers, each holding `body`."""
    if chain_format.kind == "tags":
        names = [f"{chain_format.tag}_{number}" for number in range(1, m + 1)]
        return "\n".join(f"<{name}>\n{body}\n</{name}>" for name in names)
    if chain_format.kind == "fences":
        return "\n---\n".join([f"```\n{body}\n```"] * m)
    return body


class ChainParser:
    """Parses the answers of a completion as its text arrives, in any pieces.

    The parser is tolerant. Numbers of tags may be missing, repeated or out of order, there may be prose around, and a
    block may stay open. Reasoning in `<think>` at the start is ignored. The work is linear in the text, however it is
    cut up. The parser keeps the current answer, a few counts, and the text as long as it holds no answer, up to
    `MAX_RECOVERED` characters. Any text is parsed without an exception.

    Attributes:
        recovered: number of answers that were not separated as requested, by kind: `untagged` or `json`.
    """

    def __init__(
        self, chain_format: ChainFormat, limit: int, longest: int = MAX_ANSWER, *, programs: bool = True
    ) -> None:
        """Take at most `limit` answers of at most `longest` characters.

        Args:
            chain_format: separation of the answers.
            limit: maximum number of answers.
            longest: maximum number of characters of an answer.
            programs: whether answers are programs. Otherwise words are an answer too.
        """
        self._outbox = AnswerBuffer(limit=limit, longest=longest)
        self._reasoning = ReasoningFilter()
        self._programs = programs
        self._unread: list[str] = []
        self._unread_length = 0
        self.recovered: dict[str, int] = {}
        self._scanner: Scanner
        match chain_format.kind:
            case "tags":
                self._scanner = TagScanner(chain_format.tag, self._outbox, programs)
            case "fences":
                self._scanner = FenceScanner(self._outbox)
            case _:
                self._scanner = SingleScanner(self._outbox)

    def feed(self, text: str) -> list[ParsedAnswer]:
        """Take the next piece of the completion. Returns the answers that it completes."""
        self._scan(self._reasoning.feed(text))
        return self._outbox.collect()

    def close(self, cut: bool = False) -> list[ParsedAnswer]:
        """End the completion. Returns the answers that its end completes.

        Args:
            cut: the completion was cut off (finish reason `length`). An open answer is then dropped.
        """
        self._scan(self._reasoning.close())
        self._scanner.close(cut)
        if self._programs and not self._outbox.taken and self._unread_length <= MAX_RECOVERED:
            self._recover(cut)
        self._outbox.close()
        return self._outbox.collect()

    def _scan(self, text: str) -> None:
        self._scanner.feed(text)
        self._unread_length += len(text)
        if self._outbox.taken or self._unread_length > MAX_RECOVERED:
            self._unread.clear()
        else:
            self._unread.append(text)

    def _recover(self, cut: bool) -> None:
        """Take clear answers of a completion that separates none as requested."""
        found = recover(after_reasoning("".join(self._unread)), self._outbox.limit, cut=cut)
        for text in found.texts:
            self._outbox.write(text)
            self._outbox.take()
        if self._outbox.taken:
            self.recovered[found.kind] = self._outbox.taken

    @property
    def full(self) -> bool:
        """Whether all requested answers are there. Further text is then useless."""
        return self._outbox.taken >= self._outbox.limit

    @property
    def dropped(self) -> list[str]:
        """The dropped parts, with a sentence for each reason."""
        return self._outbox.reasons()
