"""The command `evolve run`: starts or continues a search, shows how it goes, and says what came of it."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack, nullcontext, suppress
from functools import partial
from shlex import quote
from types import FrameType
from typing import TYPE_CHECKING

from service.bootstrap.runs import open_run
from service.bootstrap.storage import open_storage
from service.cli import formatting
from service.cli.end_reason import limit_sources
from service.cli.environment import offer_environment
from service.cli.event_log import EventLog
from service.cli.exit_codes import FAILED, INTERRUPTED, OK, TARGET_MISSED
from service.cli.own_trainer import trainer_here
from service.cli.problem import show_warnings
from service.cli.progress import EventLines, Goal, LiveLine, PlainLines, limits
from service.cli.records import as_score, find_run
from service.cli.run_options import RunOptions, require_own_problem
from service.cli.summary import RunOutcome, read_outcome, show_summary, summary_json
from service.cli.terminal import OutputClosed, Terminal, evolve, plain
from service.cli.training_report import no_updates
from service.config import Settings, load_settings, redacted
from service.errors import InvalidProblemError, ServiceError, StorageError
from service.ports import PAUSED
from service.problems.configuration import config_as_json
from service.projections.run_site import stored_site
from service.runner.desired_state import DesiredState as Wanted
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.tracing import traces_sent
from service.usecases.drive_run import OpenedRun
from service.usecases.plan import RunOrder
from service.usecases.track_run import RunTracking, read_choices

if TYPE_CHECKING:
    from service.db.storage import SqlStorage
    from service.runner.status import RunObserver

HEAR_SECONDS = 0.5
UNSCORED = "error"  # the reason of a run that ends at its seeds
SHOW_CURSOR = b"\x1b[?25h"


def run_search(terminal: Terminal, options: RunOptions) -> int:
    """Run the search and return the exit code."""
    from service.telemetry import configure_logging

    configure_logging(terminal.verbosity, color=terminal.color)
    settings = load_settings()
    order = _order(options)
    trackers = read_choices([*settings.tracking.trackers, *options.track])
    if options.problem is not None and options.queue is None:
        offer_environment(terminal, options.problem, yes=options.yes)
    with traces_sent("evolve"), open_storage(settings, options.db) as storage:
        if options.resume is not None:
            run = find_run(storage.reader, options.resume)
            require_own_problem(terminal, options, run, lambda: storage.log.bundle(run.id))
            order = RunOrder(
                resume=run.id, flags=order.flags, require_isolation=order.require_isolation, queue=order.queue
            )
        site = stored_site(storage.reader, storage.url)
        tracking = RunTracking(trackers, lambda: nullcontext(site), partial(terminal.note, style="yellow"))
        opened_id, interrupted = asyncio.run(_sit(terminal, settings, order, storage, tracking))
        if trackers:
            with terminal.doing("sending the rest to trackers"):
                tracking.close()
        created = (event.as_json() for event in storage.log.events(opened_id, limit=1))
        outcome = read_outcome(site.reader, opened_id, site.assessment, site.failures, limit_sources(created))
        if terminal.as_json:
            with suppress(OutputClosed):  # the exit code still tells
                terminal.emit(summary_json(outcome))
        elif not interrupted and outcome.run.reason != UNSCORED:
            show_summary(terminal, outcome, redacted(storage.url))
            if none := no_updates(site, outcome.run):
                terminal.note(f"updates of the policy: {none}")
        return _code(terminal, options, outcome, interrupted=interrupted)


def _order(options: RunOptions) -> RunOrder:
    options.require_sense(workers=True)
    return RunOrder(
        problem=options.problem,
        config=options.config,
        settings=options.settings,
        flags=options.given,
        policies=options.asked.names,
        model=options.asked.model,
        params=options.asked.params,
        require_isolation=options.require_isolation,
        queue=options.queue,
        labels=options.labels,
    )


async def _sit(
    terminal: Terminal, settings: Settings, order: RunOrder, storage: "SqlStorage", tracking: RunTracking
) -> tuple[str, bool]:
    """One sitting at a run; its id, and whether it was asked to stop."""
    orders = RunOrders()
    async with AsyncExitStack() as parts:
        with terminal.doing("opening policy and sandbox"):
            opened = await parts.enter_async_context(open_run(settings, order, storage))
        show_warnings(terminal, opened.warnings)
        if opened.resumed and (intent := opened.wanted()) is not None:
            orders.want(intent)  # a larger budget, before the run is asked whether it has ended
        stop = partial(orders.pause, opened.job.owner)
        observer = _observer(terminal, opened, stop)
        with ExitStack() as stack:
            stack.enter_context(_Interrupts(terminal, opened.job.run_id, stop))
            stack.enter_context(tracking.follow(opened.job.run_id))
            learns = [opened.job.trainer.backend] if opened.job.trainer is not None else []
            stack.enter_context(trainer_here(terminal, settings, storage, wanted=learns))
            if not terminal.as_json:
                terminal.note(_opening(opened), style="dim")  # which promises that Ctrl-C stops the run cleanly
            if isinstance(observer, LiveLine):
                stack.enter_context(observer)
            if isinstance(observer, EventLines) and not opened.resumed:
                observer.committed(list(storage.log.events(opened.job.run_id, limit=1)))  # run.created came before
            hearing = asyncio.create_task(_hear(opened, orders, observer))
            try:
                status = await drive(opened.job, observer=observer, orders=orders)
            finally:
                hearing.cancel()
            if status.state == PAUSED and orders.by == opened.job.owner:
                await asyncio.to_thread(opened.rest)
    return opened.job.run_id, status.state not in ("succeeded", "failed", "cancelled")


async def _hear(opened: OpenedRun, orders: RunOrders, observer: "RunObserver") -> None:
    """Pass on what people elsewhere want of the run, until it is asked to stop here; lines in a log go on meanwhile."""
    while orders.desired is Wanted.RUNNING:
        with suppress(StorageError):  # the loop of the run says so
            intent = await asyncio.to_thread(opened.wanted)
            if intent is not None and orders.desired is Wanted.RUNNING:
                orders.want(intent)
        await asyncio.sleep(HEAR_SECONDS)
        if isinstance(observer, PlainLines):
            observer.tick()


def _observer(terminal: Terminal, opened: OpenedRun, ask_to_stop: Callable[[], None]) -> "RunObserver":
    if terminal.as_json:
        return EventLines(terminal, ask_to_stop)
    problem = opened.job.problem
    objective = problem.objectives[0].name if len(problem.objectives) == 1 else ""
    goal = Goal(
        budget=limits(config_as_json(opened.job.config)["budget"]),
        objective=objective,
    )
    if terminal.verbosity > 0:
        return EventLog()
    lines = LiveLine if terminal.err.is_terminal else PlainLines
    return lines(terminal, goal, opened.job.clock.monotonic, opened.activity)


def _opening(opened: OpenedRun) -> str:
    job, config = opened.job, opened.job.config
    verb = "continuing" if opened.resumed else "searching"
    islands = formatting.plural(config.islands, "island")
    names = [member.policy.name for member in job.policies]
    asked = f"policy {names[0]}" if len(names) == 1 else f"policies {', '.join(names)}"
    asked += "".join(
        f", {role} {name}" for role, name in (("critic", opened.critic), ("advisor", opened.advisor)) if name
    )
    return (
        f"{verb} {job.problem.name}: {islands}, {asked}, seed {config.seed},"
        f" isolation {opened.isolation}; run {formatting.short(job.run_id)}. Press Ctrl-C to stop"
    )


class _Interrupts:
    """The first Ctrl-C or SIGTERM asks the run to stop, the second leaves at once; all that was shown is stored."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, terminal: Terminal, run_id: str, ask_to_stop: Callable[[], None]) -> None:
        self._terminal, self._run_id, self._ask_to_stop = terminal, run_id, ask_to_stop
        self._heard = False
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> "_Interrupts":
        self._before = {number: signal.signal(number, self._hear) for number in self.SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of a signal's listener
        if self._heard:
            if self._terminal.err.is_terminal:
                os.write(2, SHOW_CURSOR)  # the live line hid it
            again = self._terminal.command(f"run --resume {formatting.short(self._run_id)}")
            os.write(2, f"\nevolve: quit. Continue with: {again}\n".encode())
            os._exit(INTERRUPTED)
        self._heard = True
        self._ask_to_stop()
        self._loop.call_soon_threadsafe(self._say)

    def _say(self) -> None:
        self._terminal.note("Stopping. Results so far are saved. Press Ctrl-C again to quit now.")


def _code(terminal: Terminal, options: RunOptions, outcome: RunOutcome, *, interrupted: bool) -> int:
    run = outcome.run
    if interrupted:
        done = formatting.plural(run.counters.evaluations, "evaluation")
        again = terminal.command(f"run --resume {formatting.short(run.id)}")
        terminal.note(
            f"Stopped after {done}, best {formatting.number(as_score(run, run.best_fitness))}. Continue with: {again}"
        )
        return INTERRUPTED
    if run.state == "cancelled":
        return FAILED
    if run.state == "failed":
        if run.reason == UNSCORED:
            why = plain(outcome.seed.reason if outcome.seed else run.reason)
            mend = f"fix it, then check it with: {evolve()} problem check {quote(run.source)}"
            raise InvalidProblemError([f"no seed of {run.problem_name} could be scored: {why}", mend])
        raise ServiceError(f"the run failed: {run.failure or run.reason}")
    if options.require_target and run.reason != "target":
        print(f"evolve: the target was not reached ({run.reason})", file=sys.stderr)
        return TARGET_MISSED
    return OK
