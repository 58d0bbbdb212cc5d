"""Writes the insights of a run while it is driven: facts of its record, or what its analyst makes of them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from evolve.change_events import InsightsWritten
from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError, PolicyError
from evolve.identity import insights_id, proposal_id
from evolve.prompt import AnalystRequest
from evolve.proposal import Charge, Proposal
from evolve.search.insights import ANALYST, FACTS, joined_text
from evolve.search.state import SearchState
from service.ports import Analyst
from service.runner.storage_retry import StorageRetry

TIMEOUT_SECONDS = 600.0
CUT_OFF = "the run ended before it answered"
_log = structlog.get_logger("runner")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What the next version adds to the lines that are kept."""

    text: str
    source: str
    evaluations: int
    reason: str


class InsightWriter:
    """Writes one version at a time, beside the loop.

    Args:
        run_id: of the run.
        config: of the run.
        state: of the search.
        facts: reads the facts of the run from storage.
        analyst: makes insights of them; None: the facts are the insights.
        retry: with which storage is asked.
        wake: is called when a version is written.

    Raises:
        ConfigurationError: the configuration asks for insights, and nothing tells the facts of the run.
    """

    def __init__(
        self,
        run_id: str,
        config: RunConfig,
        state: SearchState,
        *,
        facts: Callable[[], str] | None,
        analyst: Analyst | None,
        retry: StorageRetry,
        wake: Callable[[], None],
    ) -> None:
        if config.insights.every and facts is None:
            raise ConfigurationError("insights.every needs a run that is stored: leave it out")
        self._run_id, self._config, self._state = run_id, config, state
        self._facts, self._analyst = facts, analyst
        self._retry, self._wake = retry, wake
        self._task: asyncio.Task[_Draft] | None = None
        self._charges: list[Charge] = []

    def turn(self, *, committed: bool) -> InsightsWritten | None:
        """The next version, once it is written; starts to write one that is due.

        Args:
            committed: whether storage has all of the run. A run in a fixed order waits for that, since its facts must
                be the same in each repetition.
        """
        if self._task is not None and self._task.done():
            task, self._task = self._task, None
            return self._finished(task.result())
        due = self._state.changes.insights.due(self._state.account.evaluations)
        if self._task is None and due and (committed or not self._config.deterministic.window):
            self._task = asyncio.create_task(self._write())
            self._task.add_done_callback(lambda _: self._wake())
        return None

    async def cancel(self) -> tuple[InsightsWritten, ...]:
        """End a version that is under way; what is to be logged of it where the run ends.

        That is the version, where it was written and nobody took it, or what the analyst took of one that was cut off:
        the version before it stands, and the next is due as before.
        """
        task, self._task = self._task, None
        if task is None:
            return ()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled() and task.exception() is None:
            return (self._finished(task.result()),)
        insights = self._state.changes.insights
        source = ANALYST if insights.text else FACTS
        return (self._version(insights.text, source, insights.evaluations, CUT_OFF),) if self._charges else ()

    async def _write(self) -> _Draft:
        evaluations = self._state.account.evaluations
        self._charges = []
        assert self._facts is not None, "checked when this was made"
        facts = await self._retry.call(self._facts)
        text, reason = "", ""
        if self._analyst is not None:
            text, reason = await self._ask(self._analyst, facts, self._charges)
        return _Draft(text=text or facts, source=ANALYST if text else FACTS, evaluations=evaluations, reason=reason)

    def _finished(self, draft: _Draft) -> InsightsWritten:
        """The version of a draft. It keeps what people wrote up to now, also while the draft was written."""
        kept = self._state.changes.insights.kept
        return self._version(joined_text(kept, draft.text), draft.source, draft.evaluations, draft.reason)

    def _version(self, text: str, source: str, evaluations: int, reason: str) -> InsightsWritten:
        return InsightsWritten(
            change_id=insights_id(self._run_id, len(self._state.changes.insights.versions) + 1),
            by="",
            text=text,
            source=source,
            evaluations=evaluations,
            policy=self._analyst.name if self._analyst else "",
            reason=reason,
            charges=tuple(self._charges),
        )

    async def _ask(self, analyst: Analyst, facts: str, charges: list[Charge]) -> tuple[str, str]:
        """What the analyst wrote, and why it did not; its errors never end the run."""
        insights = self._state.changes.insights
        request = AnalystRequest(
            facts=facts, before=insights.text, kept=insights.kept, tokens=self._config.insights.tokens
        )
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await analyst.write(request, self._proposal(), charges), ""
        except (PolicyError, TimeoutError) as error:
            reason = str(error) or f"it did not answer within {TIMEOUT_SECONDS:.0f} s"
            # The reason may quote the model and its server: it stands in the event, which the run's readers see.
            _log.warning("insights.refused", run_id=self._run_id, policy=analyst.name, error=type(error).__name__)
            return "", reason

    def _proposal(self) -> Proposal:
        state = self._state
        version = len(state.changes.insights.versions) + 1
        parent = state.best or state.latest
        assert parent is not None, "insights are due after evaluations alone"
        return Proposal(
            id=proposal_id(self._run_id, 0),
            number=0,
            island=0,
            operator=FACTS,
            parent=parent,
            seed=(self._config.seed * 1_000_003 + version) % 2**31,
        )
