"""Empty SQLite databases of this version, migrated once for a test process and copied for each test."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from service.db.engine import open_database


def sqlite_file(path: Path) -> str:
    """Put an empty database at a path, unless there is one already, and return its URL."""
    if not path.exists():
        path.write_bytes(_migrated())
    return f"sqlite:///{path}"


@cache
def _migrated() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        open_database(str(path)).close()
        return path.read_bytes()
