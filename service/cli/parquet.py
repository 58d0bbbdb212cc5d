"""A run as a Parquet file: one candidate a row, with its files, in columns of fixed types."""

import json
from collections.abc import Iterable
from datetime import datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from evolve.events import SCHEMA
from service.errors import UsageError
from service.schemas.untrusted_text import readable

ROWS = 500  # of a row group: sources are long
_NUMBERS, _TIMES = ("scores", "measures", "cases", "spread"), ("created_at", "evaluated_at")
COLUMNS = (
    "candidate_id", "run_id", "proposal_id", "proposal_number", "position", "name", "program_id", "parents",
    "island", "islands", "operator", "policy", "status", "outcome", "reason", "fitness", *_NUMBERS, "repeats",
    "feedback", "seconds", "isolation", "answer", *_TIMES, "files",
)  # fmt: skip


def check_parquet() -> None:
    """Find out at once whether Parquet can be written here.

    Raises:
        UsageError: it cannot.
    """
    _library("pyarrow")


def write_parquet(lines: Iterable[str], path: Path) -> int:
    """Write the lines of an export as rows; how many there were."""
    arrow, parquet = _library("pyarrow"), _library("pyarrow.parquet")
    schema, written = _schema(arrow), 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        rows = map(_row, lines)
        while portion := list(islice(rows, ROWS)):
            writer.write_table(arrow.Table.from_pylist(portion, schema=schema))
            written += len(portion)
    return written


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise UsageError(
            "Parquet needs pyarrow, which is not installed: pip install 'evolve-search[parquet]'"
        ) from None


def _schema(arrow: Any) -> Any:
    """The columns of every run alike, whatever its objectives are called."""
    text, numbers = arrow.string(), arrow.map_(arrow.string(), arrow.float64())
    kinds = {
        "proposal_number": arrow.int64(),
        "position": arrow.int32(),
        "island": arrow.int32(),
        "repeats": arrow.int32(),
        "islands": arrow.list_(arrow.int32()),
        "fitness": arrow.float64(),
        "seconds": arrow.float64(),
        "parents": arrow.list_(arrow.struct([("candidate_id", text), ("role", text)])),
        "files": arrow.map_(text, text),
        **dict.fromkeys(_NUMBERS, numbers),
        **dict.fromkeys(_TIMES, arrow.timestamp("us", tz="UTC")),
    }
    columns = [(name, kinds.get(name, text)) for name in COLUMNS]
    return arrow.schema(columns, metadata={"schema": str(SCHEMA)})


def _row(line: str) -> dict[str, Any]:
    told: dict[str, Any] = readable(json.loads(line))
    times = {name: datetime.fromisoformat(told[name]) for name in _TIMES if told[name] is not None}
    maps = {name: list(told[name].items()) for name in (*_NUMBERS, "files") if told[name] is not None}
    return {**told, **times, **maps}
