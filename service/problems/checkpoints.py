"""Checkpoints and results of other projects, read as populations. Nothing in them is run, and nothing is changed.

OpenEvolve and SkyDiscover write a folder `checkpoint_N` with `metadata.json` and a file `programs/ID.json` for each
program. ShinkaEvolve writes a table `programs` into `programs.sqlite`, and a folder `gen_N` for each program.
"""

import json
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeGuard

from service.errors import InvalidProblemError
from service.problems.documents import storable
from service.problems.population import EarlierProgram, EarlierRun, numbers_of

MAX_PROGRAMS = 20_000
_MAX_FILE_BYTES, _MAX_BYTES = 8 * 1024 * 1024, 1024 * 1024 * 1024
_MAX_CHARACTERS, _MAX_TOTAL_CHARACTERS = 1_000_000, 200_000_000
_MAX_SECONDS = 30.0
_SQLITE = b"SQLite format 3\0"
_DATABASES = ("programs.sqlite", "evolution_db.sqlite")
_CHECKPOINT, _GENERATION = re.compile(r"checkpoint_(\d{1,9})"), re.compile(r"gen_(\d{1,9})")
_COLUMNS = ("id", "code", "parent_id", "generation", "combined_score", "public_metrics", "correct")
_NEEDED = {"id", "code", "parent_id", "generation"}
_KNOWN = "a checkpoint_N of OpenEvolve or SkyDiscover, or the results of ShinkaEvolve (programs.sqlite or gen_N)"


def read_checkpoint(place: Path) -> EarlierRun:
    """The population of a checkpoint, or of the newest one in a folder of results.

    Raises:
        InvalidProblemError: it is none, or is broken; with one sentence.
    """
    try:
        if place.is_file():
            return _read_database(place)
        if (found := _newest_checkpoint(place)) is not None:
            return _read_folder(found)
        for name in _DATABASES:
            if (place / name).is_file():
                return _read_database(place / name)
        generations = sorted(_numbered(place, _GENERATION))
        if generations:
            return _read_generations(place, [folder for _, folder in generations])
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidProblemError([f"{place} cannot be read ({reason})"]) from error
    raise InvalidProblemError([f"{place} holds no earlier programs: name {_KNOWN}"])


def _newest_checkpoint(place: Path) -> Path | None:
    """The place itself, or the checkpoint of the highest number in it or in its folder `checkpoints`."""
    if (place / "programs").is_dir() and (_CHECKPOINT.fullmatch(place.name) or (place / "metadata.json").is_file()):
        return place
    found = [*_numbered(place, _CHECKPOINT), *_numbered(place / "checkpoints", _CHECKPOINT)]
    return max(found)[1] if found else None


def _numbered(place: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, Path]]:
    if place.is_dir():
        for path in place.iterdir():
            if (matched := pattern.fullmatch(path.name)) and path.is_dir():
                yield int(matched[1]), path


def _read_folder(place: Path) -> EarlierRun:
    paths = sorted(path for path in (place / "programs").iterdir() if path.suffix == ".json")
    _refuse_many(place, len(paths))
    if not paths:
        raise InvalidProblemError([f"{place / 'programs'} holds no program: name another checkpoint"])
    return _population(f"the checkpoint {place.name}", [_program(path) for path in paths])


def _program(path: Path) -> EarlierProgram:
    document = _json(path)
    code = document.get("code", document.get("solution"))  # as SkyDiscover calls it
    parent, metrics = document.get("parent_id"), document.get("metrics")
    if not _is_code(code):
        raise InvalidProblemError([f"{path} has no code of at most {_MAX_CHARACTERS} characters: remove the file"])
    named = document.get("id")
    return EarlierProgram(
        name=named[:200] if isinstance(named, str) and named and storable(named) else ascii(path.stem)[1:-1],
        files={"": code},
        parents=(parent,) if isinstance(parent, str) else (),
        generation=_whole(document.get("generation")),
        metrics=numbers_of(metrics) if isinstance(metrics, Mapping) else {},
    )


def _json(path: Path) -> Mapping[str, Any]:
    try:
        content = b"[]"
        if path.is_file():  # a pipe would have no end
            with path.open("rb") as file:
                content = file.read(_MAX_FILE_BYTES + 1)
        found = json.loads(content) if len(content) <= _MAX_FILE_BYTES else None
    except (ValueError, RecursionError) as error:
        raise InvalidProblemError([f"{path} is not JSON: remove it, or name an earlier checkpoint"]) from error
    if not isinstance(found, dict):
        size = f"a JSON object of at most {_MAX_FILE_BYTES >> 20} MB"
        raise InvalidProblemError([f"{path} is not {size}: remove it, or name an earlier checkpoint"])
    return found


