"""The policy behind an OpenAI-compatible server, vLLM first: a prompt out, a stream of chains back."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import numpy as np
from pydantic import SecretStr

from evolve.chain import parse_format
from evolve.errors import PolicyDenied, PolicyError, PolicyRefused, PolicyUnavailable
from evolve.proposal import Answer, Completed, Prompt, Proposal, Reply, Usage
from service.net.retry import Backoff
from service.policy.asking import PromptBuilder, fitted, sendable
from service.policy.breaker import Breaker
from service.policy.calls import Calls
from service.policy.chains import CUT, Chains
from service.policy.offered import choose
from service.policy.pressure import LOOK_SECONDS, Pressure
from service.policy.server import Server
from service.policy.settings import PolicySettings
from service.policy.tokens import Count, TokenCounter, estimate_tokens

LEAST_WAIT_SECONDS = 1.0
# What a chat template puts around messages; a prompt stays that much below the model's context.
TEMPLATE_TOKENS = 64
_SEEDS = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a preflight found: the model that will answer, its context, and whether the server counts tokens."""

    model: str
    context_tokens: int
    tokenizer: bool


class OpenAIPolicy:
    """Answers proposals through a server; see `evolve.ports.Policy`.

    Args:
        settings: of kind `openai`.
        build_prompt: makes the prompt of a proposal.
        key: the key of the server, if it wants one.
        rng: spreads the waits between attempts; answers do not depend on it.
        backoff: how often and how soon a request is repeated. The seed stays the same.
        breaker: leaves a failing server alone; one of its own when None.
        monotonic: seconds that never go back.
        sleep: waits for seconds.
        look_seconds: between two looks at what waits at the server.
        transport: another way to the server than a network connection.
    """

    def __init__(
        self,
        settings: PolicySettings,
        *,
        build_prompt: PromptBuilder,
        key: SecretStr | None = None,
        rng: np.random.Generator,
        backoff: Backoff | None = None,
        breaker: Breaker | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        look_seconds: float = LOOK_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self._build_prompt = build_prompt
        self._format = parse_format(settings.format)
        self._rng = rng
        self._backoff = backoff or Backoff()
        self._breaker = breaker or Breaker(monotonic)
        self._monotonic = monotonic
        self._sleep = sleep
        self._server = Server(settings, key, monotonic=monotonic, transport=transport)
        self._pressure = Pressure(
            self._server.load, settings.concurrency, look_seconds=look_seconds, monotonic=monotonic
        )
        self._calls = Calls(str(settings.base_url), self._breaker, self._pressure, monotonic)
        self._tokens = TokenCounter(None)
        self._found: Served | None = None
        self._finding = asyncio.Lock()

    @property
    def name(self) -> str:
        """The policy's name in records and statistics."""
        return self.settings.name

    @property
    def answers(self) -> int:
        """m: answers asked of one chain."""
        return self.settings.answers

    @property
    def samples(self) -> int:
        """n: chains asked of one proposal."""
        return self.settings.samples if self.settings.temperature else 1

    @property
    def concurrency(self) -> int:
        """Proposals it answers at once with profit: fewer than the settings say while requests wait at the server."""
        return self._pressure.calls

    def health(self) -> dict[str, Any]:
        """How its server fares: what the breaker holds of it, and what was seen of its queue."""
        breaker = {"breaker": str(self._breaker.state), "retry_seconds": max(0.0, self._breaker.wait_seconds)}
        return breaker | self._pressure.health()

    async def close(self) -> None:
        """Close every connection to the server."""
        await self._pressure.close()
        await self._server.close()

    async def check(self) -> Served:
        """Ask the server who it is, before anything is asked of it.

        Raises:
            PolicyUnavailable: it cannot be reached or fails.
            PolicyDenied: it is no such server, refuses the key, or does not offer the model; the text names those that
                it offers.
        """
        offered = await self._server.models()
        model = choose(self.settings, offered)
        if offered is None:
            await self._server.knock(model)
        named = {entry.name: entry.context_tokens for entry in offered or ()}
        tokenizer = await self._server.count_tokens(model, "a b c") is not None
        await self._pressure.look()
        self._tokens = TokenCounter((lambda text: self._server.count_tokens(model, text)) if tokenizer else None)
        context = named.get(model) or self.settings.context_tokens
        self._found = Served(model=model, context_tokens=context, tokenizer=tokenizer)
        return self._found

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Answer a proposal: answers as they complete, at last one `Completed`.

        Raises:
            PolicyError: no answer came; its class says whether asking again may help.
        """
        started = self._monotonic()
        served = await self._served()
        asked = fitted(proposal, self.settings.temperature)
        prompt, reply_tokens = await self._prompt(asked, served.context_tokens)
        body = self._body(asked, prompt, served.model, reply_tokens)
        attempt = 0
        while True:
            attempt += 1
            chains = self._chains(asked, prompt)
            self._calls.admit()
            try:
                async with aclosing(self._attempt(body, chains)) as answers:
                    async for answer in answers:
                        yield answer
                break
            except PolicyError as error:
                if chains.handed:
                    break
                await self._wait(error, attempt)
            except asyncio.CancelledError:
                if any(chains.completions):
                    yield self._completed(chains, prompt, seconds=self._monotonic() - started, attempts=attempt)
                raise
        for answer in chains.close(CUT):
            yield answer
        yield self._completed(chains, prompt, seconds=self._monotonic() - started, attempts=attempt)

    async def _served(self) -> Served:
        async with self._finding:
            if self._found is not None:
                return self._found
            self._calls.admit()
            try:
                with self._calls.heard():
                    return await self.check()
            except PolicyUnavailable as error:
                raise self._later(error) from error

    async def _prompt(self, proposal: Proposal, context_tokens: int) -> tuple[Prompt, int]:
        """The prompt, and the tokens left for the reply: fewer than the settings say where the parent needs the room.

        Raises:
            PolicyRefused: the parent leaves no room worth having.
        """
        reply_tokens = min(self.settings.max_tokens, context_tokens // 2)
        while True:
            build = partial(self._build_for, proposal, context_tokens - reply_tokens - TEMPLATE_TOKENS)
            try:
                return await self._tokens.fit(build), reply_tokens
            except PolicyRefused:
                if reply_tokens <= context_tokens // 8:
                    raise
                reply_tokens = max(reply_tokens // 2, context_tokens // 8)

    def _build_for(self, proposal: Proposal, room: int, count: Count) -> Prompt:
        return self._build_prompt(proposal, count=lambda text: count(sendable(text)), context_tokens=room)

    def _body(self, proposal: Proposal, prompt: Prompt, model: str, reply_tokens: int) -> dict[str, Any]:
        return {
            "model": model,
            "messages": [{"role": message.role, "content": sendable(message.content)} for message in prompt.messages],
            "n": proposal.samples,
            "seed": proposal.seed % _SEEDS,
            "temperature": self.settings.temperature,
            "top_p": self.settings.top_p,
            "max_tokens": reply_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def _chains(self, proposal: Proposal, prompt: Prompt) -> Chains:
        return Chains(
            self._format,
            edits=self.settings.edits,
            samples=proposal.samples,
            answers=proposal.answers,
            limit=proposal.limit,
            shown=prompt.shown,
        )

    async def _attempt(self, body: dict[str, Any], chains: Chains) -> AsyncGenerator[Answer, None]:
        tokens = body["n"] * body["max_tokens"]
        with self._calls.call(body["model"]):
            done = False
            async with aclosing(self._server.stream(body, tokens)) as chunks:
                async for chunk in chunks:
                    for answer in chains.feed(chunk):
                        yield answer
                    done = chunk.done
            if not (done or chains.finished):
                raise PolicyUnavailable(f"the policy server {self.settings.base_url} broke off its stream", 0.0)

    async def _wait(self, error: PolicyError, attempt: int) -> None:
        """Wait until the next attempt, or hand the error on with the time after which asking again is worth it."""
        if isinstance(error, PolicyDenied):
            self._found = None  # the server may be another one by now: look again before the next proposal
        if not isinstance(error, PolicyUnavailable):
            raise error
        asked = error.retry_after_seconds
        seconds = self._backoff.wait(attempt, asked, self._rng)
        if seconds is None or self._breaker.wait_seconds:
            self._found = None  # a server that was away for so long may come back as another
            raise self._later(error) from error
        await self._sleep(seconds)

    def _later(self, error: PolicyUnavailable) -> PolicyUnavailable:
        """The same failure, with the time after which asking again is worth it."""
        seconds = max(error.retry_after_seconds, self._breaker.wait_seconds, LEAST_WAIT_SECONDS)
        return PolicyUnavailable(str(error), seconds)

    def _completed(self, chains: Chains, prompt: Prompt, *, seconds: float, attempts: int) -> Completed:
        usage = chains.usage or _estimated(chains, prompt)
        return Completed(
            completions=chains.completions,
            finish_reasons=chains.finish_reasons,
            prompt=prompt,
            dropped=chains.dropped,
            usage=usage,
            cost=self.settings.cost(usage),
            seconds=seconds,
            attempts=attempts,
        )


def _estimated(chains: Chains, prompt: Prompt) -> Usage:
    """Tokens by estimate, for a server that does not tell or a stream that was cut: budgets hold all the same."""
    given = prompt.tokens or sum(estimate_tokens(message.content) for message in prompt.messages)
    return Usage(input=given, output=sum(estimate_tokens(text) for text in chains.completions))
