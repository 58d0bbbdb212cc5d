"""Database engines of a test process: they share compiled SQL, and commits to SQLite files do not wait for the disk.

A process of the product has one engine, which compiles each statement once. Here each test has an engine of its own,
which would compile all of them again. A commit of the product waits until the disk has it, and so survives a loss of
power. No test cuts the power, and the tests' PostgreSQL does not wait either. A killed process loses nothing of what it
wrote. Processes that tests start wait as the product does.
"""

from functools import cache
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

_PLAIN = (str, int, float, bool, tuple, type(None))
_STATEMENTS = 10_000
_KEY, _HASTY = "key_of_tests", "hasty"


@cache
def change_engines() -> None:
    """Change the engines that this process makes from here on.

    A dialect is a part of the key of a compiled statement. From their first statement on, dialects of the same class
    with the same values count as equal.
    """
    compiled: Any = LRUCache(_STATEMENTS)
    make: Any = Engine.__init__

    def init(engine: Any, *arguments: Any, **options: Any) -> None:
        make(engine, *arguments, **options)
        engine._compiled_cache = compiled
        if engine.dialect.name == "sqlite":
            event.listen(engine, "checkout", _do_not_wait)

    engine: Any = Engine
    engine.__init__ = init
    dialect: Any = DefaultDialect
    dialect.__hash__ = lambda one: hash(type(one))
    dialect.__eq__ = lambda one, other: one is other or _key(one) == _key(other)


def _key(dialect: Any) -> object:
    """What a dialect writes statements by: its class, its plain values, and the functions that it was given."""
    values = vars(dialect)
    if _KEY not in values:
        plain = {name: value for name, value in values.items() if isinstance(value, _PLAIN) or callable(value)}
        values[_KEY] = (type(dialect), plain)
    return values[_KEY]


def _do_not_wait(connection: Any, record: Any, _: object) -> None:
    if _HASTY not in record.info:
        connection.execute("PRAGMA synchronous=OFF")
        record.info[_HASTY] = True
