"""Ids in bytes, packed texts, and no index of the events that most events are.

Every table that grows with a run, and those that refer to one, is made anew and filled with its rows. Columns of a
fixed width come first in it, so that nothing is lost between them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from service.db.columns import read_text, stored_text
from service.db.compact_ids import decode_id, encode_id
from service.db.frequent_words import read_word, stored_word
from service.db.packed import as_json, pack, pack_json, unpack, unpack_json

revision = "0006_compact_rows"
down_revision = "0005_view_requests"

_Convert = Callable[[Any], Any]
_Converters = Callable[[str], Mapping[str, _Convert]]
_TypeOf = Callable[[str, str], sa.types.TypeEngine[Any] | None]
ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
ROWS = 1000
LONG_ROWS = {"texts": 100, "proposals": 100, "programs": 100, "candidate_views": 100, "run_columns": 1}
# In the order of references.
TABLES = (
    "runs", "events", "run_columns", "texts", "proposals", "programs", "candidates", "parents", "evaluations",
    "candidate_views", "memberships", "reevaluations", "view_requests", "run_changes", "notes", "pins", "shares",
)  # fmt: skip
IDS: Mapping[str, Sequence[str]] = {
    "runs": ("id",),
    "events": ("run_id",),
    "run_columns": ("run_id",),
    "proposals": ("run_id", "id"),
    "programs": ("id",),
    "candidates": ("run_id", "id", "program_id", "fingerprint", "duplicate_of"),
    "parents": ("candidate_id", "parent_id"),
    "evaluations": ("candidate_id",),
    "candidate_views": ("candidate_id",),
    "memberships": ("candidate_id", "run_id"),
    "reevaluations": ("run_id", "candidate_id"),
    "view_requests": ("run_id", "candidate_id"),
    "run_changes": ("run_id",),
    "notes": ("run_id",),
    "pins": ("run_id", "candidate_id"),
    "shares": ("run_id",),
}
JSONS: Mapping[str, Sequence[str]] = {
    "events": ("payload",),
    "proposals": ("completions", "reasoning"),
}
FILES: Mapping[str, Sequence[str]] = {"programs": ("files",)}
TEXTS: Mapping[str, Sequence[str]] = {"texts": ("body",), "candidate_views": ("content",)}
WORDS: Mapping[str, Sequence[str]] = {
    "events": ("kind",),
    "candidates": ("status",),
    "parents": ("role",),
    "evaluations": ("outcome", "isolation"),
}
FREQUENT = ("candidate.created", "candidate.evaluated", "individual.inserted", "proposal.answered", "proposal.created")
EVENTS = ("ix_events_run_id_kind_sequence", "events", ["run_id", "kind", "sequence"])
Index = tuple[str, str, list[Any]]
INDEXES: Sequence[Index] = (
    ("ix_runs_batch_id", "runs", ["batch_id"]),
    ("ix_runs_created_at_id", "runs", ["created_at", "id"]),
    ("ix_runs_problem_id", "runs", ["problem_id"]),
    ("ix_runs_state", "runs", ["state"]),
    ("ix_runs_tenant_created_at_id", "runs", ["tenant", "created_at", "id"]),
    ("ix_candidates_program_id", "candidates", ["program_id"]),
    (
        "ix_candidates_ranking",
        "candidates",
        ["run_id", sa.text("fitness DESC"), "proposal_number", "position", "status", "island", "attempt", "id"],
    ),
    ("ix_parents_parent_id", "parents", ["parent_id"]),
    ("ix_evaluations_at", "evaluations", ["at"]),
    ("ix_notes_run_id_id", "notes", ["run_id", "id"]),
    ("ix_shares_run_id_id", "shares", ["run_id", "id"]),
)
WITH_PROGRAMS = b"\x03"  # how completions begin that are packed with programs


def upgrade() -> None:
    _rebuild(_compact_type, _compact)
    frequent = ", ".join(f"'{stored_word(kind)}'" for kind in FREQUENT)
    _index(*EVENTS, where=f"kind NOT IN ({frequent})")
    op.add_column("programs", sa.Column("base", sa.LargeBinary(), nullable=True))
    _index("ix_programs_base", "programs", ["base"], where="base IS NOT NULL")


def downgrade() -> None:
    _unpack_programs()
    op.drop_index("ix_programs_base", "programs")
    op.drop_column("programs", "base")
    _unpack_completions()
    _rebuild(_plain_type, _plain)
    _index(*EVENTS)


def _rebuild(type_of: _TypeOf, convert: _Converters) -> None:
    """Make every table anew, with other types and with the rows converted."""
    connection = op.get_bind()
    old, rights = sa.MetaData(), _rights(connection)
    old.reflect(connection, only=TABLES)
    for name in reversed(TABLES):
        _strip(connection, name)
        op.rename_table(name, f"old_{name}")
    new = sa.MetaData()
    for name in TABLES:
        table = _altered(old.tables[name], new, type_of)
        table.create(connection)
        _copy(connection, old.tables[name], convert(name))
    for name in reversed(TABLES):
        op.drop_table(f"old_{name}")
    for index in INDEXES:
        _index(*index)
    _index("ix_memberships_run_id_island", "memberships", ["run_id", "island"], where="until IS NULL")
    if connection.dialect.name == "sqlite":
        _index("ix_evaluations_candidate_id_attempt_outcome", "evaluations", ["candidate_id", "attempt", "outcome"])
    for statement in rights:
        connection.exec_driver_sql(statement)


def _rights(connection: sa.Connection) -> list[str]:
    """What gives the tables of a PostgreSQL their owners and grants again, and tells its planner how large they are."""
    if connection.dialect.name != "postgresql":
        return []
    owners = """
        SELECT format('ALTER TABLE %I OWNER TO %I', relname, pg_get_userbyid(relowner)) FROM pg_class
        WHERE oid = to_regclass(:name) AND pg_get_userbyid(relowner) <> current_user"""
    grants = """
        SELECT format('GRANT %s ON %I TO %s', one.privilege_type, relname,
            CASE WHEN one.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(one.grantee)) END
            || CASE WHEN one.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
        FROM pg_class, aclexplode(relacl) AS one
        WHERE pg_class.oid = to_regclass(:name) AND one.grantee <> relowner"""
    found = [f"ANALYZE {name}" for name in TABLES]
    for query in (grants, owners):
        for name in TABLES:
            found += connection.execute(sa.text(query), {"name": name}).scalars()
    return found


def _strip(connection: sa.Connection, name: str) -> None:
    """Give the names of a table's indexes and constraints free."""
    inspected = sa.inspect(connection)
    constraints = {unique["name"] for unique in inspected.get_unique_constraints(name)}
    for index in inspected.get_indexes(name):
        if index["name"] not in constraints:
            op.drop_index(str(index["name"]), name)
    if connection.dialect.name == "postgresql":
        constraints |= {reference["name"] for reference in inspected.get_foreign_keys(name)}
        for constraint in (*constraints, inspected.get_pk_constraint(name)["name"]):
            op.execute(f'ALTER TABLE {name} DROP CONSTRAINT "{constraint}"')


