"""Ids in bytes: each comes back as it went in, and what begins so is found."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.identity import candidate_id, digest, proposal_id
from service.db.compact_ids import _decoded, _encoded, decode_id, encode_id, is_whole, ranges

NUMBERS = st.integers(0, 10**9 - 1)
RUNS = st.uuids().map(lambda found: f"run_{found}")
CANDIDATES = st.builds(candidate_id, RUNS, NUMBERS, NUMBERS)
HASHES = st.text(max_size=3).map(digest)
FORMS = st.one_of(
    RUNS,
    st.uuids().map(lambda found: f"run_{found.hex}"),
    CANDIDATES,
    HASHES.map(lambda found: f"cnd_{found}"),
    HASHES.map(lambda found: f"pgm_{found}"),
    st.builds(proposal_id, RUNS, NUMBERS),
    HASHES,
)
# What looks like an id: other cases, lengths, signs and digits, and what no database takes as text.
NEAR = st.from_regex(r"(run_|cnd_|pgm_|)[0-9a-fA-F\-]{0,40}(_[0-9٣]{1,12}){0,3}\n?", fullmatch=True)
ANY = st.one_of(FORMS, NEAR, st.text(), st.just("\x00\ud800"))


@given(ANY)
def test_an_id_comes_back_as_it_went_in(text: str) -> None:
    assert decode_id(encode_id(text)) == text


@given(st.lists(ANY, unique=True))
def test_different_ids_are_different_bytes(texts: list[str]) -> None:
    assert len({encode_id(text) for text in texts}) == len(texts)


@given(FORMS)
def test_an_id_of_a_known_form_takes_no_more_than_a_hash_and_two_numbers(text: str) -> None:
    assert is_whole(text)
    assert len(encode_id(text)) <= 1 + 16 + 4


@given(ANY.filter(bool), st.data())
def test_what_begins_so_lies_in_the_ranges(text: str, data: st.DataObject) -> None:
    beginning = text[: data.draw(st.integers(1, len(text)))]
    assert any(low <= encode_id(text) < high for low, high in ranges(beginning))


@pytest.mark.parametrize("last", ["\U0010ffff", "\ud7ff", "\x7f", "\x00"])
def test_the_last_characters_of_the_alphabet_have_ranges_too(last: str) -> None:
    assert any(low <= encode_id(f"a{last}b") < high for low, high in ranges(f"a{last}"))


def test_long_texts_that_people_give_for_ids_are_not_kept() -> None:
    kept = _encoded.cache_info().currsize, _decoded.cache_info().currsize
    texts = [f"run_{number}{'a' * 60_000}" for number in range(3)]
    assert [decode_id(encode_id(text)) for text in texts] == texts
    assert (_encoded.cache_info().currsize, _decoded.cache_info().currsize) == kept


@given(FORMS, st.data())
def test_the_ranges_of_a_beginning_hold_no_other_hashes(text: str, data: st.DataObject) -> None:
    digits = data.draw(st.integers(4, 12))
    beginning = text[:digits]
    others = encode_id(f"{text[:4]}{uuid.UUID(int=data.draw(st.integers(0, 2**128 - 1)))}"), encode_id(text)
    for stored in others:
        found = any(low <= stored < high for low, high in ranges(beginning))
        assert found == decode_id(stored).startswith(beginning)


@given(st.lists(RUNS, min_size=2, max_size=2))
def test_runs_are_in_the_order_of_their_texts(runs: list[str]) -> None:
    first, second = runs
    assert (encode_id(first) < encode_id(second)) == (first < second)


@given(st.binary())
def test_bytes_are_an_id_or_are_refused(stored: bytes) -> None:
    try:
        text = decode_id(stored)
    except ValueError:
        return
    assert encode_id(text) == stored or not is_whole(text) or stored[:1] != b"\x00"
