"""Representations with tags."""

import gzip

from fastapi import Request
from pydantic import BaseModel

from service.api.etags import LARGE_BYTES, tagged


class Text(BaseModel):
    text: str


def asked(encodings: str) -> Request:
    return Request({"type": "http", "headers": [(b"accept-encoding", encodings.encode())]})


def test_a_large_answer_is_compressed_where_it_is_made_for_those_who_take_it() -> None:
    large = Text(text="x" * LARGE_BYTES)
    answer = tagged(asked("gzip, br"), large, '"1-1"')
    assert answer.headers["Content-Encoding"] == "gzip"
    assert Text.model_validate_json(gzip.decompress(bytes(answer.body))) == large
    plain = tagged(asked("identity"), large, '"1-1"')
    assert "Content-Encoding" not in plain.headers
    assert Text.model_validate_json(bytes(plain.body)) == large
