"""Rows of data files: JSON, JSON lines, and Parquet where pyarrow is installed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from service.errors import InvalidProblemError

SUFFIXES = (".json", ".jsonl", ".parquet")
MAX_BYTES = 64 * 1024 * 1024


def read_row(name: str, file: IO[bytes], number: int | None) -> Mapping[str, Any]:
    """A row of a JSON or JSON lines file.

    Args:
        name: of the file, for its suffix and for people.
        file: its content.
        number: of the row, from 0, without blank lines. None: the file holds a single row.

    Raises:
        InvalidProblemError: a sentence with the line.
    """
    suffix = PurePosixPath(name).suffix
    if suffix == ".jsonl":
        return _line(name, file, 0 if number is None else number)
    if suffix == ".json":
        return _entry(name, file, number)
    if suffix == ".parquet":
        raise _wrong(
            f"{name} cannot be part of a problem: take a question out of it with"
            f" `evolve problem init DIR --domain NAME --data {name} --number N`"
        )
    raise _wrong(f"{name} has an unknown suffix: use one of {', '.join(SUFFIXES)}")


def read_row_of(path: Path, number: int | None) -> Mapping[str, Any]:
    """A row of a file on disk of any size, including Parquet.

    Raises:
        InvalidProblemError: as `read_row`, or the file cannot be read, or it needs pyarrow, which is not installed.
    """
    try:
        if path.suffix == ".parquet":
            return _parquet(path, number or 0)
        with path.open("rb") as file:
            return read_row(str(path), file, number)
    except OSError as error:
        raise _wrong(f"{path} cannot be read: {error.strerror or error}") from error


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """All rows of a file on disk, in a single pass.

    Raises:
        InvalidProblemError: as `read_row_of`, for any of the rows.
    """
    name = str(path)
    try:
        if path.suffix == ".parquet":
            yield from _parquet_rows(path)
        elif path.suffix == ".jsonl":
            with path.open("rb") as file:
                for place, line in enumerate(_lines(name, file), start=1):
                    if line.strip():
                        yield _row(f"{name}, line {place}", _parse(name, line, place - 1))
        else:
            yield from _entries(path)
    except OSError as error:
        raise _wrong(f"{path} cannot be read: {error.strerror or error}") from error


def _entries(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a JSON file: a list of them, or a single one."""
    if path.suffix != ".json":
        raise _wrong(f"{path} has an unknown suffix: use one of {', '.join(SUFFIXES)}")
    value = _parse(str(path), path.read_bytes(), 0)
    for number, row in enumerate(value if isinstance(value, list) else [value]):
        yield _row(f"{path}, question {number}", row)


def _line(name: str, file: IO[bytes], number: int) -> Mapping[str, Any]:
    seen = 0
    for place, line in enumerate(_lines(name, file), start=1):
        if not line.strip():
            continue
        if seen == number:
            return _row(f"{name}, line {place}", _parse(name, line, place - 1))
        seen += 1
    raise _absent(name, number, seen)


def _lines(name: str, file: IO[bytes]) -> Iterator[bytes]:
    place = 1
    while line := file.readline(MAX_BYTES + 1):
        if len(line) > MAX_BYTES:
            raise _wrong(f"{name}, line {place}: at more than {MAX_BYTES >> 20} MB it is too long for a question")
        yield line
        place += 1


def _entry(name: str, file: IO[bytes], number: int | None) -> Mapping[str, Any]:
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise _wrong(f"{name} is larger than {MAX_BYTES >> 20} MB: write it as JSON lines, one question a line")
    value = _parse(name, content, 0)
    if not isinstance(value, list):
        if number is None:
            return _row(name, value)
        raise _wrong(f"{name} does not hold a list of questions: leave domain.number out, or name a .jsonl file")
    if number is None:
        raise _wrong(f"{name} holds a list of {len(value)} questions: choose one with domain.number")
    if number >= len(value):
        raise _absent(name, number, len(value))
    return _row(f"{name}, question {number}", value[number])


def _parse(name: str, content: bytes, lines_before: int) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=refuse)
    except UnicodeDecodeError as error:
        line = lines_before + content[: error.start].count(b"\n") + 1
        raise _wrong(f"{name}, line {line}: it is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise _wrong(f"{name}, line {lines_before + error.lineno}: it is not JSON ({error.msg})") from error
    except RecursionError as error:
        raise _wrong(f"{name}, line {lines_before + 1}: it is nested too deeply") from error
    except ValueError as error:
        raise _wrong(f"{name}, line {lines_before + 1}: {str(error)[:200]}") from error


def _parquet(path: Path, number: int) -> Mapping[str, Any]:
    with _parquet_file(path) as file:
        before = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if number < before + count:
                return _row(str(path), file.read_row_group(group).slice(number - before, 1).to_pylist()[0])
            before += count
    raise _absent(str(path), number, before)


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with _parquet_file(path) as file:
        for group in range(file.num_row_groups):
            for row in file.read_row_group(group).to_pylist():
                yield _row(str(path), row)


@contextmanager
def _parquet_file(path: Path) -> Iterator[Any]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise _wrong(
            f"{path} needs pyarrow, which is not installed: pip install pyarrow, or write the file as JSON lines"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (ValueError, TypeError, KeyError, MemoryError) as error:  # what pyarrow raises stands on these, and OSError
        raise _wrong(f"{path} is not a Parquet file that can be read: {str(error)[:200]}") from error


def _row(place: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(f"{place}: a question is an object with named fields, not a {type(value).__name__}")
    return value


def _absent(name: str, number: int, count: int) -> InvalidProblemError:
    return _wrong(f"{name} has no question {number}: it holds {count}, counted from 0")


def _wrong(sentence: str) -> InvalidProblemError:
    return InvalidProblemError([sentence])
