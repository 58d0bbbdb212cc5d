import difflib
import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from service.dashboard import difference as module
from service.dashboard.difference import DiffLine, FileDifference, difference, differences, lines_of, pairs
from service.schemas.candidates import FileChange

# Lines that look like parts of a diff, and such as others split where this does not.
TEXTS = st.lists(
    st.sampled_from(
        ["", "a", "b", "--- x", "+++ y", "@@ -1 +1 @@", "\\ No newline at end of file", "a\rb", "c\u2028d"]
    ),
    max_size=30,
).map("\n".join)


def change_of(before: str, after: str) -> FileChange:
    lines = difflib.unified_diff(_kept(before), _kept(after), "before/it.py", "after/it.py")
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return FileChange(path="it.py", change="changed", added=0, removed=0, diff=text)


def _kept(text: str) -> list[str]:
    return [line for line in re.split("(?<=\n)", text) if line]


def shown(found: FileDifference) -> Sequence[DiffLine]:
    assert found.stretches is not None
    return [line for stretch in found.stretches for line in stretch.lines]


@given(TEXTS, TEXTS)
def test_both_sides_can_be_read_off_a_difference(before: str, after: str) -> None:
    found = shown(difference(change_of(before, after), after))
    if _kept(before) == _kept(after):
        assert not found
        return
    old = [(line.old, line.text) for line in found if line.kind != "added"]
    new = [(line.new, line.text) for line in found if line.kind != "removed"]
    assert old == list(enumerate(lines_of(before), 1))
    assert new == list(enumerate(lines_of(after), 1))


@given(TEXTS, TEXTS)
def test_side_by_side_shows_what_below_each_other_shows(before: str, after: str) -> None:
    found = shown(difference(change_of(before, after), after))
    beside = list(pairs(found))
    assert [old for old, _ in beside if old and old.kind != "added"] == [one for one in found if one.kind != "added"]
    assert [new for _, new in beside if new and new.kind != "removed"] == [
        one for one in found if one.kind != "removed"
    ]


def test_what_did_not_change_is_folded() -> None:
    before = "".join(f"{at}\n" for at in range(1, 41))
    found = difference(change_of(before, before.replace("20\n", "twenty\n")), before.replace("20\n", "twenty\n"))
    assert found.stretches is not None
    assert [(one.folded, one.count) for one in found.stretches] == [(True, 16), (False, 8), (True, 17)]


def test_a_very_long_unchanged_stretch_is_named_and_not_shown() -> None:
    before = "x\n" * (module.MAX_FOLDED + 100)
    found = difference(change_of(before, before + "y\n"), before + "y\n")
    assert found.stretches is not None
    assert [(one.folded, one.count, len(one.lines)) for one in found.stretches] == [
        (True, module.MAX_FOLDED + 97, 0),
        (False, 4, 4),
    ]


def test_a_difference_that_a_page_does_not_bear_is_cut_and_counted() -> None:
    after = "x\n" * (module.MAX_LINES + 50)
    found = difference(change_of("", after), after)
    assert len(shown(found)) == module.MAX_LINES
    assert found.omitted == 50


def test_all_files_of_a_comparison_share_what_a_page_bears() -> None:
    changes = [change_of("", "x\n" * 30)] * 3
    found = differences(changes, {"it.py": "x\n" * 30}, maximum=40)
    assert [len(shown(one)) for one in found] == [30, 10, 0]
    assert [one.omitted for one in found] == [0, 20, 30]


def test_what_was_too_large_to_compare_has_no_lines() -> None:
    change = FileChange(path="it.py", change="changed", added=None, removed=None, diff=None)
    assert difference(change, "x").stretches is None
