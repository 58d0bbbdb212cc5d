"""Packed texts and JSON: each comes back as it went in, and what is damaged is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import sqlite

from evolve.identity import digest
from service.db import packed
from service.db.driver_errors import DamagedRowError, UnstorableError
from service.db.packed import PackedJson, PackedText, pack, pack_against, unpack

DIALECT = sqlite.dialect()
TEXTS = st.one_of(st.text(), st.text().map(lambda text: text * 50), st.just("\x00\ud800" * 9), st.just("\ufdd0"))
HEX = st.text("0123456789abcdef", max_size=80)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS | HEX
JSONS = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=9)


@given(TEXTS)
def test_a_text_comes_back_as_it_went_in(text: str) -> None:
    column = PackedText()
    stored = column.process_bind_param(text, DIALECT)
    assert column.process_result_value(stored, DIALECT) == text


@given(JSONS)
def test_json_comes_back_as_it_went_in(value: Any) -> None:
    column = PackedJson()
    stored = column.process_bind_param(value, DIALECT)
    assert column.process_result_value(stored, DIALECT) == value


@given(st.binary(max_size=5000), st.binary(max_size=5000))
def test_bytes_come_back_with_and_without_a_base(text: bytes, base: bytes) -> None:
    assert unpack(pack(text)) == text
    assert len(pack(text)) <= len(text) + 1
    assert unpack(pack_against(text, base), base) == text


@given(st.binary())
def test_bytes_that_nobody_packed_are_refused_or_are_a_text(stored: bytes) -> None:
    try:
        found = unpack(stored)
    except ValueError:
        return
    assert unpack(pack(found)) == found


@pytest.mark.parametrize("damage", [lambda stored: stored[:-2], lambda stored: stored + b"more", lambda _: "text"])
def test_a_damaged_text_is_refused(damage: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot be unpacked|cut|bytes"):
        unpack(damage(pack(b"def value(x, y):\n" * 9)))


def test_a_difference_without_its_base_is_refused() -> None:
    with pytest.raises(ValueError, match="its base is missing"):
        unpack(pack_against(b"a" * 99, b"a" * 98))


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pack(b"0" * 1_000_000)
    monkeypatch.setattr(packed, "MAX_BYTES", 10_000)
    with pytest.raises(ValueError, match="too long"):
        unpack(bomb)


def test_what_json_has_not_is_refused() -> None:
    with pytest.raises(UnstorableError):
        PackedJson().process_bind_param({"a": float("nan")}, DIALECT)
    with pytest.raises(DamagedRowError, match="is not JSON"):
        PackedJson().process_result_value(pack(b'{"a": NaN}'), DIALECT)


def test_an_event_and_a_change_of_a_line_take_few_bytes() -> None:
    evaluated = {
        "candidate_id": "cnd_0123456789abcdef0123_12_3", "outcome": "ok", "fitness": 0.8131,
        "scores": {"value": 0.8131}, "measures": {}, "seconds": 0.1234, "attempt": 1,
    }  # fmt: skip
    text = json.dumps(evaluated, separators=(",", ":")).encode()
    assert len(pack(text)) < len(text) / 2
    program = "\n".join(f"    total += {line}.5 * x ** {line % 5}" for line in range(90))
    child = program.replace("    total += 7.5 * x ** 2", "    total += 8.25 * x ** 3")
    assert len(pack_against(child.encode(), program.encode())) < len(child) / 30


def test_the_dictionary_is_the_one_that_stands_in_databases() -> None:
    assert digest(packed._DICTIONARY.decode()) == "12faef8a5c28cec76b635cfb66d70c10"
