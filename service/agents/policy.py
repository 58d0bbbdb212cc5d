"""The policy that starts a coding agent for each chain: files and a prompt in, the files that it leaves out."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from evolve.errors import PolicyDenied, PolicyUnavailable
from evolve.policies import BuildPrompt
from evolve.prompt.control_tokens import restore
from evolve.proposal import Answer, CompletedReply, Prompt, Proposal, RejectedText, Reply, Usage
from evolve.repository import Repository
from service.agents.egress import EgressProxy
from service.agents.usage import SessionMeter
from service.agents.worktree import (
    PROMPT_PATH,
    SessionAnswers,
    answer_folder,
    how_it_ended,
    notes_line,
    read_answers,
    removed_paths,
    worktree_files,
)
from service.policy.request_options import fitted, sendable
from service.policy.tokens import estimate_tokens
from service.policy_settings.settings import PolicySettings
from service.sandbox.host import SandboxError
from service.sandbox.inside.session import EXITED, UNSTARTED
from service.sandbox.layers import IsolationLevel
from service.sandbox.session import (
    SessionBase,
    SessionCell,
    SessionError,
    SessionLimits,
    SessionOrder,
    SessionResult,
    SessionSandbox,
)

OUTPUT_KB = 16 * 1024
# Below it, an agent could read what the user that runs Evolve can.
REQUIRED = IsolationLevel.MEDIUM
_TERMINAL = {"TERM": "dumb", "CI": "1", "NO_COLOR": "1"}


@dataclass(slots=True)
class _Session:
    """One session: its tokens, and its result and answers once it has ended."""

    meter: SessionMeter
    result: SessionResult | None = None
    found: SessionAnswers = field(default_factory=SessionAnswers)


@dataclass(slots=True)
class _OpenCell:
    """A cell, with the proxy of its network."""

    cell: SessionCell
    proxy: EgressProxy | None


class AgentPolicy:
    """Answers a proposal with a session for each chain, see `evolve.ports.Policy`.

    Args:
        settings: of the policy.
        build_prompt: makes the prompt of a proposal.
        key: of the server at `base_url`; sessions never see it.
        transport: replaces the network connection to that server.
        repository: that programs change, whose files lie in the folder of each session; None: programs are whole.
        environment: that `settings.environment` names variables of; the process's own when None.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        settings: PolicySettings,
        *,
        build_prompt: BuildPrompt,
        key: str | None = None,
        transport: Any = None,
        repository: Repository | None = None,
        environment: Mapping[str, str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = settings.name
        self.answers, self.samples, self.concurrency = settings.answers, settings.samples, settings.concurrency
        self._settings, self._build_prompt, self._monotonic = settings, build_prompt, monotonic
        self._key, self._transport = key, transport
        self._environment = _named_variables(settings, os.environ if environment is None else environment)
        self._slots = self.samples * self.concurrency
        limits = SessionLimits(
            seconds=settings.timeout_seconds,
            output_kb=OUTPUT_KB,
            egress=settings.base_url is not None or bool(settings.allow_hosts),
            read=settings.read,
            path=settings.path,
        )
        self._repository = repository
        base = SessionBase(repository.contents, repository.executable) if repository is not None else None
        self._sandbox = SessionSandbox(limits, self._slots, REQUIRED, base)
        self._cells: list[_OpenCell] = []
        self._room = asyncio.Semaphore(self._slots)

    async def check(self) -> None:
        """Start the sandbox.

        Raises:
            PolicyUnavailable: it does not start here, or is too weak.
        """
        async with self._cell():
            pass

    async def close(self) -> None:
        """End every process and remove every file."""
        for open_cell in self._cells:
            if open_cell.proxy is not None:
                await open_cell.proxy.close()
        await self._sandbox.close()

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Answer a proposal: the answers of each session as it ends, and finally a `CompletedReply`.

        Raises:
            PolicyUnavailable: the sandbox was lost.
            PolicyDenied: the command cannot be started.
        """
        began = self._monotonic()
        asking = fitted(proposal, temperature=1.0)
        prompt = self._build_prompt(asking, count=estimate_tokens, context_tokens=self._settings.context_tokens)
        sessions = [_Session(self._meter()) for _ in range(asking.samples)]
        running = [asyncio.ensure_future(self._run(asking, prompt, session)) for session in sessions]
        try:
            for chain, run in enumerate(running):
                await run
                quota = max(0, min(asking.answers, asking.limit - chain * asking.answers))
                for index, text in sessions[chain].found.answers[:quota]:
                    yield Answer(chain=chain, index=index, text=restore(text), shown=prompt.shown)
        except BaseException as error:
            await _cancelled(running)
            if not isinstance(error, GeneratorExit):
                yield self._completed(sessions, prompt, began)
            raise
        yield self._completed(sessions, prompt, began)

    def _completed(self, sessions: list[_Session], prompt: Prompt, began: float) -> CompletedReply:
        usage = sum((session.meter.usage for session in sessions), Usage())
        seconds = self._settings.timeout_seconds
        return CompletedReply(
            completions=tuple(_account(session, seconds) for session in sessions),
            finish_reasons=tuple(_finish_reason(session.result) for session in sessions),
            prompt=prompt,
            dropped=tuple(
                RejectedText(chain=chain, reason=reason)
                for chain, session in enumerate(sessions)
                for reason in session.found.rejected
            ),
            usage=usage,
            cost=self._settings.cost(usage) if self._settings.base_url is not None else None,
            seconds=self._monotonic() - began,
            attempts=len(sessions),
        )

    def _meter(self) -> SessionMeter:
        return SessionMeter(
            max_tokens=self._settings.max_session_tokens,
            max_cost=self._settings.max_session_cost,
            cost=self._settings.cost,
        )

    async def _run(self, proposal: Proposal, prompt: Prompt, session: _Session) -> None:
        """One session, whose tokens count however it ends."""
        text = "\n\n".join(sendable(message.content) for message in prompt.messages)
        program = proposal.parent.program
        async with self._cell() as open_cell:
            environment = {**_TERMINAL, **self._environment}
            if open_cell.proxy is not None:
                open_cell.proxy.meter = session.meter
                environment |= open_cell.proxy.environment
            order = SessionOrder(
                words=[word.replace("{model}", self._settings.model) for word in self._settings.command],
                files=worktree_files(program, proposal.answers, text),
                folders=[answer_folder(index, proposal.answers) for index in range(proposal.answers)],
                removed=removed_paths(program, proposal.answers),
                stdin=PROMPT_PATH,
                environment=environment,
            )
            try:
                result = await self._sandbox.run(open_cell.cell, order)
            except SandboxError as error:
                raise PolicyUnavailable(f"the sandbox of the agent {self.name} was lost: {error}") from error
            finally:
                if open_cell.proxy is not None:
                    await open_cell.proxy.end_session()
        if result.ended == UNSTARTED:
            raise PolicyDenied(
                f"the agent {self.name} cannot be started: {result.transcript[:200]}. Install it under /usr, or name"
                " its folders in path and read"
            )
        session.result = result
        seconds = self._settings.timeout_seconds
        session.found = read_answers(result, program, proposal.answers, seconds, self._repository)

    @asynccontextmanager
    async def _cell(self) -> AsyncIterator[_OpenCell]:
        """A cell for one session; one whose sandbox was lost is given up."""
        async with self._room:
            open_cell = self._cells.pop() if self._cells else await self._new_cell()
            try:
                yield open_cell
            finally:
                if open_cell.cell.keeper.gone:
                    await self._give_up(open_cell)
                else:
                    self._cells.append(open_cell)

    async def _new_cell(self) -> _OpenCell:
        try:
            cell = await self._sandbox.open_cell()
        except SessionError as error:
            raise PolicyUnavailable(f"{self.name}: {error}") from error
        if cell.listening is None:
            return _OpenCell(cell, None)
        proxy = EgressProxy(self._settings.base_url, self._key, self._transport, self._settings.allow_hosts)
        await proxy.start(cell.listening)
        return _OpenCell(cell, proxy)

    async def _give_up(self, open_cell: _OpenCell) -> None:
        if open_cell.proxy is not None:
            await open_cell.proxy.close()
        await self._sandbox.close_cell(open_cell.cell)


def _named_variables(settings: PolicySettings, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the settings name, as far as they are set."""
    return {name: environment[name] for name in settings.environment if name in environment}


async def _cancelled(running: Sequence["asyncio.Future[None]"]) -> None:
    for run in running:
        run.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def _finish_reason(result: SessionResult | None) -> str:
    if result is None:
        return "cancelled"
    return "stop" if result.ended == EXITED and result.status == 0 else result.ended


def _account(session: _Session, seconds: float) -> str:
    """The completion of a chain: the transcript of its session, and how it ended."""
    if session.result is None:
        return ""
    notes = f" Left out: {notes_line(session.found.notes)}." if session.found.notes else ""
    said = session.result.transcript.rstrip()
    return f"{said}\n\n[The agent {how_it_ended(session.result, seconds)}.{notes}]".lstrip()
