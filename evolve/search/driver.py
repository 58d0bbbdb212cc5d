"""Driver: a search, its policies and an evaluator joined in one process, without storage; all stays in memory."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType

from evolve.configuration import RunConfig
from evolve.credit.yields import EXTENSION_FAILED
from evolve.errors import ConfigurationError, ExtensionError
from evolve.event_types import (
    EventData,
    RunCancelled,
    RunContinued,
    RunFinished,
    RunResumed,
    RunStarted,
    RunUnblocked,
    RunWaiting,
)
from evolve.events import Event
from evolve.extensions import ExtensionKind, Extensions
from evolve.ports import Embedder, Evaluator
from evolve.problem import Problem
from evolve.search.deterministic_schedule import joined, open_search
from evolve.search.dispatcher import Dispatcher
from evolve.search.embedding import check_embedder
from evolve.search.ensemble import EnsembleMember
from evolve.search.holdout_audit import closing_event, examine, wanted
from evolve.search.result import INTERRUPTED, EventSummary, FoundCandidates, Result
from evolve.search.search import SearchStep

TICK_SECONDS = 0.5

Observe = Callable[[Sequence[Event]], None]


class Driver:
    """Drives one search to its end.

    Args:
        run_id: the ids of proposals and candidates derive from it: equal runs have equal ids where this one is equal.
        problem: what is searched for.
        config: how, and for how long.
        policies: answer the proposals.
        evaluator: scores the candidates.
        monotonic: seconds that never go back: the clock of the budget.
        observe: hears of events, in order, as soon as they are decided.
        embedder: embeds programs, where they are compared by their embeddings.
        earlier: what became of the same run before, to go on from there; with the configuration that it had.
        extension: keys of the budget with the values that they have from then on.
        extensions: resolves the names of the configuration.

    Raises:
        ConfigurationError: the policies do not go together with each other or with the configuration, or an extension
            is missing.
        ExtensionError: an extension cannot be loaded or made.
    """

    def __init__(
        self,
        run_id: str,
        problem: Problem,
        config: RunConfig,
        policies: Sequence[EnsembleMember],
        evaluator: Evaluator,
        *,
        monotonic: Callable[[], float],
        observe: Observe | None = None,
        embedder: Embedder | None = None,
        earlier: Result | None = None,
        extension: Mapping[str, object] = MappingProxyType({}),
        extensions: Extensions | None = None,
        beside: Sequence[tuple[ExtensionKind, str]] = (),
    ) -> None:
        check_embedder(config, embedder.name if embedder else None)
        if config.insights.every:
            raise ConfigurationError("insights.every needs a run that is stored: run it with `evolve run`")
        if config.learning.every:
            raise ConfigurationError("learning.every needs a run that is stored: run it with `evolve run`")
        self._extensions, self._beside = extensions or Extensions(), beside
        policy_requests = [member.policy_request for member in policies]
        self._search = open_search(run_id, problem, config, *policy_requests, extensions=self._extensions)
        self._dispatcher = Dispatcher(self._search, policies, evaluator, self._write, embedder)
        self._chronicle = EventSummary(run_id, problem, config)
        self._problem, self._config, self._evaluator = problem, config, evaluator
        self._monotonic = monotonic
        self._observe = observe
        self._began = 0.0
        self._waiting = ""
        self._stopped = False
        self._earlier, self._extension = earlier, extension

    def stop(self) -> None:
        """Let the run end where it stands; to be called in the thread of its loop."""
        self._stopped = True
        self._dispatcher.wake()

    async def run(self) -> Result:
        """Drive the search until it ends or is stopped; what became of it.

        An evaluation and a proposal that fail are results like others; a policy that is away is waited for. An
        extension that fails ends the run, with all that was decided before.

        Raises:
            ConfigurationError: a run that is continued would end at once, or its budget cannot be so.
        """
        self._began = self._monotonic() - (self._earlier.seconds if self._earlier else 0.0)
        used = tuple(self._extensions.describe([*self._config.extensions, *self._beside]))
        try:
            step = self._search.start() if self._earlier is None else self._continue(self._earlier)
            begun = RunStarted if self._earlier is None else RunResumed
            self._note(begun(by="", extensions=used))
            try:
                self._dispatcher.take(step)
                while not await self._turn():
                    pass
            finally:
                await self._dispatcher.cancel()
            await self._examine()
            return self._end()
        except ExtensionError as error:
            return self._break_off(str(error))

    @property
    def _elapsed(self) -> float:
        return self._monotonic() - self._began

    def _continue(self, earlier: Result) -> SearchStep:
        """Take up a run that has ended, with what its budget is now; what is still owed."""
        self._chronicle.take(earlier.events)
        found = FoundCandidates.of(earlier.events)
        resumed = self._search.replay(earlier.events, found.individuals, found.candidates)
        event = Event(RunContinued(by="", after=earlier.reason))
        self._search.state.apply(event)
        self._write([event])
        owed = [SearchStep(candidates=resumed.candidates, proposals=resumed.proposals)]
        owed += [self._search.extend(key, value) for key, value in self._extension.items()]
        if limit := self._search.ended(self._elapsed):
            raise ConfigurationError(f"the run would end at once, by {limit}: extend it with a larger budget")
        self._chronicle.config = replace(self._config, budget=self._search.state.budget)
        return joined(owed)

    async def _turn(self) -> bool:
        """One turn of the loop; whether it was the last."""
        self._dispatcher.ask(self._elapsed)
        self._note_waiting()
        if self._stopped or self._search.ended(self._elapsed):
            return True
        self._dispatcher.take(await self._dispatcher.arrival(TICK_SECONDS))
        return False

    async def _examine(self) -> None:
        """Examine what was found, on what was held out and under other seeds."""
        reason, state = self._search.ended(self._elapsed), self._search.state
        members = [member for island in state.islands for member in island.archive.members]
        plan = closing_event(self._problem, reason, state.best, members, state.seeds) if reason else None
        if plan is None:
            return
        self._write([*self._search.close(self._dispatcher.cut).events, Event(plan)])
        known = {one.candidate_id: one.program for one in (*members, *state.seeds, *filter(None, [state.best]))}
        maximum = self._config.concurrency.evaluations
        async with aclosing(examine(self._problem, wanted(plan), known, self._evaluator, maximum)) as results:
            async for result in results:
                self._write([result])
                if self._stopped:
                    return

    def _end(self) -> Result:
        """Let go of what is under way, and say what became of the run."""
        seconds = self._elapsed
        reason = self._search.ended(seconds)
        if reason is None:
            for step in self._dispatcher.landed():
                self._write(step.events)
        self._write(self._search.close(self._dispatcher.cut).events)
        best = self._chronicle.best
        detail = self._search.explain(reason, self._dispatcher.last_denied) if reason else ""
        if reason is None:
            self._note(RunCancelled(by=""))
        else:
            named = best.candidate_id if best else None
            fitness = best.fitness if best else None
            self._note(RunFinished(reason=reason, candidate_id=named, fitness=fitness, detail=detail))
        return self._chronicle.result(reason or INTERRUPTED, self._search.state.account, seconds, detail)

    def _break_off(self, detail: str) -> Result:
        """End a run whose extension failed; what it was about to decide then is not part of it."""
        best = self._chronicle.best
        named, fitness = (best.candidate_id, best.fitness) if best else (None, None)
        self._note(RunFinished(reason=EXTENSION_FAILED, candidate_id=named, fitness=fitness, detail=detail))
        return self._chronicle.result(EXTENSION_FAILED, self._search.state.account, self._elapsed, detail)

    def _note_waiting(self) -> None:
        self._write(self._dispatcher.news())
        waiting, before = self._dispatcher.waiting, self._waiting
        if waiting != before:
            self._waiting = waiting
            self._note(RunWaiting(reason=waiting) if waiting else RunUnblocked())

    def _note(self, data: EventData) -> None:
        self._write([Event(data)])

    def _write(self, events: Sequence[Event]) -> None:
        self._chronicle.take(events)
        if self._observe is not None and events:
            self._observe(events)
