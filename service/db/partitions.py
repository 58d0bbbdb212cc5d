"""The partitions of the table `events` in PostgreSQL: a week each, by the time at which a run began.

The id of a run begins with that time, so that a week is a range of ids. Ids that tell no time, and runs of weeks that
nobody made a partition for, are in the partition `events_default`. SQLite has one table.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, LargeBinary, and_, exists, func, literal, select, text

from service.db.compact_ids import encode_id
from service.db.models import EventRow, RunRow
from service.db.presence import DELETING

WEEK = timedelta(days=7)
GRACE = timedelta(days=1)  # so long after its end a week may get runs: an id is made before its run is stored
WEEKS_AHEAD = 4  # so many are made before they begin: any of the processes needs to look once in that time
MAX_WEEKS = 520  # of those that a restored backup is laid out in
TABLE = EventRow.__tablename__
DEFAULT = f"{TABLE}_default"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOCK = 0x65766F70  # for whoever changes the partitions
_NAME = re.compile(rf"{TABLE}_(until_)?(\d{{4}})_(\d\d)_(\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPartition:
    """The events of the runs that began in a time.

    Attributes:
        begins: a Monday; None: everything before `ends`.
        ends: the first Monday that is not in it.
    """

    begins: datetime | None
    ends: datetime

    @classmethod
    def of_week(cls, at: datetime) -> "EventPartition":
        """That of the week, in UTC, of a time."""
        day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        begins = day - timedelta(days=day.weekday())
        return cls(begins=begins, ends=begins + WEEK)

    @classmethod
    def named(cls, name: str) -> "EventPartition | None":
        """That of a table; None: it is the default, or not of ours."""
        if not (found := _NAME.fullmatch(name)):
            return None
        day = datetime(int(found[2]), int(found[3]), int(found[4]), tzinfo=UTC)
        return cls(begins=None, ends=day) if found[1] else cls(begins=day, ends=day + WEEK)

    @property
    def name(self) -> str:
        """That of its table: a word that needs no quotes."""
        return f"{TABLE}_until_{self.ends:%Y_%m_%d}" if self.begins is None else f"{TABLE}_{self.begins:%Y_%m_%d}"

    @property
    def low(self) -> bytes:
        """The lowest stored id that may be in it."""
        return first_id(_EPOCH if self.begins is None else self.begins)

    @property
    def high(self) -> bytes:
        """The lowest stored id above all that are in it."""
        return first_id(self.ends)

    @property
    def values(self) -> str:
        """Its bounds, as a statement has them."""
        return f"FOR VALUES FROM ('\\x{self.low.hex()}') TO ('\\x{self.high.hex()}')"


def first_id(at: datetime) -> bytes:
    """What stands below the stored ids of all runs that begin at a time or later, and above all earlier."""
    return encode_id(f"run_{UUID(int=int(at.timestamp() * 1000) << 80)}")


def partitions(connection: Connection) -> list[EventPartition]:
    """Those that there are but the default, oldest first."""
    query = text(
        "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = to_regclass(:name)"
    )
    found = map(EventPartition.named, connection.execute(query, {"name": TABLE}).scalars())
    return sorted((one for one in found if one is not None), key=lambda one: one.ends)


def missing(connection: Connection, now: datetime) -> list[EventPartition]:
    """Those of this week and the next ones that are not there yet."""
    there = partitions(connection)
    covered = {one.name for one in there}
    until = max((one.ends for one in there if one.begins is None), default=None)
    weeks = (EventPartition.of_week(now + number * WEEK) for number in range(WEEKS_AHEAD + 1))
    return [week for week in weeks if week.name not in covered and (until is None or week.ends > until)]


def add(connection: Connection, partition: EventPartition) -> bool:
    """Make a partition, unless it is there or the default holds events of its runs already; whether it was made.

    Commits wait for it a moment at most: nothing in it waits for them once it has its first lock.
    """
    _alone(connection)
    if partition in partitions(connection) or _has_strays(connection, partition):
        return False
    name = partition.name
    # In the order of commits, which change the run first: so neither waits for the other for ever.
    connection.execute(text(f"LOCK TABLE {RunRow.__tablename__} IN SHARE ROW EXCLUSIVE MODE"))
    connection.execute(text(f"CREATE TABLE {name} (LIKE {TABLE} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"))
    _hand_over(connection, name)
    connection.exec_driver_sql(f"ALTER TABLE {TABLE} ATTACH PARTITION {name} {partition.values}")
    return True


def unused(connection: Connection, partition: EventPartition) -> bool:
    """Whether every run that may have events in it is deleted, or marked to be."""
    return not connection.execute(select(exists().where(_runs_of(partition), RunRow.state != DELETING))).scalar()


def unused_without(connection: Connection, partition: EventPartition, runs: Collection[str]) -> bool:
    """Whether it would be unused if these runs were deleted."""
    kept = connection.execute(select(RunRow.id).where(_runs_of(partition), RunRow.state != DELETING)).scalars()
    return all(run_id in runs for run_id in kept)


def size(connection: Connection, partition: EventPartition) -> int:
    """Bytes of its rows on the disk, with long values and indexes; 0: it has none, or is not there."""
    query = text(
        "SELECT pg_total_relation_size(oid) FROM pg_class WHERE oid = to_regclass(:name) AND pg_relation_size(oid) > 0"
    )
    return int(connection.execute(query, {"name": partition.name}).scalar() or 0)


def empty(connection: Connection, partition: EventPartition) -> int:
    """Give the space of an unused partition back; how many bytes. Only who reads or writes in it waits."""
    _alone(connection)
    if partition not in partitions(connection):
        return 0
    connection.execute(text(f"LOCK TABLE ONLY {partition.name} IN ACCESS EXCLUSIVE MODE"))
    if not unused(connection, partition):
        return 0
    before = size(connection, partition)
    connection.execute(text(f"TRUNCATE ONLY {partition.name}"))
    return before


def drop(connection: Connection, partition: EventPartition) -> bool:
    """Drop an unused partition that was emptied; whether it was dropped."""
    _alone(connection)
    connection.execute(text(f"LOCK TABLE ONLY {TABLE} IN ACCESS EXCLUSIVE MODE"))
    there = partition in partitions(connection)
    if not there or size(connection, partition) or not unused(connection, partition):
        return False
    connection.execute(text(f"DROP TABLE {partition.name}"))
    return True


def lay_out(connection: Connection) -> None:
    """Make partitions for the weeks of all runs that are stored, while there are no events yet."""
    until = next((one for one in partitions(connection) if one.begins is None), None)
    oldest = connection.execute(_OLDEST).scalar()
    if until is None or oldest is None:
        return
    began = datetime.fromtimestamp((UUID(oldest.removeprefix("run_")).int >> 80) / 1000, UTC)
    weeks = list(_weeks(EventPartition.of_week(began), until.ends))[-MAX_WEEKS:]
    if not weeks:
        return
    connection.execute(text(f"DROP TABLE {until.name}"))
    for partition in (EventPartition(begins=None, ends=weeks[0].ends - WEEK), *weeks):
        add(connection, partition)


def _runs_of(partition: EventPartition) -> ColumnElement[bool]:
    return and_(RunRow.id >= _stored(partition.low), RunRow.id < _stored(partition.high))


def _weeks(first: EventPartition, end: datetime) -> Iterator[EventPartition]:
    while first.ends <= end:
        yield first
        first = EventPartition.of_week(first.ends)


def _alone(connection: Connection) -> None:
    """Let nobody else change the partitions until the transaction ends."""
    connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))


def _has_strays(connection: Connection, partition: EventPartition) -> bool:
    """Whether the default has events of its runs: then it cannot be made."""
    query = text(f"SELECT EXISTS (SELECT FROM {DEFAULT} WHERE run_id >= :low AND run_id < :high)")  # noqa: S608 - a constant
    return bool(connection.execute(query, {"low": partition.low, "high": partition.high}).scalar())


def _hand_over(connection: Connection, name: str) -> None:
    """Give a new table to the owner of the others."""
    query = text(
        "SELECT format('ALTER TABLE %I OWNER TO %I', CAST(:name AS text), pg_get_userbyid(relowner)) FROM pg_class"
        " WHERE oid = to_regclass(:table) AND pg_get_userbyid(relowner) <> current_user"
    )
    for statement in connection.execute(query, {"name": name, "table": TABLE}).scalars():
        connection.exec_driver_sql(statement)


def _stored(value: bytes) -> ColumnElement[bytes]:
    return literal(value, LargeBinary)


# The oldest id of a run that tells its time: a UUID of version 7 of this century.
_OLDEST = (
    select(RunRow.id)
    .where(
        RunRow.id >= _stored(first_id(datetime(2020, 1, 1, tzinfo=UTC))),
        RunRow.id < _stored(b"\x02"),
        func.get_byte(RunRow.id, 7).op("/")(16) == 7,
    )
    .order_by(RunRow.id)
    .limit(1)
)
