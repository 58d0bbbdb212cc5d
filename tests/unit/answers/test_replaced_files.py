"""Files that a person writes in place of those of a parent: checked, and never corrected."""

import pytest

from evolve.answers.edit import replace_files
from evolve.errors import AnswerError
from evolve.program import Program

PLAIN = Program.of({"a.py": "x = 1\n", "b.py": "y = 2\n"})
GUARDED = Program.of({"a.py": "import math\n# EVOLVE-BLOCK-START\nx = 1\n# EVOLVE-BLOCK-END\nprint(x)\n"})


def test_files_that_are_left_out_stay() -> None:
    assert dict(replace_files(PLAIN, {"b.py": "y = 3\n"}, "python").files) == {"a.py": "x = 1\n", "b.py": "y = 3\n"}


def test_line_ends_are_those_of_the_parent() -> None:
    parent = Program.of({"a.py": "x = 1\r\ny = 1\r\n"})
    assert replace_files(parent, {"a.py": "x = 2\ny = 1\n"}, "python").files == (("a.py", "x = 2\r\ny = 1\r\n"),)


def test_a_region_may_change() -> None:
    text = GUARDED.text.replace("x = 1", "x = 2\nx += 1")
    assert replace_files(GUARDED, {"a.py": text}, "python").text == text


def test_text_of_another_language_is_not_parsed() -> None:
    assert replace_files(Program.of({"a.c": "int x;\n"}), {"a.c": "int (\n"}, "c").text == "int (\n"


@pytest.mark.parametrize(
    ("parent", "files", "reason"),
    [
        (PLAIN, {"a.py": "x = 1\n"}, "equals its parent"),
        (PLAIN, {"a.py": "x = (\n"}, "not valid Python: .* in line 1 of a.py"),
        (PLAIN, {"a.py/c.py": "x = 1\n"}, "cannot exist beside a.py"),
        (PLAIN, {"/c.py": "x = 1\n"}, "not a plain relative path"),
        (GUARDED, {"a.py": GUARDED.text.replace("print(x)", "print(y)")}, "line 5 is outside the EVOLVE-BLOCK"),
        (GUARDED, {"a.py": GUARDED.text + "z = 1\n"}, "line 6 is outside the EVOLVE-BLOCK"),
        (GUARDED, {"a.py": "import math\nx = 2\nprint(x)\n"}, "line 2 is outside the EVOLVE-BLOCK"),
        (GUARDED, {"b.py": "x = 1\n"}, "adds b.py, but only the EVOLVE-BLOCK regions may change"),
    ],
)
def test_what_makes_no_child_is_refused_with_the_reason(parent: Program, files: dict[str, str], reason: str) -> None:
    with pytest.raises(AnswerError, match=reason):
        replace_files(parent, files, "python")
