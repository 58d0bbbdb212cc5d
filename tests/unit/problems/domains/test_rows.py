"""Rows of data files: the right one, or one sentence with the line."""

import io
import json
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidProblemError
from service.problems.domains.rows import read_row, read_row_of, read_rows


def refusal(name: str, content: bytes, number: int | None) -> str:
    with pytest.raises(InvalidProblemError) as caught:
        read_row(name, io.BytesIO(content), number)
    (sentence,) = caught.value.complaints
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("name", "content", "number", "row"),
    [
        ("a.json", b'{"x": 1}', None, {"x": 1}),
        ("a.json", b'\xef\xbb\xbf[{"x": 1}, {"x": 2}]', 1, {"x": 2}),
        ("a.jsonl", b'{"x": 1}\n\n{"x": 2}\r\n', 1, {"x": 2}),
        ("a.jsonl", b'{"x": 1}', None, {"x": 1}),
        ("a.jsonl", b'broken\n{"x": 2}', 1, {"x": 2}),
    ],
)
def test_the_row_of_that_number_is_read(name: str, content: bytes, number: int | None, row: Any) -> None:
    assert read_row(name, io.BytesIO(content), number) == row


@pytest.mark.parametrize(
    ("name", "content", "number", "said"),
    [
        ("a.jsonl", b'{"x": 1}\n\nbroken', 1, "a.jsonl, line 3: it is not JSON"),
        ("a.jsonl", b'{"x": 1}\n[1]', 1, "a.jsonl, line 2: a question is an object with named fields, not a list"),
        ("a.jsonl", b'{"x": NaN}', 0, "a.jsonl, line 1: NaN is not a JSON number"),
        ("a.jsonl", b"\n\n" + b"[" * 100_000, 0, "a.jsonl, line 3: it is nested too deeply"),
        ("a.jsonl", b'\n{"x": "\xff"}', 0, "a.jsonl, line 2: it is not UTF-8"),
        ("a.jsonl", b'{"x": ' + b"9" * 5000 + b"}", 0, "a.jsonl, line 1: "),
        ("a.jsonl", b"{}\n{}\n", 2, "a.jsonl has no question 2: it holds 2, counted from 0"),
        ("a.json", b'[\n{"x": 1},\n{"x" 2}]', 0, "a.json, line 3: it is not JSON"),
        ("a.json", b"[{}, {}]", None, "holds a list of 2 questions: choose one with domain.number"),
        ("a.json", b"[{}, {}]", 2, "a.json has no question 2"),
        ("a.json", b"{}", 0, "leave domain.number out"),
        ("a.json", b"3", None, "not a int"),
        ("a.csv", b"x", None, "a.csv has an unknown suffix: use one of .json, .jsonl, .parquet"),
        ("a.parquet", b"PAR1", 0, "evolve problem init DIR --domain NAME --data a.parquet --number N"),
    ],
)
def test_a_file_that_is_off_is_one_sentence_with_its_line(
    name: str, content: bytes, number: int | None, said: str
) -> None:
    assert said in refusal(name, content, number)


@given(st.binary(max_size=60), st.sampled_from(["a.json", "a.jsonl"]), st.none() | st.integers(0, 3))
def test_any_bytes_are_a_row_or_a_sentence(content: bytes, name: str, number: int | None) -> None:
    with suppress(InvalidProblemError):
        assert isinstance(read_row(name, io.BytesIO(content), number), dict)


def test_a_file_on_disk_is_read_to_its_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"x": n}) + "\n" for n in range(5)))
    assert read_row_of(path, 4) == {"x": 4}
    with pytest.raises(InvalidProblemError, match="cannot be read: No such file"):
        read_row_of(tmp_path / "b.jsonl", 0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"x": 0}\n\n{"x": 1}\n{"x": 2}'),
        ("a.json", '[{"x": 0}, {"x": 1}, {"x": 2}]'),
    ],
)
def test_all_rows_are_read_in_one_pass(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert list(read_rows(path)) == [read_row_of(path, number) for number in range(3)]
    path.write_text(content.replace('{"x": 1}', "[]"))
    with pytest.raises(InvalidProblemError, match="a question is an object with named fields, not a list"):
        list(read_rows(path))  # a row that is off is no end of the file


def test_rows_of_a_file_that_is_off_are_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="cannot be read"):
        list(read_rows(tmp_path / "none.jsonl"))
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(InvalidProblemError, match="unknown suffix"):
        list(read_rows(tmp_path / "a.csv"))


def test_parquet_takes_pyarrow_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidProblemError, match="needs pyarrow, which is not installed: pip install pyarrow"):
        read_row_of(tmp_path / "a.parquet", 0)


class Table:
    """What pyarrow gives for a row group, as far as it is asked here."""

    def __init__(self, rows: list[dict[str, int]]) -> None:
        self.rows = rows
        self.num_rows = len(rows)

    def slice(self, start: int, count: int) -> "Table":
        return Table(self.rows[start : start + count])

    def to_pylist(self) -> list[dict[str, int]]:
        return self.rows


class ParquetFile:
    """A file of two row groups, or one that is broken."""

    def __init__(self, path: Path) -> None:
        if path.stem == "broken":
            raise ValueError("no magic\nbytes")
        self.groups = [Table([{"x": 0}, {"x": 1}]), Table([{"x": 2}])]
        self.num_row_groups = len(self.groups)
        self.metadata = self

    def __enter__(self) -> "ParquetFile":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def row_group(self, group: int) -> Table:
        return self.groups[group]

    read_row_group = row_group


@pytest.fixture
def pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    module, parquet = ModuleType("pyarrow"), ModuleType("pyarrow.parquet")
    parquet.ParquetFile = ParquetFile  # type: ignore[attr-defined] # a module made for the test
    module.parquet = parquet  # type: ignore[attr-defined] # likewise
    monkeypatch.setitem(sys.modules, "pyarrow", module)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)


@pytest.mark.usefixtures("pyarrow")
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_row_of_a_parquet_file_is_found_in_its_group(tmp_path: Path, number: int) -> None:
    assert read_row_of(tmp_path / "a.parquet", number) == {"x": number}
    assert list(read_rows(tmp_path / "a.parquet"))[number] == {"x": number}


@pytest.mark.usefixtures("pyarrow")
@pytest.mark.parametrize(("name", "said"), [("a", "it holds 3, counted from 0"), ("broken", "not a Parquet file")])
def test_a_parquet_file_that_is_off_is_one_sentence(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        read_row_of(tmp_path / f"{name}.parquet", 3)
