"""Check the snapshot of a run: whether it holds what a replay of the run's log gives."""

from dataclasses import dataclass

from evolve.errors import SnapshotError
from evolve.search.snapshot import differences, restore_state
from evolve.search.state import SearchState
from service.errors import NotFoundError
from service.ports import RunRecord, Storage
from service.runner.run_snapshots import read_snapshot
from service.runner.status import StatusFold
from service.usecases.plan import plan_stored


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotCheck:
    """How the snapshot of a run compares with a replay.

    Attributes:
        sequence: of the last event in it.
        size: of its content, in bytes.
        ignored: why a resume would not use it; empty: it would.
        differences: names of the parts of the state in which it differs from a replay.
    """

    sequence: int
    size: int
    ignored: str = ""
    differences: tuple[str, ...] = ()


def check_snapshot(storage: Storage, run: RunRecord) -> SnapshotCheck:
    """Replay the events up to the snapshot of a run, and compare the two.

    Raises:
        NotFoundError: the run has none.
        ReplayError: the log itself cannot be replayed.
    """
    stored = storage.snapshots.load(run.id)
    if stored is None:
        raise NotFoundError(f"the run {run.id} has no snapshot: a run gets its first after 50,000 events")
    plan = plan_stored(run, storage.log)
    size = len(stored.content)
    restored = SearchState(plan.problem, plan.config)
    try:
        point = read_snapshot(storage.log, run.id, plan.problem, plan.config, stored)
        restore_state(restored, point.content)
    except SnapshotError as error:
        return SnapshotCheck(sequence=stored.sequence, size=size, ignored=str(error))
    replayed, status = SearchState(plan.problem, plan.config), StatusFold(run.id)
    for entry in storage.log.events(run.id, limit=stored.sequence):
        replayed.apply(entry.event)
        status.apply(entry.event)
    found = differences(restored, replayed)
    found += ["status"] if status.saved() != point.fold.saved() else []
    return SnapshotCheck(sequence=stored.sequence, size=size, differences=tuple(found))
