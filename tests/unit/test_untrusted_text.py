"""Texts of others in answers: as they are where UTF-8 can carry them, else escaped."""

from typing import Any

import pytest

from service.schemas import untrusted_text
from service.schemas.events import EventPage
from service.schemas.untrusted_text import Foreign

EVENT = {"kind": "note", "texts": ["Größe", {"deep": "x"}], "value": 0.5, "none": None}


class Note(Foreign):
    """Two texts of somebody else."""

    text: str
    more: dict[str, str]


def test_lone_surrogates_are_escaped_wherever_they_stand() -> None:
    note = Note(text="a\ud800b", more={"\udfff": "c\ud801"})
    assert note.model_dump_json() == r'{"text":"a\\ud800b","more":{"\\udfff":"c\\ud801"}}'
    page = EventPage(items=[{**EVENT, "texts": ["\ud800"]}])
    assert page.model_dump()["items"][0]["texts"] == ["\\ud800"]


def test_texts_that_utf_8_carries_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = list[Any]()
    monkeypatch.setattr(untrusted_text, "readable", looked.append)
    assert EventPage(items=[EVENT]).model_dump()["items"] == [EVENT]
    assert not looked
