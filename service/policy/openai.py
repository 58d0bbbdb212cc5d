"""The policy behind an OpenAI-compatible server, vLLM first: a prompt out, a stream of chains back."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from evolve.answers.chain import parse_format
from evolve.answers.continuation import CONTINUE
from evolve.errors import PolicyDenied, PolicyError, PolicyRefused
from evolve.ports import AdaptedPolicy
from evolve.proposal import Answer, CompletedReply, Prompt, Proposal, RejectedText, Reply, Usage
from evolve.reply_form import ReplyForm
from service.policy.capabilities import RequestShape
from service.policy.chains import CUT, ChainCollector
from service.policy.connection import ServerConnection
from service.policy.openai_protocol import CONTINUING, RequestRefused, continuing
from service.policy.request_log import SEEDS, RequestLog
from service.policy.request_options import PromptBuilder, fitted, sendable
from service.policy.served_models import choose, unlisted
from service.policy.tokens import Count, TokenCounter, estimate_tokens
from service.policy_settings.forms import open_forms
from service.ports import Activity

# What a chat template puts around messages; a prompt stays that much below the model's context.
TEMPLATE_TOKENS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightResult:
    """The result of a preflight check.

    Attributes:
        model: the answering model.
        context_tokens: of the model.
        tokenizer: whether the server counts tokens.
        told: whether the context comes from the server instead of the settings.
        continues: whether the server can continue a prefilled reply.
    """

    model: str
    context_tokens: int
    tokenizer: bool
    told: bool = False
    continues: bool = False


class OpenAIPolicy:
    """Answers proposals through a server, see `evolve.ports.Policy`.

    Args:
        connection: to the server, with the settings.
        build_prompt: makes the prompt of a proposal.
        single: whether programs have a single file, so that the parent's start may be the start of a reply.
    """

    def __init__(
        self, connection: ServerConnection[PreflightResult], *, build_prompt: PromptBuilder, single: bool = False
    ) -> None:
        self.settings = connection.settings
        self.connection = connection
        self._build_prompt = build_prompt
        self._single = single
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
    def writes_prompts(self) -> bool:
        """Its model can be asked for anything, unless it continues programs alone."""
        return self.settings.edits != CONTINUE

    @property
    def forms(self) -> Sequence[ReplyForm]:
        """The forms that it may be asked in: that of its settings, and those that the settings leave open."""
        found = self.connection.found
        return open_forms(self.settings, continues=self._single and found is not None and found.continues)

    @property
    def concurrency(self) -> int:
        """Proposals it answers at once with profit: fewer than the settings say while requests wait at the server.

        Fewer as well where each chain takes a request of its own.
        """
        calls = self.connection.server_load.calls
        return max(1, calls // self.samples) if self.connection.adapter.shape.single_choice else calls

    def health(self) -> dict[str, Any]:
        """The health of its server: the state of the breaker, and the last view of its queue."""
        return self.connection.health()

    def activity(self) -> Activity:
        """Calls in flight, and the data received and dropped so far."""
        return self.connection.activity.read(self.connection.server_load.in_flight)

    async def close(self) -> None:
        """Close every connection to the server."""
        await self.connection.close()

    async def check(self) -> PreflightResult:
        """Check the server before the first request.

        Raises:
            PolicyUnavailable: it cannot be reached or fails.
            PolicyDenied: it is not such a server, refuses the key, or does not offer the model. The text names the
                offered models.
        """
        server = self.connection.server
        offered = await server.models()
        model = choose(self.settings, offered)
        named = {entry.name: entry.context_tokens for entry in offered or ()}
        if model not in named:
            with unlisted(self.settings, model, offered):
                await server.knock(model)
        tokenizer = await server.count_tokens(model, "a b c") is not None
        self.connection.adapter.serve(model)
        await self.connection.server_load.look()
        self._tokens = TokenCounter((lambda text: server.count_tokens(model, sendable(text))) if tokenizer else None)
        told = named.get(model)
        continues = any(entry.owner in CONTINUING for entry in offered or () if entry.name == model)
        if self.settings.edits == CONTINUE and not continues:
            raise PolicyDenied(
                f'{self.settings.place} cannot prefill a reply, which edits = "continue" needs: use vLLM, or set'
                ' edits = "rewrite"'
            )
        self.connection.found = PreflightResult(
            model=model,
            context_tokens=told or self.settings.context_tokens,
            tokenizer=tokenizer,
            told=told is not None,
            continues=continues,
        )
        return self.connection.found

    @property
    def heard(self) -> int:
        """Events of streams that came from its server so far."""
        return self.connection.heard

    def notices(self) -> tuple[AdaptedPolicy, ...]:
        """The changes of its server's requests since the last call."""
        return self.connection.adapter.notices()

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Answer a proposal: answers as they complete, and finally a `CompletedReply`.

        Raises:
            PolicyError: no answer came. Its class says whether asking again may help.
        """
        started = self.connection.monotonic()
        served = await self.connection.known(self.check)
        asked = fitted(proposal, self.settings.temperature)
        exchange = RequestLog(self.connection, asked.seed)
        draft, failures = await self._draft(asked, served), 0
        try:
            while True:
                try:
                    async with aclosing(self._converse(exchange, draft)) as answers:
                        async for answer in answers:
                            yield answer
                    break
                except PolicyError as error:
                    if draft.chains.handed:
                        break
                    lowered = self._adapt(draft, served, error)
                    if lowered is None:
                        failures += 1
                        await self.connection.wait(error, failures)
                    draft = await self._draft(asked, served, lowered)
        except (PolicyError, asyncio.CancelledError):
            if exchange.usage.total:
                yield self._completed(draft, exchange, started)
            raise
        for answer in draft.chains.close(CUT):
            yield answer
        yield self._completed(draft, exchange, started)

    def _converse(self, exchange: RequestLog, draft: "_Draft") -> AsyncGenerator[Answer, None]:
        return exchange.converse(
            draft.body, draft.chains, prompt_tokens=draft.prompt_tokens, reply_tokens=draft.reply_tokens
        )

    def _adapt(self, draft: "_Draft", served: PreflightResult, error: PolicyError) -> int | None:
        """Learn from a refusal. Returns the new token limit of a reply. None: repeating the request is useless."""
        if not isinstance(error, RequestRefused):
            return None
        adapter = self.connection.adapter
        if adapter.shape != draft.shape:
            return draft.reply_tokens  # another call learnt it meanwhile
        found = adapter.learn(draft.shape.shaped(draft.body), error.refusal, served.context_tokens)
        return None if found is None else found.reply_tokens or draft.reply_tokens

    async def _draft(self, asked: Proposal, served: PreflightResult, maximum: int | None = None) -> "_Draft":
        shape = self.connection.adapter.shape
        context_tokens = min(served.context_tokens, shape.context_tokens or served.context_tokens)
        limits = (self.settings.max_tokens, shape.max_tokens, maximum)
        prompt, reply_tokens = await self._prompt(asked, context_tokens, min(filter(None, limits)))
        return _Draft(
            shape=shape,
            prompt=prompt,
            body=self._body(asked, prompt, served.model, reply_tokens),
            chains=self._chains(asked, prompt),
            reply_tokens=reply_tokens,
        )

    async def _prompt(self, proposal: Proposal, context_tokens: int, max_tokens: int) -> tuple[Prompt, int]:
        """The prompt, and the tokens left for the reply: fewer than the settings say where the parent needs the room.

        Raises:
            PolicyRefused: the parent leaves no room worth having.
        """
        reply_tokens = min(max_tokens, context_tokens // 2)
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
            **self.settings.request_parameters,
            **continuing(prompt.beginning, self.settings.request_parameters),
            "model": model,
            "messages": [{"role": message.role, "content": sendable(message.content)} for message in prompt.messages],
            "n": proposal.samples,
            "seed": proposal.seed % SEEDS,
            "temperature": self.settings.temperature,
            "top_p": self.settings.top_p,
            "max_tokens": reply_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def _chains(self, proposal: Proposal, prompt: Prompt) -> ChainCollector:
        edits, program = proposal.form.edits if proposal.form else self.settings.edits, proposal.parent.program
        return ChainCollector(
            parse_format(proposal.form.format) if proposal.form else self._format,
            edits=edits,
            python=edits in ("rewrite", CONTINUE)
            and proposal.answers == 1
            and program.single
            and program.files[0][0].endswith(".py"),
            samples=proposal.samples,
            answers=proposal.answers,
            limit=proposal.limit,
            shown=prompt.shown,
            beginning=prompt.beginning,
        )

    def _completed(self, draft: "_Draft", exchange: RequestLog, started: float) -> CompletedReply:
        usage, chains = exchange.usage, draft.chains
        self.connection.activity.drop(chains.dropped)
        return CompletedReply(
            completions=chains.completions,
            reasoning=chains.reasoning,
            finish_reasons=chains.finish_reasons,
            prompt=draft.prompt,
            dropped=(*chains.dropped, *_thought_out(chains, draft.reply_tokens, usage)),
            recovered=chains.recovered,
            usage=usage,
            cost=self.settings.cost(usage),
            seconds=self.connection.monotonic() - started,
            attempts=exchange.requests,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A proposal as it is sent: the full request, its form, and the receiver of the reply."""

    shape: RequestShape
    prompt: Prompt
    body: dict[str, Any]
    chains: ChainCollector
    reply_tokens: int

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt, by estimate where nobody counted them."""
        return self.prompt.tokens or sum(estimate_tokens(message.content) for message in self.prompt.messages)


def _thought_out(chains: ChainCollector, reply_tokens: int, usage: Usage) -> Iterator[RejectedText]:
    """The chains that ended before their first word, since all their tokens went into reasoning."""
    thought = chains.reasoning or ("",) * len(chains.completions)
    for chain, (text, reason) in enumerate(zip(chains.completions, chains.finish_reasons, strict=True)):
        if reason == "length" and not text and (thought[chain] or usage.reasoning):
            yield RejectedText(
                chain=chain,
                reason=f"the reasoning took all {reply_tokens} tokens: set a larger max_tokens, or less"
                f" reasoning_effort",
            )
