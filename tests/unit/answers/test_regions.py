import pytest

from evolve.answers.regions import (
    Region,
    asks_region,
    check_markers,
    enforce,
    guarded,
    names_of_region,
    regions,
    unread_markers,
)
from evolve.errors import AnswerError, ProblemError
from evolve.program import Program

PARENT = "import x\n# EVOLVE-BLOCK-START\na = 1\n# EVOLVE-BLOCK-END\nprint(a)\n"


def one(text: str) -> Program:
    return Program.of({"main.py": text})


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"),
        ("    // EVOLVE-BLOCK-START: the packer", "  //EVOLVE-BLOCK-END"),
        ("/* EVOLVE-BLOCK-START */", "/* EVOLVE-BLOCK-END */"),
        ("<!-- EVOLVE-BLOCK-START -->", "<!-- EVOLVE-BLOCK-END -->"),
        ("-- EVOLVE-BLOCK-START", "-- EVOLVE-BLOCK-END"),
        ("% EVOLVE-BLOCK-START", "; EVOLVE-BLOCK-END"),
        ("REM EVOLVE-BLOCK-START", "REM EVOLVE-BLOCK-END\r"),
    ],
)
def test_markers_are_found_in_any_comment_syntax(opening: str, closing: str) -> None:
    assert regions(f"head\n{opening}\nbody\nbody\n{closing}\ntail") == [Region(2, 4)]


def test_text_about_markers_is_no_marker() -> None:
    assert regions('x = "EVOLVE-BLOCK-START"\n# the EVOLVE-BLOCK-START marker\n# EVOLVE-BLOCK-STARTED') == []


@pytest.mark.parametrize("line", ["x = 1  # {}", "int x; // {}  ", "x := 1; /* {} */", "<b>x</b><!-- {} -->"])
def test_a_marker_behind_code_is_told(line: str) -> None:
    text = "\n".join(
        [line.format("EVOLVE-BLOCK-START"), "# EVOLVE-BLOCK-START", "y = 2", line.format("EVOLVE-BLOCK-END")]
    )
    first, second = unread_markers(one(text))
    assert first.startswith("main.py: EVOLVE-BLOCK-START in line 1 is after code")
    assert second.startswith("main.py: EVOLVE-BLOCK-END in line 4 is after code")
    assert unread_markers(one(PARENT)) == []
    assert unread_markers(one('x = "# EVOLVE-BLOCK-START"\ny = 1  # the marker EVOLVE-BLOCK-START')) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# EVOLVE-BLOCK-START\nx", "line 1 has no EVOLVE-BLOCK-END"),
        ("x\n# EVOLVE-BLOCK-END", "line 2 has no EVOLVE-BLOCK-START"),
        ("# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END", "line 2 is inside the region of line 1"),
    ],
)
def test_unbalanced_markers_are_refused(text: str, reason: str) -> None:
    with pytest.raises(AnswerError, match=reason):
        regions(text)
    with pytest.raises(ProblemError, match=rf"main\.py: .*{reason}"):
        check_markers(one(text))
    with pytest.raises(AnswerError, match=rf"main\.py: .*{reason}"):
        enforce(one(PARENT), one(text))


def test_balanced_markers_pass_the_check() -> None:
    check_markers(one(PARENT))
    assert guarded(one(PARENT))
    assert not guarded(one("a = 1\n"))


def test_changes_outside_the_regions_are_undone() -> None:
    child = one("import os\n  #EVOLVE-BLOCK-START\na = 2\nb = 3\n# EVOLVE-BLOCK-END\nprint(0)")
    assert enforce(one(PARENT), child).program == one(PARENT.replace("a = 1\n", "a = 2\nb = 3\n"))


def test_a_region_may_be_emptied_and_filled() -> None:
    empty = one(PARENT.replace("a = 1\n", ""))
    assert enforce(one(PARENT), empty).program == empty
    assert enforce(empty, one(PARENT)).program == one(PARENT)


def test_each_region_takes_its_own_content() -> None:
    parent = one(PARENT + PARENT)
    child = one(PARENT.replace("1", "2") + PARENT.replace("1", "3"))
    assert enforce(parent, child).program == child


def test_a_lost_region_is_refused_where_whole_programs_are_asked_for() -> None:
    long = PARENT.replace("a = 1\n", "a = 1\n" + "b = a + 1  # and so on\n" * 40)
    assert not asks_region(one(long))
    with pytest.raises(AnswerError, match=r"1 EVOLVE-BLOCK region in the parent and 0 EVOLVE-BLOCK regions"):
        enforce(one(long), one("c = 2\n"))


def test_an_answer_is_the_region_where_the_region_alone_is_asked_for() -> None:
    assert asks_region(one(PARENT))
    enforced = enforce(one(PARENT), one("c = 2\n"))
    assert enforced.program == one(PARENT.replace("a = 1\n", "c = 2\n\n"))
    assert enforced.restored


@pytest.mark.parametrize("text", ["a = 1\n", PARENT + PARENT])
def test_the_region_alone_is_asked_for_where_there_is_one(text: str) -> None:
    assert not asks_region(one(text))
    assert not asks_region(Program.of({"a.py": PARENT, "b.py": PARENT}))


@pytest.mark.parametrize(
    ("inside", "outside", "names"),
    [
        ("def f():\n    return g()\ndef g():\n    return 1\n", "print(f())\n", ("f",)),
        ("a, b = 1, 2\n", "import a.b\nprint(b, a)\n", ("a", "b")),
        ("a = 1\n", "print(2)\n", ()),
        ("a = (\n", "print(a)\n", ()),
    ],
)
def test_the_names_of_a_region_are_those_that_the_rest_uses(inside: str, outside: str, names: tuple[str, ...]) -> None:
    program = one(f"# EVOLVE-BLOCK-START\n{inside}# EVOLVE-BLOCK-END\n{outside}")
    assert names_of_region(program, "python") == names


def test_a_program_of_another_language_or_of_several_regions_names_nothing() -> None:
    assert names_of_region(one(PARENT + PARENT), "python") == ()
    assert names_of_region(one("# EVOLVE-BLOCK-START\na = 1\n# EVOLVE-BLOCK-END\nprint(a)\n"), "rust") == ()


def test_files_without_markers_are_restored_beside_files_with_them() -> None:
    parent = Program.of({"main.py": PARENT, "fixed.py": "f = 1\n"})
    child = parent.replace({"fixed.py": "f = 2\n", "main.py": PARENT.replace("1", "2")})
    assert enforce(parent, child).program == parent.replace({"main.py": PARENT.replace("1", "2")})


def test_a_file_added_beside_regions_is_refused() -> None:
    with pytest.raises(AnswerError, match=r"adds new\.py"):
        enforce(one(PARENT), one(PARENT).replace({"new.py": "x = 1\n"}))


def test_a_program_without_markers_may_change_anywhere() -> None:
    child = Program.of({"main.py": "b = 2\n", "new.py": ""})
    assert enforce(one("a = 1\n"), child).program == child