def _read_database(place: Path) -> EarlierRun:
    with place.open("rb") as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            raise InvalidProblemError([f"{place} is not an SQLite database: name {_KNOWN}"])
    if place.stat().st_size > _MAX_BYTES:
        raise InvalidProblemError([f"{place} is larger than {_MAX_BYTES >> 20} MB: it is not read"])
    # Opening it where it lies could write beside it.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "programs.sqlite")
        for suffix in ("", "-wal"):
            if (lying := place.with_name(place.name + suffix)).is_file():
                shutil.copyfile(lying, copy.with_name(copy.name + suffix))
        try:
            with closing(sqlite3.connect(copy)) as connection:
                _bound(connection)
                programs = list(_rows(connection, place))
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise InvalidProblemError([f"{place} cannot be read ({error}): name another database"]) from error
    if not programs:
        raise InvalidProblemError([f"{place} holds no program: its run has not begun"])
    return _population(place.name, programs)


def _bound(connection: sqlite3.Connection) -> None:
    """What a hostile file may cost."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_FILE_BYTES)
    connection.execute("PRAGMA trusted_schema = OFF")
    end = time.monotonic() + _MAX_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)


def _rows(connection: sqlite3.Connection, place: Path) -> Iterator[EarlierProgram]:
    table = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'programs'").fetchone()
    there = {str(row[1]) for row in connection.execute("PRAGMA table_info(programs)")} if table else set()
    if not there >= _NEEDED:
        raise InvalidProblemError([f"{place} has no table programs of ShinkaEvolve: name {_KNOWN}"])
    (count,) = connection.execute("SELECT count(*) FROM programs").fetchone()
    _refuse_many(place, count)
    columns = [name if name in there else f"NULL AS {name}" for name in _COLUMNS]
    query = f"SELECT {', '.join(columns)} FROM programs ORDER BY generation, rowid"  # noqa: S608 - names of our own
    for name, code, parent, generation, score, public, correct in connection.execute(query):
        if not _is_code(code):
            raise InvalidProblemError([f"{place}: the program {name!r:.100} has no code that can be read"])
        try:
            found = json.loads(public) if isinstance(public, str) else {}
        except (ValueError, RecursionError):
            found = {}
        yield EarlierProgram(
            name=str(name)[:200],
            files={"": code},
            parents=(parent,) if isinstance(parent, str) else (),
            generation=_whole(generation),
            metrics=numbers_of({"combined_score": score, **(found if isinstance(found, dict) else {})}),
            valid=correct is None or bool(correct),
        )


def _read_generations(place: Path, folders: list[Path]) -> EarlierRun:
    """Results without a database: the program of each generation and its metrics, without lineage."""
    _refuse_many(place, len(folders))
    found = []
    for folder in folders:
        main = next((path for path in sorted(folder.glob("main.*")) if path.is_file()), None)
        if main is None or main.stat().st_size > _MAX_CHARACTERS:
            continue
        results = folder / "results"
        metrics = _json(results / "metrics.json") if (results / "metrics.json").is_file() else {}
        verdict = _json(results / "correct.json") if (results / "correct.json").is_file() else {}
        public = metrics.get("public")
        found.append(
            EarlierProgram(
                name=folder.name,
                files={"": main.read_bytes().decode("utf-8", "replace")},
                generation=int(folder.name.removeprefix("gen_")),
                metrics=numbers_of(
                    {"combined_score": metrics.get("combined_score"), **(public if isinstance(public, dict) else {})}
                ),
                valid=bool(verdict.get("correct")),
            )
        )
    if not found:
        raise InvalidProblemError([f"no gen_N in {place} holds a program: name {_KNOWN}"])
    return _population(place.name, found)


def _population(source: str, programs: list[EarlierProgram]) -> EarlierRun:
    if sum(len(text) for one in programs for text in one.files.values()) > _MAX_TOTAL_CHARACTERS:
        size = f"{_MAX_TOTAL_CHARACTERS // 10**6} million characters"
        raise InvalidProblemError([f"the programs of {source} have more than {size}: name an earlier checkpoint"])
    return EarlierRun(source=source, programs=programs, total=len(programs))


def _is_code(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= _MAX_CHARACTERS and storable(value)


def _refuse_many(place: Path, count: int) -> None:
    if count > MAX_PROGRAMS:
        raise InvalidProblemError([f"{place} holds {count} programs, and at most {MAX_PROGRAMS} are read"])


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
