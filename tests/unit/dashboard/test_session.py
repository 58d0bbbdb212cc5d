"""What a form sent is read as it was typed, and no form holds its reader up."""

import pytest

from service.dashboard.session import MAX_FIELDS, FormData
from service.errors import UsageError


def test_lines_of_a_form_end_as_they_do_elsewhere() -> None:
    form = FormData.read(b"body=one%0D%0Atwo%0Dthree&body=%0D%0A")
    assert form.several("body") == ["one\ntwo\rthree", "\n"]
    assert form["body"] == "\n"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert FormData.read(b"name=a%FFb%20c+d&empty=") == {"name": "a\ufffdb c d", "empty": ""}


def test_a_form_that_was_not_sent_has_no_fields() -> None:
    assert FormData().several("scopes") == []


def test_a_form_of_more_fields_than_a_page_has_is_refused() -> None:
    assert len(FormData.read(b"&".join([b"a=b"] * MAX_FIELDS)).several("a")) == MAX_FIELDS
    with pytest.raises(UsageError, match="more than 10000 fields"):
        FormData.read(b"&".join([b"a=b"] * (MAX_FIELDS + 1)))
