"""Processes that stand still within a transaction and hold their locks; others must get past them."""

from sqlalchemy import Connection, text

# Less than a lease lasts.
IDLE_SECONDS = 5.0
_END = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND usename = current_user"
    " AND application_name = current_setting('application_name') AND pid <> pg_backend_pid()"
    " AND wait_event = 'ClientRead'"
    " AND CASE WHEN state = 'active' THEN query_start"
    "  WHEN state = 'idle in transaction' AND backend_xid IS NOT NULL THEN state_change END"
    " < clock_timestamp() - make_interval(secs => :seconds)"
)


def end_stalled(connection: Connection) -> None:
    """End the conversations with PostgreSQL whose client has said nothing for `IDLE_SECONDS` in the middle of one.

    The server ends by itself those that are idle in a transaction. A client that stands still between the rows of one
    statement, which psycopg sends as one conversation, or within a message, counts as busy there, and would hold its
    locks for as long as it stands still. So would one that stands still after the message between two rows that only
    asks for what is ready (Flush): PostgreSQL then forgets how long the transaction has been idle.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_END, {"seconds": IDLE_SECONDS})
