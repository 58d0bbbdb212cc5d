"""The work that a program's syntax makes is bounded: long programs are text."""

import ast
import contextlib
import time

import pytest

from evolve.answers.edit import apply_answer
from evolve.answers.python_source import MAX_PARSED, is_python
from evolve.errors import AnswerError, PolicyRefused
from evolve.program import MAX_PROGRAM_CHARACTERS, Program
from evolve.similarity.fingerprint import fingerprint
from service.policy.syntax.scan import numerals
from service.policy.syntax.source import SourceText
from tests.unit.syntax.proposals import ask, children, proposal

LINE = "x = a + b * 3  # said\n"
LONG = LINE * (MAX_PROGRAM_CHARACTERS // len(LINE))
FITS = LINE * (MAX_PARSED // len(LINE))


def of(text: str) -> Program:
    return Program.of({"main.py": text})


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of what is parsed."""
    lengths: list[int] = []
    parse = ast.parse

    def counting(text: str) -> ast.Module:
        lengths.append(len(text))
        return parse(text)

    monkeypatch.setattr(ast, "parse", counting)
    return lengths


def test_a_long_program_is_never_parsed(parsed: list[int]) -> None:
    child = apply_answer(of(LINE), LONG, "rewrite", "python").program
    assert child.text == LONG
    fingerprint(child, "python")
    assert len(children(child, seeds=1)) == 8
    assert max(parsed, default=0) <= MAX_PARSED


def test_many_files_count_together(parsed: list[int]) -> None:
    program = Program.of({f"part{number}.py": FITS for number in range(2)})
    assert not is_python("part0.py", program, "python")
    fingerprint(program, "python")
    assert parsed == []


def test_up_to_the_bound_syntax_is_what_counts() -> None:
    bare = FITS.replace("  # said", "")
    assert fingerprint(of(FITS), "python") == fingerprint(of(bare), "python")
    assert fingerprint(of(LONG), "python") != fingerprint(of(LONG.replace("  # said", "")), "python")
    with pytest.raises(AnswerError, match="not valid Python"):
        apply_answer(of(LINE), FITS[:-30] + "\nx = (\n", "rewrite", "python")


def test_prose_is_known_however_long_it_is() -> None:
    prose = "This is a sentence that says nothing at all.\n" * 5000
    with pytest.raises(AnswerError, match="prose"):
        apply_answer(of(LINE), prose, "rewrite", "python")


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        "x=[" + "1," * (MAX_PROGRAM_CHARACTERS // 2 - 10) + "]",
        "(" * 300_000 + "1," * 300_000,
        "'" * MAX_PROGRAM_CHARACTERS,
        "# EVOLVE-BLOCK-START\n1\n# EVOLVE-BLOCK-END\n" * 20_000,
    ],
    ids=["plain", "one line", "nested", "quotes", "regions"],
)
def test_the_longest_programs_take_seconds(text: str) -> None:
    began = time.process_time()
    fingerprint(of(text), "python")
    with contextlib.suppress(PolicyRefused):
        ask(proposal(of(text), answers=1))
    assert time.process_time() - began < 20.0


def test_brackets_around_a_numeral_are_bounded() -> None:
    (found,) = numerals("(" * 5000 + "7", "text")
    assert found.groups == tuple(range(4980, 5000))


def test_numerals_of_one_line_stand_together_and_those_of_others_do_not() -> None:
    source = SourceText("p", "1 2\n\n3\n4 5 6", "text")
    assert [[one.start for one in line] for line in source._by_line()] == [[0, 2], [5], [7, 9, 11]]
