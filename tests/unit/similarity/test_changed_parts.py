"""What a child changed of its parent: constants, structure, or both; and how a line's gain divides among these."""

from dataclasses import dataclass

import pytest

from evolve.program import Program
from evolve.repository import Repository
from evolve.similarity.changed_parts import changed_parts
from service.projections.gain_shares import gain_shares, shares_in_words


@dataclass
class Step:
    fitness: float | None
    changed: str = ""


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("step = 0.5", "step = 1e-3", "constants"),
        ("step = 5", "step = -7", "constants"),
        ("step = 5", "pace = 5", "structure"),
        ("x1 = 5", "x2 = 5", "structure"),
        ("return 5", "return 5 + 1", "structure"),
        ("a = 1\nb = 2", "a = 1\nb = 2\nc = 3", "structure"),
        ("a = 1\nb = 2", "a = 9\nb = 2\nc = 3", "both"),
        ("a = 1\nb = 2\nc = 3", "b = 2\nc = 4", "both"),
        ("a = 1", "a = 1", ""),
        ("a = 1\n\n\nb = 2", "a = 3  \nb = 2", "constants"),
        ("a = 1\n\nb = 2", "a = 1\nb = 2", ""),
    ],
)
def test_lines_are_compared_without_their_numbers(before: str, after: str, changed: str) -> None:
    frame = "def give():\n    {}\n"
    parent, child = (Program.of({"p.py": frame.format(text.replace("\n", "\n    "))}) for text in (before, after))
    assert changed_parts(parent, child) == changed


def test_files_count_together_and_a_new_file_is_structure() -> None:
    parent = Program.of({"a.py": "x = 1\n", "b.py": "y = 2\n"})
    assert changed_parts(parent, Program.of({"a.py": "x = 3\n", "b.py": "y = 4\n"})) == "constants"
    assert changed_parts(parent, Program.of({"a.py": "x = 3\n", "b.py": "z = y\n"})) == "both"
    assert changed_parts(parent, Program.of({"a.py": "x = 1\n", "b.py": "y = 2\n", "c.py": "x = 1\n"})) == "structure"


def test_programs_over_a_commit_are_compared_as_they_lie_over_it() -> None:
    texts = {"a.py": "x = 1\n", "b.py": "y = 2\n"}
    base = Repository(
        commit="0" * 40, mutable=("*.py",), texts=texts, sizes={path: len(text) for path, text in texts.items()}
    )
    seed, number = base.seed(), base.program({"a.py": "x = 3\n"}, ())
    assert changed_parts(seed, number, base) == "constants"
    assert changed_parts(number, base.program({"a.py": "x = 3\n", "b.py": "y = 2\nz = y\n"}, ()), base) == "structure"
    assert changed_parts(number, base.program({"a.py": "x = 4\n"}, ["b.py"]), base) == "both"
    assert changed_parts(number, base.program({}, ()), base) == "constants", "a change that is taken back"


def test_a_very_long_difference_is_structure() -> None:
    parent = Program.of({"a.py": "\n".join(f"a{line} = {line}" for line in range(900))})
    child = Program.of({"a.py": "\n".join(f"b{line} = {line + 1}" for line in range(900))})
    assert changed_parts(parent, child) == "structure"


def test_the_gain_of_a_line_divides_by_what_was_changed() -> None:
    line = [Step(1.0), Step(2.0, "structure"), Step(1.5, "structure"), Step(4.5, "constants"), Step(None, "both")]
    assert gain_shares(line) == {"constants": 0.75, "structure": 0.25}
    assert list(gain_shares(line)) == ["constants", "structure"]
    assert shares_in_words(gain_shares(line)) == "75 % constants, 25 % structure"
    assert gain_shares(line[:1]) == {}
    assert gain_shares([Step(0.0), Step(1.0)]) == {"unknown": 1.0}
