"""The policy that is a function of the user's own: a prompt in, a completion or a list of answers out."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from evolve.answers.chain import ChainParser, parse_format
from evolve.errors import PolicyError, PolicyRefused
from evolve.prompt.control_tokens import restore
from evolve.proposal import Answer, CompletedReply, Proposal, RejectedText, Reply
from service.errors import UsageError
from service.policy.request_options import PromptBuilder, fitted, sendable
from service.policy.tokens import estimate_tokens

# What a call came to: what it returned, or what it raised.
Attempt = tuple[object, BaseException | None]

CONTEXT_TOKENS = 16384
_MAX_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The requested form of answers."""

    format: str
    edits: str = "rewrite"


def form_for(answers: int) -> AnswerForm:
    """A single answer is the whole completion. Several are in numbered tags."""
    return AnswerForm(format="single" if answers == 1 else "tags:answer")


@dataclass(slots=True)
class _ParsedReply:
    """The parsed result of a call."""

    text: str
    answers: list[str]
    dropped: list[str] = field(default_factory=list)


class FunctionPolicy:
    """Answers a proposal with a call for each chain, see `evolve.ports.Policy`.

    The first call must work, because a failure then is a mistake. Later a failing call costs only its proposal.

    Args:
        attempt: makes the call, and raises nothing.
        name: the policy's name in records.
        answers: m, maximum number of answers of a call.
        samples: n, calls for a proposal.
        concurrency: concurrent proposals.
        build_prompt: makes the prompt of a proposal.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        attempt: Callable[[str], Awaitable[Attempt]],
        *,
        name: str,
        answers: int,
        samples: int,
        concurrency: int,
        build_prompt: PromptBuilder,
        monotonic: Callable[[], float],
    ) -> None:
        self.name = name
        self.answers = answers
        self.samples = samples
        self.concurrency = concurrency
        self._attempt = attempt
        self._build_prompt = build_prompt
        self._format = parse_format(form_for(answers).format)
        self._monotonic = monotonic
        self._worked = False

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Answer a proposal: the answers of each call as it returns, and finally a `CompletedReply`.

        Raises:
            PolicyRefused: a call failed, or returned an invalid value.
            PolicyError: the function raised it.
            Exception: the very first call failed.
        """
        began = self._monotonic()
        asking = fitted(proposal, temperature=1.0)
        prompt = self._build_prompt(asking, count=estimate_tokens, context_tokens=CONTEXT_TOKENS)
        text = "\n\n".join(sendable(message.content) for message in prompt.messages)
        calls = [asyncio.ensure_future(self._attempt(text)) for _ in range(asking.samples)]
        said: list[_ParsedReply] = []
        try:
            for chain, call in enumerate(calls):
                quota = max(0, min(asking.answers, asking.limit - chain * asking.answers))
                said.append(self._read(await call, quota))
                for index, answer in enumerate(said[-1].answers):
                    yield Answer(chain=chain, index=index, text=restore(answer), shown=prompt.shown)
        finally:
            for call in calls:
                call.cancel()
        yield CompletedReply(
            completions=tuple(one.text for one in said),
            finish_reasons=("stop",) * len(said),
            prompt=prompt,
            dropped=tuple(
                RejectedText(chain=chain, reason=why) for chain, one in enumerate(said) for why in one.dropped
            ),
            seconds=self._monotonic() - began,
            attempts=len(calls),
        )

    def _read(self, attempt: Attempt, quota: int) -> _ParsedReply:
        value, error = attempt
        if error is None:
            error = self._complaint(value)
        if isinstance(error, PolicyError):
            raise error
        if error is not None and self._worked:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_REASON]
            raise PolicyRefused(f"the policy {self.name} failed: {reason}") from error
        if error is not None:
            raise error if isinstance(error, Exception) else UsageError(f"the policy {self.name} raised {error!r}")
        self._worked = True
        if isinstance(value, str):
            return self._parsed(value, quota)
        return self._listed([str(answer) for answer in _texts(value)], quota)

    def _complaint(self, value: object) -> UsageError | None:
        """Why the returned value is not an answer. None: it is."""
        if isinstance(value, str):
            return None
        texts = _texts(value)
        if isinstance(value, list | tuple) and all(isinstance(text, str) for text in texts):
            if len(texts) <= self.answers:
                return None
            asked = "1 is" if self.answers == 1 else f"{self.answers} are"
            return UsageError(
                f"the policy {self.name} returned {len(texts)} answers, and {asked} asked for: set answers={len(texts)}"
            )
        what = type(value).__name__
        return UsageError(
            f"the policy {self.name} returned a {what}: return the completion as text, or a list of answers as texts"
        )

    def _parsed(self, text: str, quota: int) -> _ParsedReply:
        parser = ChainParser(self._format, quota)
        parsed = [*parser.feed(text), *parser.close()]
        return _ParsedReply(text, [one.text for one in parsed], parser.dropped)

    @staticmethod
    def _listed(texts: list[str], quota: int) -> _ParsedReply:
        beyond = len(texts) - quota
        dropped = [f"{beyond} answer{'s' if beyond > 1 else ''} beyond the {quota} asked for"] if beyond > 0 else []
        return _ParsedReply("\n---\n".join(texts), texts[:quota], dropped)


def _texts(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()
