"""JSON of columns is read by a fast parser, and by Python's where that one gives up."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.db.driver_errors import DamagedRowError
from service.db.packed import from_text, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner),
)  # fmt: skip


@given(VALUES)
def test_columns_hold_what_python_reads_from_them(value: Any) -> None:
    text = json.dumps(value)
    assert from_text(text) == from_text(text.encode()) == read_json(text.encode()) == json.loads(text)
    assert repr(from_text(text)) == repr(json.loads(text))


def test_what_is_nested_deeper_than_the_fast_parser_goes_is_read() -> None:
    text = b"[" * 300 + b"]" * 300
    assert from_text(text) == read_json(text) == json.loads(text)


@pytest.mark.parametrize("text", [b"NaN", b'{"a":-Infinity}', b"{", b'"\xff"'])
def test_what_is_not_json_is_damaged(text: bytes) -> None:
    with pytest.raises(DamagedRowError):
        read_json(text)