def _altered(table: sa.Table, new: sa.MetaData, type_of: _TypeOf) -> sa.Table:
    columns = []
    for column in sorted(table.columns, key=_width):
        kind = type_of(table.name, column.name)
        default = column.server_default
        known = sa.text(str(default.arg)) if isinstance(default, sa.DefaultClause) and kind is None else None
        if kind is None and isinstance(column.type, sa.VARCHAR):
            kind = ID  # no database tells the collation
        columns.append(sa.Column(column.name, kind or column.type, server_default=known, nullable=column.nullable))
    constraints: list[sa.Constraint] = [
        sa.PrimaryKeyConstraint(*(column.name for column in table.primary_key), name=f"pk_{table.name}")
    ]
    for constraint in table.constraints:
        if isinstance(constraint, sa.UniqueConstraint):
            constraints.append(sa.UniqueConstraint(*constraint.columns.keys(), name=constraint.name))
        elif isinstance(constraint, sa.ForeignKeyConstraint):
            targets = [element.target_fullname for element in constraint.elements]
            constraints.append(sa.ForeignKeyConstraint(constraint.column_keys, targets, name=constraint.name))
    for target in ("tenants", "problems"):
        if target not in new.tables:
            sa.Table(target, new, sa.Column("id", sa.String(), primary_key=True))
    return sa.Table(table.name, new, *columns, *constraints)


def _width(column: sa.Column[Any]) -> int:
    if isinstance(column.type, sa.BigInteger | sa.Double | sa.DateTime):
        return 0
    return 1 if isinstance(column.type, sa.Integer) else 2


def _copy(connection: sa.Connection, table: sa.Table, converters: Mapping[str, _Convert]) -> None:
    names = [column.name for column in table.columns]
    raw = [_raw(connection, column) for column in table.columns]
    query = sa.select(*raw).select_from(sa.text(f"old_{table.name}"))
    insert = sa.table(table.name, *(sa.column(name) for name in names)).insert()
    size = LONG_ROWS.get(table.name, ROWS)
    rows = connection.execute(query, execution_options={"stream_results": True, "yield_per": size})
    for part in rows.partitions():
        connection.execute(insert, [_converted(dict(zip(names, row, strict=True)), converters) for row in part])


