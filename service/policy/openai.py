"""The policy behind an OpenAI-compatible server, vLLM first: a prompt out, a stream of chains back."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from evolve.chain import parse_format
from evolve.errors import PolicyError, PolicyRefused, PolicyUnavailable
from evolve.proposal import Answer, Completed, Prompt, Proposal, Reply, Usage
from evolve.reply_form import ReplyForm
from service.policy.activity import Activity
from service.policy.asking import PromptBuilder, fitted, sendable
from service.policy.chains import CUT, Chains
from service.policy.connection import Connection
from service.policy.forms import open_forms
from service.policy.offered import choose
from service.policy.tokens import Count, TokenCounter, estimate_tokens

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
        connection: to the server, with the settings.
        build_prompt: makes the prompt of a proposal.
    """

    def __init__(self, connection: Connection[Served], *, build_prompt: PromptBuilder) -> None:
        self.settings = connection.settings
        self.connection = connection
        self._build_prompt = build_prompt
        self._format = parse_format(self.settings.format)
        self._tokens = TokenCounter(None)

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
    def forms(self) -> Sequence[ReplyForm]:
        """The forms that it may be asked in: that of its settings, and those that the settings leave open."""
        return open_forms(self.settings)

    @property
    def concurrency(self) -> int:
        """Proposals it answers at once with profit: fewer than the settings say while requests wait at the server."""
        return self.connection.pressure.calls

    def health(self) -> dict[str, Any]:
        """How its server fares: what the breaker holds of it, and what was seen of its queue."""
        return self.connection.health()

    def activity(self) -> Activity:
        """Calls in flight, and what was received and dropped so far."""
        return self.connection.activity.read(self.connection.pressure.in_flight)

    async def close(self) -> None:
        """Close every connection to the server."""
        await self.connection.close()

    async def check(self) -> Served:
        """Ask the server who it is, before anything is asked of it.

        Raises:
            PolicyUnavailable: it cannot be reached or fails.
            PolicyDenied: it is no such server, refuses the key, or does not offer the model; the text names those that
                it offers.
        """
        server = self.connection.server
        offered = await server.models()
        model = choose(self.settings, offered)
        if offered is None:
            await server.knock(model)
        named = {entry.name: entry.context_tokens for entry in offered or ()}
        tokenizer = await server.count_tokens(model, "a b c") is not None
        await self.connection.pressure.look()
        self._tokens = TokenCounter((lambda text: server.count_tokens(model, sendable(text))) if tokenizer else None)
        context = named.get(model) or self.settings.context_tokens
        self.connection.found = Served(model=model, context_tokens=context, tokenizer=tokenizer)
        return self.connection.found

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Answer a proposal: answers as they complete, at last one `Completed`.

        Raises:
            PolicyError: no answer came; its class says whether asking again may help.
        """
        started = self.connection.monotonic()
        served = await self.connection.known(self.check)
        asked = fitted(proposal, self.settings.temperature)
        prompt, reply_tokens = await self._prompt(asked, served.context_tokens)
        body = self._body(asked, prompt, served.model, reply_tokens)
        attempt = 0
        while True:
            attempt += 1
            chains = self._chains(asked, prompt)
            self.connection.calls.admit()
            try:
                async with aclosing(self._attempt(body, chains)) as answers:
                    async for answer in answers:
                        yield answer
                break
            except PolicyError as error:
                if chains.handed:
                    break
                await self.connection.wait(error, attempt)
            except asyncio.CancelledError:
                if any(chains.completions):
                    yield self._completed(
                        chains, prompt, seconds=self.connection.monotonic() - started, attempts=attempt
                    )
                raise
        for answer in chains.close(CUT):
            yield answer
        yield self._completed(chains, prompt, seconds=self.connection.monotonic() - started, attempts=attempt)

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
        return self._build_prompt(proposal, count=count, context_tokens=room)

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
            parse_format(proposal.form.format) if proposal.form else self._format,
            edits=proposal.form.edits if proposal.form else self.settings.edits,
            samples=proposal.samples,
            answers=proposal.answers,
            limit=proposal.limit,
            shown=prompt.shown,
        )

    async def _attempt(self, body: dict[str, Any], chains: Chains) -> AsyncGenerator[Answer, None]:
        tokens = body["n"] * body["max_tokens"]
        with self.connection.calls.call(body["model"]):
            done = False
            async with aclosing(self.connection.server.stream(body, tokens)) as chunks:
                async for chunk in chunks:
                    self.connection.activity.receive(chunk)
                    for answer in chains.feed(chunk):
                        yield answer
                    done = chunk.done
            if not (done or chains.finished):
                raise PolicyUnavailable(f"the policy server {self.settings.base_url} broke off its stream", 0.0)

    def _completed(self, chains: Chains, prompt: Prompt, *, seconds: float, attempts: int) -> Completed:
        self.connection.activity.drop(chains.dropped)
        usage = chains.usage or _estimated(chains, prompt)
        return Completed(
            completions=chains.completions,
            finish_reasons=chains.finish_reasons,
            prompt=prompt,
            dropped=chains.dropped,
            recovered=chains.recovered,
            usage=usage,
            cost=self.settings.cost(usage),
            seconds=seconds,
            attempts=attempts,
        )


def _estimated(chains: Chains, prompt: Prompt) -> Usage:
    """Tokens by estimate, for a server that does not tell or a stream that was cut: budgets hold all the same."""
    given = prompt.tokens or sum(estimate_tokens(message.content) for message in prompt.messages)
    return Usage(input=given, output=sum(estimate_tokens(text) for text in chains.completions))
