"""Runs in columns as they are saved: whoever reads a long run saves it, and so does whoever drove it to its end."""

import structlog

from evolve.version import __version__
from service.errors import ServiceError
from service.ports import ENDED, ColumnStore, RunReader, RunRecord
from service.projections.array_codec import BYTE_ORDER, UnreadableError, decode, encode
from service.projections.columns import FORMAT, Columns

SAVED_FORM = f"{FORMAT} of {__version__}, {BYTE_ORDER}"
# A run is saved once so many of its evaluations are new, and such a share: however long it is, each evaluation is saved
# less than ten times.
MIN_NEW, MIN_NEW_SHARE = 1000, 1 / 8

log = structlog.get_logger(__name__)


def load_columns(store: ColumnStore, run: RunRecord) -> Columns:
    """The columns of a run as a process has saved them, else empty ones."""
    content = store.load(run.id, SAVED_FORM)
    if content is None:
        return Columns(run)
    try:
        return Columns.restored(run, decode(content))
    except UnreadableError as error:
        log.warning("columns.unreadable", run_id=run.id, reason=str(error))
        return Columns(run)


def worth_saving(columns: Columns, saved: int) -> bool:
    """Whether enough is new since so many evaluations were saved."""
    return len(columns) - saved >= max(MIN_NEW, MIN_NEW_SHARE * len(columns))


def save_columns(store: ColumnStore, columns: Columns) -> None:
    """Save a run as it was read."""
    try:
        store.save(columns.run.id, SAVED_FORM, columns.sequence, encode(columns.state()))
    except ServiceError as error:  # it is read again then
        log.warning("columns.not_saved", run_id=columns.run.id, reason=str(error))


def save_ended_run(store: ColumnStore, reader: RunReader, run_id: str) -> None:
    """Save a long run that has ended, so that its pages need not read its events or compare its programs.

    Its front over time and its map of programs are saved with it.
    """
    try:
        run = reader.run(run_id)
        if run.state not in ENDED or run.counters.evaluations < MIN_NEW:
            return
        columns = load_columns(store, run)
        saved = len(columns)
        columns.catch_up(reader)
        if worth_saving(columns, saved):
            columns.front_spans()
            while not columns.program_positions.catch_up(reader, columns.ids, columns.fitness).complete:
                pass  # each time some thousand programs more
            save_columns(store, columns)
    except ServiceError as error:
        log.warning("columns.not_saved", run_id=run_id, reason=str(error))
