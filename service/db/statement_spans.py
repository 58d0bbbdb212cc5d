"""Spans of statements, by OpenTelemetry's conventions of databases: their kind and table, never their values."""

import re
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext

from service import tracing

_TABLE = re.compile(r'\b(?:COPY|FROM|INTO|UPDATE)\s+"?([a-z_]\w*)', re.IGNORECASE)
_OPEN = "evolve_span"
_SYSTEMS = {"sqlite": "sqlite", "postgresql": "postgresql"}


def trace_statements(engine: Engine) -> None:
    """Record the statements of an engine that are executed within a span. Polls are within none."""

    @event.listens_for(engine, "before_cursor_execute")
    def begin(connection: Connection, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool) -> None:
        if not tracing.recording():
            return
        operation, table = summarize(statement)
        if not table:  # a transaction's begin, or a setting
            return
        attributes: dict[str, tracing.Attribute] = {
            "db.system.name": _SYSTEMS.get(connection.dialect.name, "other_sql"),
            "db.operation.name": operation,
            "db.collection.name": table,
        }
        if engine.url.host:
            attributes["server.address"] = engine.url.host
        if engine.url.port:
            attributes["server.port"] = engine.url.port
        if many and len(parameters) > 1:
            attributes["db.operation.batch.size"] = len(parameters)
        opened = tracing.span(f"{operation} {table}", tracing.SpanKind.CLIENT, attributes, current=False)
        opened.__enter__()
        connection.info[_OPEN] = opened

    @event.listens_for(engine, "after_cursor_execute")
    def end(connection: Connection, *_: Any) -> None:
        _close(connection.info.pop(_OPEN, None), None)

    @event.listens_for(engine, "handle_error")
    def fail(context: ExceptionContext) -> None:
        opened = context.connection.info.pop(_OPEN, None) if context.connection is not None else None
        _close(opened, context.original_exception)


def summarize(statement: str) -> tuple[str, str]:
    """The operation of a statement, and its first table. Empty: it names none."""
    words = statement.split(maxsplit=1)
    table = _TABLE.search(statement)
    return (words[0].upper() if words else ""), table[1] if table else ""


def _close(opened: AbstractContextManager[tracing.Span] | None, error: BaseException | None) -> None:
    if opened is None:
        return
    try:
        opened.__exit__(type(error) if error else None, error, None)
    except Exception as raised:
        if raised is not error:
            raise