def _raw(connection: sa.Connection, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """A column as the driver gives and takes it, JSON as its text."""
    found: sa.ColumnElement[Any] = sa.column(column.name)
    if connection.dialect.name == "postgresql" and isinstance(column.type, sa.JSON):
        return sa.type_coerce(sa.cast(found, sa.Text()), sa.types.NullType())
    return found


def _converted(row: dict[str, Any], converters: Mapping[str, _Convert]) -> dict[str, Any]:
    for name, convert in converters.items():
        if row[name] is not None:
            row[name] = convert(row[name])
    return row


def _compact_type(table: str, column: str) -> sa.types.TypeEngine[Any] | None:
    return sa.LargeBinary() if column in _changed(table) else None


def _plain_type(table: str, column: str) -> sa.types.TypeEngine[Any] | None:
    if column in IDS.get(table, ()):
        return ID
    if column in (*JSONS.get(table, ()), *FILES.get(table, ())):
        return sa.JSON()
    return sa.Text() if column in TEXTS.get(table, ()) else None


def _changed(table: str) -> Iterator[str]:
    for changed in (IDS, JSONS, FILES, TEXTS):
        yield from changed.get(table, ())


def _compact(table: str) -> Mapping[str, _Convert]:
    return {
        **dict.fromkeys(IDS.get(table, ()), encode_id),
        **dict.fromkeys(WORDS.get(table, ()), lambda text: stored_word(read_text(text))),
        **dict.fromkeys(JSONS.get(table, ()), lambda text: pack_json(json.loads(text))),
        **dict.fromkeys(FILES.get(table, ()), lambda text: pack(as_json(json.loads(text)).encode())),
        **dict.fromkeys(TEXTS.get(table, ()), lambda text: pack(read_text(text).encode("utf-8", "surrogatepass"))),
    }


def _plain(table: str) -> Mapping[str, _Convert]:
    return {
        **dict.fromkeys(IDS.get(table, ()), decode_id),
        **dict.fromkeys(WORDS.get(table, ()), lambda stored: stored_text(read_word(stored))),
        **dict.fromkeys(JSONS.get(table, ()), lambda stored: as_json(unpack_json(stored))),
        **dict.fromkeys(FILES.get(table, ()), lambda stored: unpack(stored).decode()),
        **dict.fromkeys(
            TEXTS.get(table, ()), lambda stored: stored_text(unpack(stored).decode("utf-8", "surrogatepass"))
        ),
    }


def _unpack_programs() -> None:
    """Store in full what was packed against another program."""
    connection = op.get_bind()
    programs = sa.table("programs", sa.column("id"), sa.column("base"), sa.column("files"))
    base = programs.alias()
    query = sa.select(programs.c.id, programs.c.files, base.c.files.label("of_base"))
    query = query.join_from(programs, base, base.c.id == programs.c.base).where(base.c.base.is_(None)).limit(ROWS)
    while rows := connection.execute(query).all():
        for row in rows:
            files = pack(unpack(row.files, unpack(row.of_base)))
            connection.execute(programs.update().where(programs.c.id == row.id).values(files=files, base=None))


def _unpack_completions() -> None:
    """Pack by themselves the completions that were packed with the programs of their candidates.

    The programs are stored in full by now. Stored is a tag, how many candidates these are, and their positions.
    """
    connection = op.get_bind()
    proposals = sa.table("proposals", sa.column("run_id"), sa.column("number"), sa.column("completions"))
    candidates = sa.table("candidates", *map(sa.column, ("run_id", "proposal_number", "position", "program_id")))
    programs = sa.table("programs", sa.column("id"), sa.column("files"))
    tag = sa.func.substr(proposals.c.completions, 1, 1) == sa.literal(WITH_PROGRAMS, sa.LargeBinary())
    of_candidates = sa.select(candidates.c.position, programs.c.files)
    of_candidates = of_candidates.join_from(candidates, programs, programs.c.id == candidates.c.program_id)
    for key in connection.execute(sa.select(proposals.c.run_id, proposals.c.number).where(tag)).all():
        row = sa.and_(proposals.c.run_id == key.run_id, proposals.c.number == key.number)
        stored = connection.execute(sa.select(proposals.c.completions).where(row)).scalar_one()
        of_one = of_candidates.where(candidates.c.run_id == key.run_id, candidates.c.proposal_number == key.number)
        files = {found.position: unpack(found.files) for found in connection.execute(of_one)}
        count = stored[1]
        base = b"".join(files[position] for position in stored[2 : 2 + count])
        written = pack_json(unpack_json(stored[2 + count :], base))
        connection.execute(proposals.update().where(row).values(completions=written))


def _index(name: str, table: str, columns: list[Any], where: str | None = None) -> None:
    condition = None if where is None else sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
