"""Snapshots of runs, in parts that take a short transaction each, so that no run waits long for that of another."""

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from service.db.engine import Database
from service.db.models import RunRow, SnapshotRow
from service.db.presence import there
from service.ports import StoredSnapshot

PART_BYTES = 4 * 1024 * 1024


class SqlSnapshotStore:
    """The port SnapshotStore on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, run_id: str) -> StoredSnapshot | None:
        """The newest that is whole; None: there is none."""
        of_run = SnapshotRow.run_id == run_id
        whole = (
            select(SnapshotRow.sequence)
            .where(of_run)
            .group_by(SnapshotRow.sequence, SnapshotRow.parts)
            .having(func.count() == SnapshotRow.parts)
            .order_by(SnapshotRow.sequence.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            sequence = connection.execute(whole).scalar()
            if sequence is None:
                return None
            parts = (
                select(SnapshotRow.content).where(of_run, SnapshotRow.sequence == sequence).order_by(SnapshotRow.part)
            )
            return StoredSnapshot(sequence=sequence, content=b"".join(connection.execute(parts).scalars()))

    def save(self, run_id: str, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot in place of older ones; nothing happens for a run that is being deleted, or is gone."""
        content, sequence = snapshot.content, snapshot.sequence
        portions = [content[start : start + PART_BYTES] for start in range(0, len(content), PART_BYTES)]
        if not self._remove(run_id, SnapshotRow.sequence == sequence):
            return
        for part, portion in enumerate(portions):
            row = {
                "run_id": run_id, "sequence": sequence, "part": part, "parts": len(portions), "content": portion,
            }  # fmt: skip
            with self._database.write() as connection:
                if not _present(connection, run_id):
                    return
                connection.execute(insert(SnapshotRow), row)
        self._remove(run_id, SnapshotRow.sequence < sequence)

    def forget(self, run_id: str) -> None:
        """Remove what is kept of a run."""
        self._remove(run_id, SnapshotRow.sequence >= 0)

    def _remove(self, run_id: str, which: ColumnElement[bool]) -> bool:
        """Remove rows of a run; whether the run is there."""
        with self._database.write() as connection:
            present = _present(connection, run_id)
            if present:
                connection.execute(delete(SnapshotRow).where(SnapshotRow.run_id == run_id, which))
            return present


def _present(connection: Connection, run_id: str) -> bool:
    """Keep a run from being deleted until the transaction ends; whether it is there."""
    run = select(RunRow.id).where(RunRow.id == run_id, there).with_for_update(key_share=True, read=True)
    return connection.execute(run).scalar() is not None
