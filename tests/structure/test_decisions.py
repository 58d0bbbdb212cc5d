"""Every decision record has a status with a date and its sections, and the index lists it under its title."""

import re
from datetime import date
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
RECORDS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
TITLE = re.compile(r"# (\d+)\. (.+)\n")
STATUS = re.compile(
    r"\n\*\*Status\.\*\* (Accepted|Superseded by \[decision \d+\]\(([\w-]+\.md)\)), (\d{4}-\d\d-\d\d)\."
)
SECTIONS = ("Status", "Why", "Decision", "What follows")


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_record_begins_with_its_decision_its_status_and_its_date(record: Path) -> None:
    text = record.read_text(encoding="utf-8")
    title = TITLE.match(text)
    assert title, "the first line is: # NUMBER. DECISION"
    assert record.name.startswith(f"{int(title[1]):04}-")
    assert not title[2].endswith(".")
    status = STATUS.match(text, title.end())
    assert status, "the second paragraph is: **Status.** Accepted, YYYY-MM-DD."
    assert date.fromisoformat(status[3]) >= date(2026, 1, 1)
    assert not status[2] or (FOLDER / status[2]).is_file()


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_why_what_was_decided_and_what_follows(record: Path) -> None:
    found = re.findall(r"^\*\*([\w ]+)\.\*\*", record.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in found if name in SECTIONS] == list(SECTIONS)


def test_the_index_lists_every_record_in_order_under_its_title() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^(\d+)\. \[(.+)\]\(([\w-]+\.md)\)$", index, re.MULTILINE)
    assert [int(number) for number, _, _ in listed] == [*range(1, len(RECORDS) + 1)]
    titles = [(path.name, (TITLE.match(path.read_text(encoding="utf-8")) or ("", "", ""))[2]) for path in RECORDS]
    assert [(name, title) for _, title, name in listed] == titles


def test_records_are_dated_in_their_order() -> None:
    dates = [found[3] for path in RECORDS if (found := STATUS.search(path.read_text(encoding="utf-8")))]
    assert len(dates) == len(RECORDS) > 40
    assert dates == sorted(dates)
