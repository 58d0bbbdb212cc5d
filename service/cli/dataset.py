"""A run as a folder that `datasets.load_dataset` of Hugging Face loads: its candidates, its proposals, and a card."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from service.cli.parquet import ROWS, parquet_library, write_parquet
from service.errors import ConflictError
from service.ports import RunRecord
from service.schemas.untrusted_text import readable

CARD, CANDIDATES, PROPOSALS = "README.md", "candidates.parquet", "proposals.parquet"
# Members that differ from run to run are one text of JSON, so that runs can be put together.
_AS_JSON = ("rationale", "dropped", "asked")
_CARD = """\
---
configs:
- config_name: candidates
  default: true
  data_files: candidates.parquet
{proposals}---

# {title}

Written by `evolve export --format datasets` from the run `{run_id}` of the problem `{problem}`.

- `candidates`: a row for each candidate, in order of age, with its files, scores and parents.
- `proposals`: a row for each answered proposal. `messages` and `completions` are what a model was asked and wrote, and
  `answers` has the reward vector of each answer.
"""
_PROPOSALS = """\
- config_name: proposals
  data_files: proposals.parquet
"""

Lines = Callable[[], Iterable[str]]


def write_dataset(folder: Path, run: RunRecord, candidates: Lines, proposals: Lines) -> tuple[int, int]:
    """Write a run into an empty or new folder; how many candidates and proposals there were.

    Raises:
        UsageError: pyarrow is not installed.
        ConflictError: the folder holds something.
    """
    parquet_library("pyarrow")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConflictError(f"{folder} is not an empty folder: name another with -o")
    folder.mkdir(parents=True, exist_ok=True)
    written = write_parquet(candidates(), folder / CANDIDATES, maps=False)
    asked = _write_proposals(proposals(), folder / PROPOSALS)
    title = run.labels.get("name") or run.problem_name
    about = {"title": title, "run_id": run.id, "problem": run.problem_name, "proposals": _PROPOSALS if asked else ""}
    (folder / CARD).write_text(_CARD.format(**about), encoding="utf-8")
    return written, asked


def _write_proposals(lines: Iterable[str], path: Path) -> int:
    """Write training records as rows; without any there is no file."""
    arrow, parquet = parquet_library("pyarrow"), parquet_library("pyarrow.parquet")
    schema, written, rows = _schema(arrow), 0, map(_row, lines)
    portion = list(islice(rows, ROWS))
    if not portion:
        return 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while portion:
            writer.write_table(arrow.Table.from_pylist(portion, schema=schema))
            written += len(portion)
            portion = list(islice(rows, ROWS))
    return written


def _schema(arrow: Any) -> Any:
    text, real = arrow.string(), arrow.float64()
    answer = [
        ("candidate_id", text), ("position", arrow.int32()), ("status", text), ("outcome", text),
        ("rewards", arrow.list_(real)), ("fitness", real), ("duplicate_of", text),
    ]  # fmt: skip
    texts = arrow.list_(text)
    files = arrow.list_(arrow.struct([("path", text), ("text", text)]))
    kinds: Sequence[tuple[str, Any]] = [
        ("run_id", text), ("problem", text), ("proposal_id", text), ("number", arrow.int64()), ("operator", text),
        ("policy", text), ("selection", text), ("weights", arrow.list_(real)), ("objectives", texts),
        ("messages", arrow.list_(arrow.struct([("role", text), ("content", text)]))), ("completions", texts),
        ("reasoning", texts), ("finish_reasons", texts), ("answers", arrow.list_(arrow.struct(answer))),
        ("parent_id", text), ("parent_files", files), *((name, text) for name in _AS_JSON),
    ]  # fmt: skip
    return arrow.schema(kinds)


def _row(line: str) -> dict[str, Any]:
    record: dict[str, Any] = readable(json.loads(line))
    parent = record["parent"] or {"candidate_id": None, "files": {}}
    return {
        **record,
        **{name: json.dumps(record[name], ensure_ascii=False) for name in _AS_JSON},
        "parent_id": parent["candidate_id"],
        "parent_files": [{"path": path, "text": text} for path, text in parent["files"].items()],
    }
