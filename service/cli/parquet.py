"""A run as a Parquet file: one candidate a row, with its files, in columns of fixed types."""

import json
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from evolve.version import SCHEMA
from service.errors import UsageError
from service.schemas.untrusted_text import readable

ROWS = 500  # of a row group: sources are long
_NUMBERS, _TIMES = ("scores", "measures", "cases", "spread"), ("created_at", "evaluated_at")
NUMBER_PAIR, FILE_PAIR = ("name", "value"), ("path", "text")
COLUMNS = (
    "candidate_id", "run_id", "proposal_id", "proposal_number", "position", "name", "program_id", "parents",
    "island", "islands", "operator", "policy", "status", "outcome", "reason", "fitness", *_NUMBERS, "repeats",
    "feedback", "seconds", "isolation", "answer", "changed", *_TIMES, "files",
)  # fmt: skip


def check_parquet() -> None:
    """Find out at once whether Parquet can be written here.

    Raises:
        UsageError: it cannot.
    """
    parquet_library("pyarrow")


def write_parquet(lines: Iterable[str], path: Path, *, maps: bool = True) -> int:
    """Write the lines of an export as rows; how many there were.

    Args:
        lines: of an export, as JSON.
        path: the file.
        maps: whether numbers and files by name are maps; else they are lists of pairs, for readers that have no maps.
    """
    arrow, parquet = parquet_library("pyarrow"), parquet_library("pyarrow.parquet")
    schema, written = _schema(arrow, maps=maps), 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        rows = map(partial(_row, maps=maps), lines)
        while portion := list(islice(rows, ROWS)):
            writer.write_table(arrow.Table.from_pylist(portion, schema=schema))
            written += len(portion)
    return written


def parquet_library(name: str) -> Any:
    """A module of pyarrow.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise UsageError(
            "Parquet needs pyarrow, which is not installed: pip install 'evolve-search[parquet]'"
        ) from None


def _schema(arrow: Any, *, maps: bool) -> Any:
    """The columns of every run alike, whatever its objectives are called."""
    text, real = arrow.string(), arrow.float64()
    numbers, files = arrow.map_(text, real), arrow.map_(text, text)
    if not maps:
        numbers, files = (
            arrow.list_(arrow.struct([(key, text), (value, kind)]))
            for (key, value), kind in ((NUMBER_PAIR, real), (FILE_PAIR, text))
        )
    kinds = {
        "proposal_number": arrow.int64(),
        "position": arrow.int32(),
        "island": arrow.int32(),
        "repeats": arrow.int32(),
        "islands": arrow.list_(arrow.int32()),
        "fitness": arrow.float64(),
        "seconds": arrow.float64(),
        "parents": arrow.list_(arrow.struct([("candidate_id", text), ("role", text)])),
        "files": files,
        **dict.fromkeys(_NUMBERS, numbers),
        **dict.fromkeys(_TIMES, arrow.timestamp("us", tz="UTC")),
    }
    columns = [(name, kinds.get(name, text)) for name in COLUMNS]
    return arrow.schema(columns, metadata={"schema": str(SCHEMA)})


def _row(line: str, *, maps: bool) -> dict[str, Any]:
    told: dict[str, Any] = readable(json.loads(line))
    times = {name: datetime.fromisoformat(told[name]) for name in _TIMES if told[name] is not None}
    named = {name: list(told[name].items()) for name in (*_NUMBERS, "files") if told[name] is not None}
    if not maps:
        for name, pairs in named.items():
            words = FILE_PAIR if name == "files" else NUMBER_PAIR
            named[name] = [dict(zip(words, pair, strict=True)) for pair in pairs]
    return {**told, **times, **named}
