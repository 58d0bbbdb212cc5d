"""JSON columns hold texts as one encoder writes them, whichever was faster: searches look for its escapes."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.db.driver_errors import UnstorableError
from service.db.packed import as_json

TEXTS = st.text() | st.text(alphabet=[chr(code) for code in range(256)])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(text=TEXTS)
@example(text="\x7f")
@example(text='\b\f\n\r\t"\\/')
@example(text="NaN")
def test_a_text_is_written_as_json_writes_it(text: str) -> None:
    assert as_json([["a.py", text]]) == json.dumps([["a.py", text]], separators=(",", ":"))


@given(value=VALUES)
@example(value=10**40)
@example(value=[1e16, -0.0, 5e-324])
def test_what_is_read_is_what_was_written(value: object) -> None:
    written = as_json(value)
    assert written.isascii()
    assert json.loads(written) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [{"a": -float("inf")}], {"a": object()}])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises((UnstorableError, TypeError)):
        as_json(value)
