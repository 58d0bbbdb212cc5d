"""Words as one character: every text comes back as it went in, and is stored as no other text is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from evolve.evaluation import Outcome
from evolve.payloads import CROSSOVER, INSPIRATION, PARENT
from service.db.frequent_words import read_word, stored_word
from service.db.models import FREQUENT_KINDS

WORDS = (*FREQUENT_KINDS, *map(str, Outcome), PARENT, CROSSOVER, INSPIRATION, "evaluated", "strong/separate")
TEXTS = st.one_of(
    st.sampled_from(WORDS),
    st.text(max_size=1),
    st.text().map(lambda text: f"={text}"),
    st.text(),
    st.sampled_from(["\x00", "\ud800", "\ufdd0", "=\x00", "\ufdd0" + json.dumps("0")]),
)


@given(TEXTS)
def test_a_text_comes_back_as_it_went_in(text: str) -> None:
    assert read_word(stored_word(text)) == text


@given(st.lists(TEXTS, unique=True))
def test_different_texts_are_stored_differently(texts: list[str]) -> None:
    assert len({stored_word(text) for text in texts}) == len(texts)


def test_words_of_every_row_take_one_character() -> None:
    assert [word for word in WORDS if len(stored_word(word)) != 1] == []


def test_codes_stay_what_they_were() -> None:
    assert [stored_word(word) for word in ("candidate.created", "ok", "none/shared")] == ["0", "c", "t"]
