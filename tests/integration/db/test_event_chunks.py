"""Events of one kind are read chunk by chunk, and no chunk reads what the ones before it read."""

import json
from typing import Any

import pytest
from sqlalchemy import event, text

from service.db.compact_ids import encode_id
from service.db.engine import open_database
from service.db.frequent_words import stored_word
from service.db.log import SqlRunLog
from service.db.packed import pack_json
from service.db.series import events
from tests.contract.story import RUN, FixedClock, new_run

EVENTS = 20_000
INSERT = f"""
INSERT INTO events (run_id, sequence, kind, at, payload)
SELECT :run_id, n, '{stored_word("candidate.created")}', now(), :payload FROM generate_series(2, {EVENTS}) AS n
"""


@pytest.fixture(scope="module")
def postgres_template(postgres_schema: str) -> str:
    return postgres_schema


def rows_read(plan: dict[str, Any]) -> int:
    """Rows that the scans of a plan gave or passed over, over all their loops."""
    own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    below = plan.get("Plans", [])
    return sum(map(rows_read, below)) if below else own


def test_reading_all_events_of_a_kind_reads_each_a_few_times(postgres_url: str) -> None:
    database = open_database(postgres_url)
    SqlRunLog(database, FixedClock()).create(new_run())
    with database.write() as connection:
        connection.execute(text(INSERT), {"run_id": encode_id(RUN), "payload": pack_json({})})
        connection.execute(text("ANALYZE events"))
    statements: list[tuple[str, Any]] = []

    def note(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        statements.append((statement, parameters))

    event.listen(database.reads or database.engine, "before_cursor_execute", note)
    found = sum(1 for _ in events(database, RUN, kinds=["candidate.created", "candidate.evaluated"]))
    event.remove(database.reads or database.engine, "before_cursor_execute", note)
    assert found == EVENTS - 1
    with database.read() as connection:
        plans = [
            connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).scalar_one()
            for statement, parameters in statements
        ]
    read = sum(rows_read((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"]) for plan in plans)
    assert len(plans) >= 4
    assert read <= 6 * EVENTS, f"{read} rows for {EVENTS} events"
    database.close()
