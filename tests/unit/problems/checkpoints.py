"""Checkpoints of other projects for the tests, as those write them."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

Row = tuple[str, str | None, int, float | None, bool]


def code(value: object) -> str:
    """A program that a problem of these tests scores by its value."""
    return f"def solve():\n    return {value}\n"


def openevolve(place: Path, programs: Sequence[dict[str, Any]]) -> Path:
    """A folder `checkpoint_N`, with the fields that ProgramDatabase.save of OpenEvolve 0.2 writes."""
    (place / "programs").mkdir(parents=True)
    for one in programs:
        document = {
            "changes_description": "", "language": "python", "timestamp": 1.5, "iteration_found": 1, "complexity": 0.0,
            "diversity": 0.0, "metadata": {"island": 0}, "prompts": None, "artifacts_json": None, "artifact_dir": None,
            "embedding": None, **one,
        }  # fmt: skip
        (place / "programs" / f"{one['id']}.json").write_text(json.dumps(document))
    (place / "metadata.json").write_text(json.dumps({"islands": [], "archive": [], "last_iteration": 5}))
    return place


def shinka(place: Path, rows: Sequence[Row]) -> Path:
    """An SQLite file with the table that shinka/database/dbase.py makes; the code of a program is its place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    columns = (
        "id TEXT PRIMARY KEY, code TEXT NOT NULL, language TEXT NOT NULL, parent_id TEXT, archive_inspiration_ids TEXT,"
        " generation INTEGER NOT NULL, timestamp REAL NOT NULL, combined_score REAL, public_metrics TEXT,"
        " private_metrics TEXT, text_feedback TEXT, correct BOOLEAN DEFAULT 0, metadata TEXT, island_idx INTEGER"
    )
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute(f"CREATE TABLE programs ({columns})")
        for number, (name, parent, generation, score, correct) in enumerate(rows):
            values = (name, code(number), "python", parent, generation, score, '{"size": 3}', '{"key": 1}', correct)
            connection.execute(
                "INSERT INTO programs (id, code, language, parent_id, generation, timestamp, combined_score,"
                " public_metrics, private_metrics, correct) VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
                values,
            )
    return place
