import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dashboard import source
from service.dashboard.formatting import MAX_LINE
from service.dashboard.source import highlighted, shown_files

TAG = re.compile(r"<[^>]*>")
HOSTILE = "</pre><script>alert(1)</script>"


def text_of(line: str) -> str:
    return unescape(TAG.sub("", line))


# Tags cannot be seen, the unassigned ones among them either.
TAGS = "".join(map(chr, range(0xE0000, 0xE0080)))
SEEN = st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp"], exclude_characters=TAGS)


@given(st.text(SEEN | st.just("\n"), max_size=400))
def test_every_character_of_a_source_is_shown_in_its_place(text: str) -> None:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    assert [text_of(line) for line in highlighted("it.py", text)] == lines


@pytest.mark.parametrize("name", ["it.py", "it.html", "it.js", "it.c", "it.rs", "it.txt", "without-an-ending", "it.md"])
def test_markup_in_a_source_is_text_in_every_language(name: str) -> None:
    shown = "\n".join(highlighted(name, f"a = 1 # {HOSTILE}\n'{HOSTILE}'\n{HOSTILE}\n"))
    assert set(re.findall(r"<(/?\w+)", shown)) <= {"span", "/span"}
    assert text_of(shown).count(HOSTILE) == 3


def test_words_of_a_program_are_coloured_by_what_they_are() -> None:
    (line,) = highlighted("it.py", "return 'a' + 12  # done\n")
    assert '<span class="s-keyword">return</span>' in line
    assert re.search('<span class="s-text">.*a.*</span>', line)
    assert '<span class="s-number">12</span>' in line
    assert '<span class="s-comment"># done</span>' in line


def test_what_cannot_be_seen_is_shown_as_its_code_point() -> None:
    (line,) = highlighted("it.py", "x = 1  # \u202eevil\x1b[31m\x00\r")
    assert re.findall("U[+][0-9A-F]{4}", line) == ["U+202E", "U+001B", "U+0000", "U+000D"]


def test_a_line_of_a_megabyte_is_cut_and_the_next_one_is_shown() -> None:
    long, after = highlighted("it.py", "x" * 1_000_000 + "\nreturn\n")
    assert len(text_of(long)) < MAX_LINE + 100
    assert f"{1_000_000 - MAX_LINE:,} more characters" in long
    assert "return" in after


def test_what_a_page_does_not_bear_is_counted() -> None:
    line = "x = 1\n"
    text = line * 50_000
    (file,) = shown_files([("it.py", text)])
    assert len(file.lines) == min(source.MAX_LINES, source.MAX_CHARACTERS // len(line))
    assert file.omitted == len(text) - len(file.lines) * len(line)


def test_files_share_the_room_of_a_page() -> None:
    half = "y" * 999 + "\n"
    files = shown_files([(f"{at}.txt", half * 100) for at in range(4)])
    assert [len(file.lines) for file in files] == [100, 100, 0, 0]
    assert [file.omitted for file in files] == [0, 0, 100_000, 100_000]


def test_colours_end_before_a_long_file_does_and_its_text_goes_on() -> None:
    line = "return 1\n"
    lines = highlighted("it.py", line * 10_000)
    assert "s-keyword" in lines[0]
    assert lines[-1] == "return 1"
