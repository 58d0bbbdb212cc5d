import ast
import math

import pytest

from evolve.answers.edit import apply_answer
from evolve.errors import PolicyRefused
from evolve.program import Program
from tests.unit.syntax.proposals import ask, children, proposal, texts

PROGRAM = '''\
"""Rings of 3 circles."""
import math

RINGS = [(0.25, 8), (0.75, 16)]  # radius 0.5, count 2


def place(count: int = 10) -> list[float]:
    out = []
    for i in range(count):
        if i > 2 and count < 7:
            out.append(math.cos(i) * 0.5 + f(f"{i:3} 4"))
    return out
'''


def test_the_asked_number_of_different_answers_comes_and_an_account_of_each() -> None:
    answers, completed = ask(proposal(Program.of({"p.py": PROGRAM}), answers=4, samples=2))
    assert [(answer.chain, answer.index) for answer in answers] == [(c, i) for c in range(2) for i in range(4)]
    assert len({answer.text for answer in answers}) == 8
    assert completed.prompt is None
    assert completed.usage.total == 0
    assert [len(account.splitlines()) for account in completed.completions] == [4, 4]


def test_no_more_answers_come_than_the_limit() -> None:
    answers, _ = ask(proposal(Program.of({"p.py": PROGRAM}), answers=4, samples=2, limit=5))
    assert len(answers) == 5


def test_equal_proposals_get_equal_answers_and_other_seeds_others() -> None:
    program = Program.of({"p.py": PROGRAM})
    first, again, other = (ask(proposal(program, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert {answer.text for answer in first[0]} != {answer.text for answer in other[0]}


def test_every_child_parses_and_differs_from_its_parent() -> None:
    found = texts(PROGRAM, PROGRAM.replace("0.25", "0.3"))
    assert len(found) == 240
    assert PROGRAM not in found
    for text in found:
        ast.parse(text)


def test_strings_comments_and_what_a_change_does_not_touch_stay() -> None:
    for text in texts(PROGRAM):
        assert text.startswith('"""Rings of 3 circles."""\nimport math\n')
        assert "# radius 0.5, count 2" in text or "RINGS" not in text
        assert 'f"{i:3} 4"' in text or "out.append" not in text


def test_only_regions_change() -> None:
    text = "a = 1.5\n# EVOLVE-BLOCK-START\nb = 2.5\nfor i in range(3):\n    b += i\n# EVOLVE-BLOCK-END\nc = 3.5\n"
    for child in texts(text):
        assert child.startswith("a = 1.5\n# EVOLVE-BLOCK-START\n")
        assert child.endswith("# EVOLVE-BLOCK-END\nc = 3.5\n")


def test_markers_are_not_taken_over_from_an_inspiration() -> None:
    text = "# EVOLVE-BLOCK-START\ndef f():\n    return 1\n# EVOLVE-BLOCK-END\n"
    other = "def f():\n    # EVOLVE-BLOCK-START\n    return 2\n    # EVOLVE-BLOCK-END\n"
    for child in texts(text, other):
        assert child.count("EVOLVE-BLOCK-") == 2


def test_each_file_of_several_changes_and_one_at_a_time() -> None:
    program = Program.of({"a.py": "x = 0.5\n", "b/c.py": "y = [1.5, 2.5]\n", "notes.md": "version 3.5\n"})
    changed = []
    for child in children(program):
        paths = [path for path, text in child.files if text != dict(program.files)[path]]
        assert len(paths) == 1
        changed += paths
    assert set(changed) == {"a.py", "b/c.py"}


def test_only_files_with_regions_change_where_one_has_them() -> None:
    program = Program.of({"a.py": "x = 0.5\n", "b.py": "# EVOLVE-BLOCK-START\ny = 1.5\n# EVOLVE-BLOCK-END\n"})
    assert {dict(child.files)["a.py"] for child in children(program)} == {"x = 0.5\n"}


def test_a_program_that_holds_fences_and_headings_comes_through() -> None:
    text = 'x = 0.5\ny = """\nFILE: other.py\n````\n```python\n---\n"""\n'
    for child in texts(text):
        assert 'y = """\nFILE: other.py\n````\n```python\n---\n"""\n' in child or child == "x = 0.5\n"


def test_a_program_without_anything_to_change_is_refused() -> None:
    with pytest.raises(PolicyRefused, match="found nothing to change"):
        ask(proposal(Program.of({"p.py": "import os\n"})))


def test_fewer_answers_come_with_a_reason_when_there_are_no_more() -> None:
    answers, completed = ask(proposal(Program.of({"p.py": "a = b and c\n"}), answers=8))
    assert 0 < len(answers) < 8
    assert "no further change" in completed.dropped[0].reason


@pytest.mark.parametrize("text", ["x = (\n1.5", "x = " + "(" * 3000 + "1.5", "x = 1.5\n\tif:", "\ufeffx = 1.5"])
def test_text_that_does_not_parse_is_tuned_like_any_language(text: str) -> None:
    answers, _ = ask(proposal(Program.of({"p.py": text})))
    assert answers


def test_a_long_sum_is_no_trouble() -> None:
    text = "x = " + " + ".join(["0.5"] * 600) + "\n"
    assert len(texts(text, seeds=1)) == 8


def test_a_climb_on_its_answers_finds_the_constants_of_a_formula() -> None:
    def miss(text: str) -> float:
        names: dict[str, float] = {}
        try:
            exec(text, {"__builtins__": {}}, names)
            return float((names["x"] - 0.123) ** 2 + (names["y"] + 45.6) ** 2)
        except (KeyError, NameError):
            return math.inf

    best = "x = 3.0\ny = 2.0\n"
    for number in range(150):
        program = Program.of({"p.py": best})
        answers, _ = ask(proposal(program, seed=number))
        best = min(
            [best, *(apply_answer(program, one.text, one.edits, "python").program.text for one in answers)], key=miss
        )
    assert miss(best) < 1e-4
