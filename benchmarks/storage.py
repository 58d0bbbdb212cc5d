"""Where the bytes of a run go, and what commits cost: `python -m benchmarks.storage`.

A made-up run (`benchmarks.landscape`: programs of 3 KB that differ from their parents in a few lines, completions of
four) is committed in batches of some candidates, as a runner commits it, into a PostgreSQL of its own and into a SQLite
file. Told are the bytes per candidate of each table, of its long values (TOAST) and of its indexes, after a vacuum, and
the processor time of this process and of the server per candidate.

JSON on standard output, a table on standard error.
"""

import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.harness import arguments, collect_rarely, report, scratch
from benchmarks.landscape import write_run
from benchmarks.worker_fleet import processor_seconds
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.schema_upgrade import upgrade
from service.ports import LoggedEvent, NewRun
from service.timestamps import SystemClock
from tests.services import postgres_server

LEASE_SECONDS = 3600.0
SIZES = """
SELECT coalesce(pg_partition_root(oid), oid)::regclass::text, sum(pg_relation_size(oid))::bigint,
       sum(coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0))::bigint,
       sum(pg_indexes_size(oid))::bigint, sum(pg_total_relation_size(oid))::bigint
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace GROUP BY 1
"""
INDEXES = """
SELECT indexrelname, pg_relation_size(indexrelid) FROM pg_stat_user_indexes
"""


@dataclass
class Recorder:
    """The part of a log that a made-up run is told to; it keeps everything in memory."""

    run: NewRun | None = None
    events: list[LoggedEvent] = field(default_factory=list)

    def create(self, run: NewRun) -> None:
        self.run = run

    def take(self, run_id: str, owner: str, lease_seconds: float) -> int:
        del run_id, owner, lease_seconds
        return 1

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        del run_id, fence
        self.events.extend(events)

    def release(self, run_id: str, fence: int) -> None:
        """Nothing was held."""


def recorded(candidates: int, seed: int) -> Recorder:
    """A run with so many candidates."""
    recorder = Recorder()
    with scratch() as folder:
        write_run(recorder, Path(folder), candidates, seed)  # type: ignore[arg-type]  # the part of a log that is used
    return recorder


def batches(events: Sequence[LoggedEvent], candidates: int) -> Iterator[list[LoggedEvent]]:
    """Events in batches of so many evaluated candidates."""
    batch, held = list[LoggedEvent](), 0
    for event in events:
        batch.append(event)
        held += event.event.kind == "candidate.evaluated"
        if held == candidates:
            yield batch
            batch, held = [], 0
    yield batch


def commit(url: str, run: Recorder, per_batch: int) -> float:
    """Commit a run, and tell the seconds that it took."""
    database = open_database(url)
    log = SqlRunLog(database, SystemClock())
    assert run.run is not None
    log.create(run.run)
    fence = log.take(run.run.id, "benchmark", LEASE_SECONDS)
    began = time.monotonic()
    for batch in batches(run.events, per_batch):
        log.append(run.run.id, fence, batch)
    wall = time.monotonic() - began
    log.release(run.run.id, fence)
    database.close()
    return wall


@contextmanager
def measured(server: int | None) -> Iterator[dict[str, float]]:
    """Processor seconds of this process and of a server with its children."""
    found: dict[str, float] = {}
    client, before = time.process_time(), processor_seconds(server, with_children=True) if server else 0.0
    yield found
    found["client"] = time.process_time() - client
    found["server"] = (processor_seconds(server, with_children=True) if server else 0.0) - before


def costs(candidates: int, wall: float, spent: dict[str, float]) -> dict[str, float]:
    """Per candidate."""
    ms = {f"{name}_cpu_ms": round(1000 * seconds / candidates, 3) for name, seconds in spent.items()}
    return ms | {"wall_ms": round(1000 * wall / candidates, 3), "candidates_per_second": round(candidates / wall, 1)}


def in_postgres(run: Recorder, candidates: int, per_batch: int) -> dict[str, Any]:
    with postgres_server(durable=True) as server:
        url = server.create_database("storage")
        upgrade(url)
        with psycopg.connect(url, autocommit=True) as connection:
            backend = connection.info.backend_pid
            postmaster = int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])
            empty = {name: total for name, *_, total in connection.execute(SIZES)}
            lsn = connection.execute("SELECT pg_current_wal_lsn()").fetchone()
            with measured(postmaster) as spent:
                wall = commit(url, run, per_batch)
            (wal,) = connection.execute("SELECT pg_current_wal_lsn() - %s::pg_lsn", lsn or ()).fetchone() or (0,)
            connection.execute("VACUUM ANALYZE")
            rows = [row for row in connection.execute(SIZES) if row[-1] > empty[row[0]]]
            indexes: dict[str, int] = dict(connection.execute(INDEXES).fetchall())
    tables = {
        name: {
            part: round(size / candidates)
            for part, size in zip(
                ("rows", "toast", "indexes", "all"), (heap, toast, index, total - empty[name]), strict=True
            )
        }
        for name, heap, toast, index, total in sorted(rows, key=lambda row: -row[-1])
    }
    return {
        "bytes_per_candidate": sum(parts["all"] for parts in tables.values()),
        "wal_bytes_per_candidate": round(float(wal) / candidates),
        "tables": tables,
        "indexes": {name: round(size / candidates) for name, size in indexes.items() if size > 100_000},
        "commits": costs(candidates, wall, spent),
    }


def in_sqlite(run: Recorder, candidates: int, per_batch: int) -> dict[str, Any]:
    with scratch() as folder:
        path = Path(folder) / "evolve.db"
        with measured(None) as spent:
            wall = commit(f"sqlite:///{path}", run, per_batch)
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            parts = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
        connection.close()
        size = path.stat().st_size
    found = {name: round(bytes_ / candidates) for name, bytes_ in sorted(parts.items(), key=lambda part: -part[1])}
    return {
        "bytes_per_candidate": round(size / candidates),
        "tables_and_indexes": {name: per for name, per in found.items() if per},
        "commits": costs(candidates, wall, spent),
    }


def table(figures: dict[str, Any]) -> str:
    """PostgreSQL's tables for people."""
    names = ("rows", "toast", "indexes", "all")
    lines = [f"{'bytes a candidate':20}" + "".join(f"{name:>9}" for name in names)]
    lines += [
        f"{name:20}" + "".join(f"{parts[part]:>9}" for part in names) for name, parts in figures["tables"].items()
    ]
    return "\n".join([*lines, f"{'together':47}{figures['bytes_per_candidate']:>9}"]) + "\n"


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=20, help="candidates in a commit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--databases", nargs="+", choices=("postgresql", "sqlite"), default=["postgresql", "sqlite"])
    options = parser.parse_args()
    collect_rarely()
    run = recorded(options.candidates, options.seed)
    figures: dict[str, Any] = {"candidates": options.candidates, "per_batch": options.batch}
    if "postgresql" in options.databases:
        figures["postgresql"] = in_postgres(run, options.candidates, options.batch)
        sys.stderr.write(table(figures["postgresql"]))
    if "sqlite" in options.databases:
        figures["sqlite"] = in_sqlite(run, options.candidates, options.batch)
    report("storage", figures, options.out)


if __name__ == "__main__":
    main()
