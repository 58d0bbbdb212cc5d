"""How far the runs of a batch are: a line for each that ends, and what the exit code of the whole is."""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.exit_codes import FAILED, INTERRUPTED, INVALID, OK
from service.cli.records import as_score
from service.cli.terminal import Terminal, plain
from service.ports import ENDED, PAUSED, RunRecord
from service.projections.batches import group_name
from service.usecases.batches import Batches

if TYPE_CHECKING:
    from service.schemas.batches import Batch

POLL_SECONDS = 2.0
READ_EVERY = 5  # looks at a batch for one at its runs, where no state has changed
UNSCORED = "error"  # the reason of a run that ends at its seeds


class BatchProgress:
    """Says of each run of a batch once that it has ended, and why one waits."""

    def __init__(self, terminal: Terminal, runs: Sequence[RunRecord]) -> None:
        self._terminal = terminal
        self._ended = {run.id for run in runs if run.state in ENDED}
        self._waits: dict[str, str] = {}

    def show(self, runs: Sequence[RunRecord]) -> None:
        """Say what is new of the runs of the batch."""
        for run in runs:
            if run.state in ENDED and run.id not in self._ended:
                self._ended.add(run.id)
                self._terminal.note(f"[{len(self._ended)}/{len(runs)}] {_result(run)}")
            waits = "" if run.state in ENDED else str((run.waiting or {}).get("reason", ""))
            if waits and self._waits.get(run.id) != waits:
                self._terminal.note(f"{formatting.short(run.id)} waits: {waits}", style="yellow")
            self._waits[run.id] = waits


def rests(run: RunRecord) -> bool:
    """Whether a run goes on no more: it has ended, or is paused, and nobody wants it to go on."""
    return run.state in ENDED or (run.state == PAUSED and (run.desired_state == PAUSED or run.revision == 0))


def wait_for_batch(terminal: Terminal, batches: Batches, batch: "Batch") -> None:
    """Wait until none of the runs of a batch goes on, and say how far they are."""
    runs = batches.runs(batch.id)
    terminal.note(f"{opening(batch, runs)}. Press Ctrl-C to stop waiting. The runs continue", style="dim")
    progress, looks = BatchProgress(terminal, runs), 0
    while not all(map(rests, runs)):
        time.sleep(POLL_SECONDS)
        looks += 1
        now = batches.get(batch.id)
        if now.states != batch.states or looks % READ_EVERY == 0:
            runs = batches.runs(batch.id)
            progress.show(runs)
        batch = now


def opening(batch: "Batch", runs: Sequence[RunRecord]) -> str:
    """Which batch it is, and how far it is."""
    ended = sum(run.state in ENDED for run in runs)
    count = formatting.plural(len(runs), "run")
    return f"batch {formatting.short(batch.id)}: {count}{f', {ended} of them ended' if ended else ''}"


def batch_code(terminal: Terminal, runs: Sequence[RunRecord], batch: "Batch") -> int:
    """The exit code of a batch that rests, with the reason where it is not 0.

    Paused runs come before failed ones, for the batch can go on. Failed ones give the code that their runs would give.
    """
    if paused := sum(run.state == PAUSED for run in runs):
        name = formatting.short(batch.id)
        resume, again = terminal.command(f"resume {name}"), terminal.command(f"batch {name}")
        terminal.note(f"{formatting.plural(paused, 'run')} paused: resume with {resume}, then wait with {again}")
        return INTERRUPTED
    failed, cancelled = ([run for run in runs if run.state == state] for state in ("failed", "cancelled"))
    alike: dict[str, list[RunRecord]] = defaultdict(list)
    for run in failed:
        alike[_reason(run)].append(run)
    for reason, some in alike.items():
        first = terminal.command(f"show {formatting.short(some[0].id)}")
        terminal.note(f"evolve: {formatting.plural(len(some), 'run')} failed: {reason}. See the first with: {first}")
    if cancelled:
        terminal.note(f"evolve: {formatting.plural(len(cancelled), 'run')} cancelled")
    if failed and not cancelled and all(run.reason == UNSCORED for run in failed):
        return INVALID
    return FAILED if failed or cancelled or not runs else OK


def _result(run: RunRecord) -> str:
    group = group_name(run)
    what = ", ".join([run.problem_name, *([group] if group else []), f"seed {run.seed}"])
    if run.state == "failed":
        return plain(f"{what}: failed: {_reason(run)}; {formatting.short(run.id)}")
    best = formatting.number(as_score(run, run.best_fitness))
    done, seconds = formatting.count(run.counters.evaluations), formatting.duration(run.active_seconds)
    return plain(f"{what}: {run.state}, best {best}, {done} evaluated in {seconds}; {formatting.short(run.id)}")


def _reason(run: RunRecord) -> str:
    if run.reason == UNSCORED:
        return f"no seed of {run.problem_name} could be scored"
    return run.failure or run.reason
