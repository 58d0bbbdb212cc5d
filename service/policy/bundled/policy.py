"""The policy that is run in this process: a prompt rendered, chains written by a small model, answers as they close."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from evolve.answers.chain import parse_format
from evolve.errors import PolicyRefused
from evolve.money import FREE
from evolve.proposal import CompletedReply, Prompt, Proposal, Reply, Usage
from service.errors import NotFoundError, UsageError
from service.policy.bundled.model import Model, load_model
from service.policy.bundled.sampling import DecodingStep, stream
from service.policy.chains import ChainCollector
from service.policy.openai_protocol import Delta, StreamChunk
from service.policy.request_options import PromptBuilder, fitted, sendable
from service.policy_settings.settings import PolicySettings
from service.policy_settings.shipped import find_folder

# So much of the context is kept for a reply, if the settings ask for as much: less would hold no answer.
_MIN_REPLY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _TokenizedPrompt:
    """A prompt as it is shown and as the model reads it."""

    prompt: Prompt
    ids: list[int]


class BundledPolicy:
    """Answers proposals with a model in this process, see `evolve.ports.Policy`. Equal proposals get equal answers.

    Args:
        settings: of kind `bundled`.
        build_prompt: makes the prompt of a proposal.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        settings: PolicySettings,
        *,
        build_prompt: PromptBuilder,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._build_prompt = build_prompt
        self._format = parse_format(settings.format)
        self._monotonic = monotonic
        self._model: Model | None = None

    @property
    def name(self) -> str:
        """The policy's name in records and statistics."""
        return self.settings.name

    @property
    def answers(self) -> int:
        """m: answers per chain."""
        return self.settings.answers

    @property
    def samples(self) -> int:
        """n: chains per proposal."""
        return self.settings.samples if self.settings.temperature else 1

    @property
    def concurrency(self) -> int:
        """Proposals it answers at once: as the settings say."""
        return self.settings.concurrency

    async def check(self) -> Model:
        """Read the model before its first request.

        Raises:
            UsageError: its folder does not exist, or cannot be used. The text says why.
        """
        try:
            self._model = await asyncio.to_thread(lambda: load_model(find_folder(self.settings.model)))
        except NotFoundError as error:
            raise UsageError(str(error)) from error  # of a run that was begun when it was there
        return self._model

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Answer a proposal: answers as they complete, and finally a `CompletedReply`.

        Raises:
            PolicyRefused: the prompt does not fit the model's context, or its chat template refuses it.
        """
        started = self._monotonic()
        model = self._model or await self.check()
        asking = fitted(proposal, self.settings.temperature)
        asked = await asyncio.to_thread(self._asked, model, asking)
        chains = ChainCollector(
            self._format,
            edits=self.settings.edits,
            samples=asking.samples,
            answers=asking.answers,
            limit=asking.limit,
            shown=asked.prompt.shown,
        )
        words = _Words(model, asking.samples)
        async with aclosing(_in_a_thread(lambda: self._steps(model, asked, asking))) as steps:
            async for step in steps:
                for answer in chains.feed(words.chunk(step)):
                    yield answer
        yield self._completed(chains, asked, words, self._monotonic() - started)

    def _asked(self, model: Model, proposal: Proposal) -> _TokenizedPrompt:
        """The prompt with as much of the proposal as fits, after the chat template has shortened it.

        Raises:
            PolicyRefused: the parent alone does not fit.
        """
        context = model.config.max_position_embeddings
        reply = min(self.settings.max_tokens, max(1, context // _MIN_REPLY))
        needed = 0
        for fewer in _less_and_less(proposal):
            # The text is judged by what becomes of it: the template of a small model keeps little.
            prompt = self._build_prompt(fewer, count=lambda _: 0, context_tokens=context)
            messages = [{"role": part.role, "content": sendable(part.content)} for part in prompt.messages]
            try:
                ids = model.vocabulary.encode(model.render(messages))
            except UsageError as error:
                raise PolicyRefused(f"The model {model.folder.name} does not accept the prompt: {error}") from error
            needed = len(ids) + reply
            if ids and needed <= context:
                return _TokenizedPrompt(prompt=replace(prompt, tokens=len(ids)), ids=ids)
        raise PolicyRefused(
            f"The parent program {proposal.parent.candidate_id} does not fit the context of the model"
            f" {model.folder.name}: prompt and reply take {needed} tokens, and there is room for {context}."
        )

    def _steps(self, model: Model, asked: _TokenizedPrompt, proposal: Proposal) -> Iterator[DecodingStep]:
        return stream(
            model,
            [asked.ids],
            samples=proposal.samples,
            max_tokens=self.settings.max_tokens,
            temperature=self.settings.temperature,
            top_p=self.settings.top_p,
            seeds=[proposal.seed],
        )

    @staticmethod
    def _completed(chains: ChainCollector, asked: _TokenizedPrompt, words: "_Words", seconds: float) -> CompletedReply:
        return CompletedReply(
            completions=chains.completions,
            finish_reasons=chains.finish_reasons,
            prompt=asked.prompt,
            dropped=chains.dropped,
            usage=Usage(input=len(asked.ids), output=words.count),
            cost=FREE,
            seconds=seconds,
        )


class _Words:
    """Tokens as the text that they add to each chain."""

    def __init__(self, model: Model, chains: int) -> None:
        self._words, self._special = model.vocabulary.words, model.vocabulary.special
        self._begun = [False] * chains
        self.count = 0

    def chunk(self, step: DecodingStep) -> StreamChunk:
        self.count += len(step.ids)
        ends = zip(step.stopped.tolist(), step.cut.tolist(), strict=True)
        reasons = ["stop" if stopped else "length" if cut else "" for stopped, cut in ends]
        drawn = zip(step.chains.tolist(), step.ids.tolist(), reasons, strict=True)
        return StreamChunk(
            deltas=tuple(
                Delta(choice=chain, text=self._text(chain, token), finish_reason=reason)
                for chain, token, reason in drawn
            )
        )

    def _text(self, chain: int, token: int) -> str:
        if token in self._special:
            return ""
        blank = " " if self._begun[chain] else ""
        self._begun[chain] = True
        return blank + self._words[token]


def _less_and_less(proposal: Proposal) -> Iterator[Proposal]:
    """The proposal, then with fewer and fewer inspirations, then without failures, feedback, and the second parent."""
    for count in range(len(proposal.inspirations), -1, -1):
        yield replace(proposal, inspirations=proposal.inspirations[:count])
    alone = replace(proposal, inspirations=(), failures=())
    yield alone
    parent = alone.parent
    alone = replace(alone, parent=replace(parent, evaluation=replace(parent.evaluation, feedback="")))
    yield alone
    if alone.second_parent is not None:
        yield replace(alone, second_parent=None)


async def _in_a_thread(work: Callable[[], Iterator[DecodingStep]]) -> AsyncGenerator[DecodingStep, None]:
    """The items of an iterator in a thread. Closing it stops the thread at its next step."""
    loop, left = asyncio.get_running_loop(), threading.Event()
    made: asyncio.Queue[DecodingStep | None] = asyncio.Queue()

    def run() -> None:
        for step in work():
            if left.is_set():
                return
            loop.call_soon_threadsafe(made.put_nowait, step)

    running = asyncio.ensure_future(asyncio.to_thread(run))
    running.add_done_callback(lambda _: made.put_nowait(None))
    try:
        while (step := await made.get()) is not None:
            yield step
        await running
    finally:
        left.set()
        await asyncio.wait([running])
