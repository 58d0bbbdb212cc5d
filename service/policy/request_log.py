"""The requests of a proposal: one for all chains, or one for each if the server returns a single choice."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from evolve.errors import PolicyError, PolicyUnavailable
from evolve.proposal import Answer, Usage
from service.policy.chains import ChainCollector
from service.policy.chat_span import chat_span
from service.policy.connection import ServerConnection
from service.policy.openai_protocol import RequestRefused, StreamChunk
from service.policy.request_record import RequestRecord

SEEDS = 2**31
_QUEUED_CHUNKS = 64


class RequestLog:
    """Sends the requests of a proposal, and records all of them, including failures.

    Args:
        connection: to the server.
        seed: of the first chain. Each further request has the next.
    """

    def __init__(self, connection: ServerConnection[Any], seed: int) -> None:
        self._connection = connection
        self._seed = seed
        self._records: list[RequestRecord] = []

    @property
    def requests(self) -> int:
        """Requests made."""
        return len(self._records)

    @property
    def usage(self) -> Usage:
        """The tokens of all requests."""
        return sum((record.usage for record in self._records), Usage())

    async def converse(
        self, body: Mapping[str, Any], chains: ChainCollector, *, prompt_tokens: int, reply_tokens: int
    ) -> AsyncGenerator[Answer, None]:
        """Ask for all chains. Returns their answers as they complete.

        If a server returns fewer choices than requested, the others get concurrent requests of their own.

        Args:
            body: the full request, for all chains.
            chains: takes the events.
            prompt_tokens: of the prompt.
            reply_tokens: maximum tokens of a chain.

        Raises:
            PolicyError: a request failed.
        """
        adapter = self._connection.adapter
        samples = body["n"]
        if not adapter.shape.single_choice:
            record = self._record(prompt_tokens)
            request = self._request(dict(body), record, samples * reply_tokens, lambda: chains.needless)
            async with aclosing(request) as chunks:
                async for chunk in chunks:
                    for answer in chains.feed(chunk):
                        yield answer
            if chains.silent and samples > 1 and record.choices:
                adapter.miss_choices(samples, record.choices)
        if not adapter.shape.single_choice:
            return
        begun = asyncio.Event()
        streams = [
            self._choice(body, chain, prompt_tokens, reply_tokens, begun, partial(chains.over, chain), waits=place > 0)
            for place, chain in enumerate(chains.silent)
        ]
        async with aclosing(side_by_side(streams)) as chunks:
            async for chunk in chunks:
                for answer in chains.feed(chunk):
                    yield answer

    def _record(self, prompt_tokens: int) -> RequestRecord:
        self._records.append(RequestRecord(prompt_tokens))
        return self._records[-1]

    async def _choice(
        self,
        body: Mapping[str, Any],
        chain: int,
        prompt_tokens: int,
        reply_tokens: int,
        begun: asyncio.Event,
        over: Callable[[], bool],
        *,
        waits: bool,
    ) -> AsyncGenerator[StreamChunk, None]:
        """A chain by a request of its own. Until such a request was accepted, the first goes alone."""
        if waits and not self._connection.adapter.accepted:
            await begun.wait()
        own = {**body, "n": 1, "seed": (self._seed + chain) % SEEDS}
        try:
            async with aclosing(self._request(own, self._record(prompt_tokens), reply_tokens, over)) as chunks:
                async for chunk in chunks:
                    begun.set()
                    deltas = tuple(replace(delta, choice=chain) for delta in chunk.deltas if delta.choice == 0)
                    yield replace(chunk, deltas=deltas)
        except PolicyError as error:
            if not isinstance(error, RequestRefused):  # which the others would only meet too
                begun.set()
            raise

    async def _request(
        self, body: dict[str, Any], record: RequestRecord, tokens: int, over: Callable[[], bool]
    ) -> AsyncGenerator[StreamChunk, None]:
        """The events of a request, closed when nothing usable can follow. Then the server stops writing."""
        connection, ended = self._connection, dict[int, str]()
        connection.calls.admit()
        with connection.calls.call(body["model"]), chat_span(connection.settings, body, record, ended) as headers:
            done = False
            sent = connection.server.stream(connection.adapter.shape.shaped(body), tokens, headers)
            async with aclosing(sent) as chunks:
                async for chunk in chunks:
                    connection.heard += 1
                    connection.adapter.accepted = True
                    connection.activity.receive(chunk)
                    record.take(chunk)
                    ended |= {delta.choice: delta.finish_reason for delta in chunk.deltas if delta.finish_reason}
                    done = chunk.done
                    yield chunk
                    if over():
                        return
            if not (done or len(ended) >= body["n"]):
                raise PolicyUnavailable(f"{connection.settings.place} closed its stream too early", 0.0)


async def side_by_side(streams: Sequence[AsyncGenerator[StreamChunk, None]]) -> AsyncGenerator[StreamChunk, None]:
    """The events of several streams as they come.

    Raises:
        PolicyError: a stream failed. A refusal is raised at once, other errors after the others have ended.
    """
    queue: asyncio.Queue[StreamChunk | Exception | None] = asyncio.Queue(_QUEUED_CHUNKS)
    tasks = [asyncio.create_task(_pump(stream, queue)) for stream in streams]
    failure: Exception | None = None
    try:
        ended = 0
        while ended < len(tasks):
            came = await queue.get()
            if isinstance(came, StreamChunk):
                yield came
                continue
            ended += 1
            if isinstance(came, RequestRefused) or not isinstance(came, PolicyError | None):
                raise came
            failure = failure or came
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if failure is not None:
        raise failure


async def _pump(
    stream: AsyncGenerator[StreamChunk, None], queue: asyncio.Queue[StreamChunk | Exception | None]
) -> None:
    """Put every event of a stream into the queue, at last its error or None."""
    last: Exception | None = None
    try:
        async with aclosing(stream):
            async for chunk in stream:
                await queue.put(chunk)
    except Exception as error:  # noqa: BLE001 - whoever reads the queue raises it
        last = error
    await queue.put(last)
