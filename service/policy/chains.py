"""The chains of a completion: each choice of the stream is parsed into answers as it is written."""

from collections import Counter

from evolve.answers.broken_prefix import BrokenPrefixDetector
from evolve.answers.chain import ChainFormat, ChainParser
from evolve.answers.reasoning import split_reasoning
from evolve.answers.repetition import RepetitionDetector
from evolve.prompt.control_tokens import restore
from evolve.proposal import Answer, RejectedText
from service.policy.openai_protocol import Delta, StreamChunk

CUT = "cut"
_REPEATED = "the completion only repeated itself, so it was stopped"
MAX_REASONING_CHARACTERS = 16_384  # kept of a chain
# Why a chain was ended here: it held all answers that were wanted and went on, it only said the same again, or its one
# program could no longer become valid.
STOPPED = "stopped"
REPETITION = "repetition"
BROKEN = "broken"
_ENDED_HERE = frozenset({STOPPED, REPETITION, BROKEN})
# Characters that a chain may go on behind its last answer, so that it may come to its own end and its tokens be told.
MAX_SURPLUS = 512
# What is said of a chain that did not come to its own end.
BROKEN_OFF = frozenset({CUT, REPETITION, BROKEN, "length", "abort", "error", "content_filter"})


class ChainCollector:
    """Collects n chains and returns their answers, at most `limit` of them in all.

    Args:
        chain_format: separation of the answers.
        edits: form of an answer's text.
        samples: n, requested chains.
        answers: m, maximum number of answers of a chain.
        limit: maximum number of answers of all chains. The first chains come first.
        shown: candidates in the prompt.
        python: whether each chain holds a single Python program, and ends when that can no longer become valid.
        beginning: of each chain, which is prefilled and not written.
    """

    def __init__(
        self,
        chain_format: ChainFormat,
        *,
        edits: str,
        samples: int,
        answers: int,
        limit: int,
        shown: tuple[str, ...] | None = None,
        python: bool = False,
        beginning: str = "",
    ) -> None:
        quotas = [max(0, min(answers, limit - chain * answers)) for chain in range(samples)]
        self._parsers = [ChainParser(chain_format, quota) for quota in quotas]
        self._texts: list[list[str]] = [[] for _ in quotas]
        self._reasoning = [""] * samples
        self._seen: set[int] = set()
        self._finish_reasons = [""] * samples
        self._detectors = [RepetitionDetector() for _ in quotas]
        self._surplus = [0] * samples
        self._programs = [BrokenPrefixDetector() for _ in quotas] if python else []
        self._broken: dict[int, str] = {}
        for parser in self._parsers:
            parser.feed(beginning)
        for detector in self._programs:
            detector.feed(beginning)
        self._edits = edits
        self._shown = shown
        self.handed = 0

    @property
    def finished(self) -> bool:
        """Whether every chain has ended."""
        return all(self._finish_reasons)

    @property
    def needless(self) -> bool:
        """Whether nothing that a server may still write is of use, though it has not ended."""
        return self.finished and not _ENDED_HERE.isdisjoint(self._finish_reasons)

    def over(self, chain: int) -> bool:
        """Whether a chain was ended here."""
        return self._finish_reasons[chain] in _ENDED_HERE

    @property
    def silent(self) -> list[int]:
        """The empty chains."""
        return [chain for chain in range(len(self._parsers)) if chain not in self._seen]

    @property
    def reasoning(self) -> tuple[str, ...]:
        """The start of each chain's thoughts, separate from its text or before it. Empty: none."""
        thoughts = tuple(
            (told + split_reasoning("".join(parts))[0])[:MAX_REASONING_CHARACTERS]
            for told, parts in zip(self._reasoning, self._texts, strict=True)
        )
        return thoughts if any(thoughts) else ()

    @property
    def completions(self) -> tuple[str, ...]:
        """The text of each chain as it was written, from the end of its reasoning on."""
        return tuple(split_reasoning("".join(parts))[1] for parts in self._texts)

    @property
    def finish_reasons(self) -> tuple[str, ...]:
        """The finish reason of each chain by the server. `cut` if the stream broke off."""
        return tuple(self._finish_reasons)

    @property
    def dropped(self) -> tuple[RejectedText, ...]:
        """The dropped parts."""
        return tuple(
            RejectedText(chain=chain, reason=self._broken.get(chain) or self._reason(chain, reason))
            for chain, parser in enumerate(self._parsers)
            for reason in parser.dropped
        )

    @property
    def recovered(self) -> dict[str, int]:
        """How many answers were not set apart as asked, and taken all the same, by kind."""
        counts: Counter[str] = Counter()
        for parser in self._parsers:
            counts.update(parser.recovered)
        return dict(counts)

    def feed(self, chunk: StreamChunk) -> list[Answer]:
        """Take an event. Returns the answers that it completes. Unrequested choices are ignored."""
        return [answer for delta in chunk.deltas for answer in self._take(delta)]

    def close(self, finish_reason: str) -> list[Answer]:
        """End the unfinished chains. Returns the answers that the end completes."""
        return [
            answer
            for chain, reason in enumerate(self._finish_reasons)
            if not reason
            for answer in self._finish(chain, finish_reason)
        ]

    def _take(self, delta: Delta) -> list[Answer]:
        chain = delta.choice
        if not 0 <= chain < len(self._parsers) or self._finish_reasons[chain]:
            return []
        self._seen.add(chain)
        if len(self._reasoning[chain]) < MAX_REASONING_CHARACTERS:
            self._reasoning[chain] = (self._reasoning[chain] + delta.reasoning)[:MAX_REASONING_CHARACTERS]
        self._texts[chain].append(delta.text)
        full = self._parsers[chain].full
        answers = self._hand_on(chain, delta.text)
        reason = delta.finish_reason or self._needless(chain, delta, full)
        return answers + (self._finish(chain, reason) if reason else [])

    def _needless(self, chain: int, delta: Delta, full: bool) -> str:
        """Why a chain ends before its server ends it. Empty: it does not.

        Args:
            chain: of the delta.
            delta: the last part.
            full: whether the chain held all answers before that.
        """
        self._surplus[chain] += len(delta.text) if full else 0
        if self._surplus[chain] > MAX_SURPLUS:
            return STOPPED
        if self._detectors[chain].feed(delta.text):
            return REPETITION
        if self._programs and (complaint := self._programs[chain].feed(delta.text)):
            self._broken[chain] = complaint
        return BROKEN if chain in self._broken else ""

    def _reason(self, chain: int, told: str) -> str:
        return _REPEATED if self._finish_reasons[chain] == REPETITION else told

    def _hand_on(self, chain: int, text: str) -> list[Answer]:
        return self._answers(chain, [(parsed.index, parsed.text) for parsed in self._parsers[chain].feed(text)])

    def _finish(self, chain: int, reason: str) -> list[Answer]:
        self._finish_reasons[chain] = reason
        rest = self._parsers[chain].close(cut=reason in BROKEN_OFF)
        return self._answers(chain, [(parsed.index, parsed.text) for parsed in rest])

    def _answers(self, chain: int, parsed: list[tuple[int, str]]) -> list[Answer]:
        self.handed += len(parsed)
        return [
            Answer(chain=chain, index=index, text=restore(text), edits=self._edits, shown=self._shown)
            for index, text in parsed
        ]
