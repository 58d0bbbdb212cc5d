"""Reasoning that a policy writes in front of its answers: taken out while it streams, for it may speak of answers."""

import re

from evolve.answers.markup import Fence, fence_after

NAMES = ("think", "thinking", "thought", "reasoning")
_HARMONY = "<|channel|>analysis<|message|>"
# How a block of reasoning begins, and how it ends: XML tags, the tokens of Seed and Magistral, and OpenAI's harmony.
_BLOCKS = {
    **{f"<{name}>": f"</{name}>" for name in NAMES},
    "<seed:think>": "</seed:think>",
    "[think]": "[/think]",
    _HARMONY: "<|channel|>final<|message|>",
}
_MAX_MARK = max(len(mark) for pair in _BLOCKS.items() for mark in pair)
# A template may put the opening mark into the prompt: then a completion ends its reasoning without having begun it.
END_MARKS = tuple(f"</{name}>" for name in (*NAMES, "seed:think"))
END_MARK = re.compile("|".join(END_MARKS), re.IGNORECASE | re.ASCII)
_MAX_SPACE = 200
# In front of the end of reasoning these are signs of an answer, or of reasoning that the completion itself began.
_ANSWERED = re.compile(rf"```|~~~|</|<<<<|<(?:{'|'.join(NAMES)}|seed:think)>|\[think\]", re.IGNORECASE | re.ASCII)


class ReasoningFilter:
    """Passes a completion on without a leading `<think> ... </think>` block.

    A model that should answer in tags mentions those tags while it thinks, and its thoughts are not an answer. Only a
    block at the start of the completion is removed. If it never ends, it contains the rest, and the completion has no
    answer.
    """

    def __init__(self) -> None:
        self._held = ""
        self._past = False
        self._closing: re.Pattern[str] | None = None

    def feed(self, text: str) -> str:
        """Take the next piece of the completion. Returns its text without reasoning."""
        if self._past:
            return text
        self._held += text
        if self._closing is None:
            return self._start()
        return self._skip(self._closing)

    def close(self) -> str:
        """End the completion. Returns the text that was held back until it was clear that no block starts."""
        return "" if self._past or self._closing is not None else self._pass(0)

    def _start(self) -> str:
        body = self._held.lstrip()
        if len(self._held) - len(body) > _MAX_SPACE:
            return self._pass(0)
        beginning = body[:_MAX_MARK].lower()
        for opening, closing in _BLOCKS.items():
            if beginning.startswith(opening):
                self._closing = re.compile(re.escape(closing), re.IGNORECASE | re.ASCII)
                self._held = body[len(opening) :]
                return self._skip(self._closing)
        undecided = any(opening.startswith(beginning) for opening in _BLOCKS)
        return "" if undecided else self._pass(0)

    def _skip(self, closing: re.Pattern[str]) -> str:
        found = closing.search(self._held)
        if found is not None:
            return self._pass(found.end())
        self._held = self._held[-len(closing.pattern) :]
        return ""

    def _pass(self, start: int) -> str:
        text, self._held, self._past = self._held[start:], "", True
        return text


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning at the start of a completion, without its marks, and the rest.

    Reasoning that started in the prompt has only an end mark. If answers come before such a mark, it may be part of an
    answer, and nothing is separated.
    """
    body = text.lstrip()
    for opening, closing in _BLOCKS.items():
        if body[: len(opening)].lower() == opening and len(text) - len(body) <= _MAX_SPACE:
            thought = body[len(opening) :]
            found = re.search(re.escape(closing), thought, re.IGNORECASE | re.ASCII)
            return (thought, "") if found is None else (thought[: found.start()], thought[found.end() :])
    ended = END_MARK.search(text)
    if ended is None or _ANSWERED.search(text, 0, ended.start()):
        return "", text
    return text[: ended.start()], text[ended.end() :]


def after_reasoning(text: str) -> str:
    """A completion after the end of reasoning that started in the prompt, or all of it without such an end.

    An end mark inside a fenced block is part of a program.
    """
    if END_MARK.search(text) is None:
        return text
    rest: list[str] = []
    opened: Fence | None = None
    for line in text.split("\n"):
        found = END_MARK.search(line) if opened is None else None
        if found is not None:
            rest.clear()
        kept = line[found.end() :] if found is not None else line
        rest.append(kept)
        opened = fence_after(kept, opened)
    said = "\n".join(rest)
    return said if said.strip() else text
