"""Text of others is text wherever it stands, and says what of it cannot be seen."""

import re
from collections.abc import Iterator
from html import unescape

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from service.dashboard.formatting import plain, share, visible

MARK = re.compile(r'<span class="unseen">U\+([0-9A-F]{4,6})</span>')
UNSEEN = set("\x00\x1f\x85\u200b\u202e\u2066\ufeff\U000e0041")


@given(st.text() | st.text(st.sampled_from("<>&'\"\x00\x1f\u202e\u200b\U000e0041ab\n"), max_size=60))
def test_every_character_is_shown_or_named(text: str) -> None:
    # Without the marks nothing is left that a browser would take for an element, and nothing that is not seen.
    shown = visible(text)
    assert "<" not in MARK.sub("", shown)
    assert not UNSEEN & set(shown)
    assert "".join(_characters(shown)) == text


def _characters(shown: str) -> Iterator[str]:
    place = 0
    for found in MARK.finditer(shown):
        yield unescape(shown[place : found.start()])
        yield chr(int(found.group(1), 16))
        place = found.end()
    yield unescape(shown[place:])


def test_a_share_of_negative_zero_is_zero() -> None:
    assert [share(value) for value in (-0.0, 0.0, -0.25)] == ["0\u202f%", "0\u202f%", "-25\u202f%"]


def test_text_that_says_it_is_markup_is_text() -> None:
    assert visible(Markup("<b>")) == "&lt;b&gt;"
    assert visible("U+202E \u202e") == 'U+202E <span class="unseen">U+202E</span>'
    assert plain("a\u202e\n b", 10) == "a\\u202e b"
