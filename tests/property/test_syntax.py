import ast
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.answers.edit import apply_answer
from evolve.configuration import OPERATORS
from evolve.errors import PolicyRefused
from evolve.program import Program
from service.policy.syntax.scan import numerals
from tests.unit.syntax.proposals import ask, individual, proposal

LINES = st.sampled_from([
    "x = 0.5", "y = [1, 2.5, -3e-4]", "for i in range(10):\n    x += i * 2",
    "if x < 1 and y:\n    x = -x\nelse:\n    y = 2",
    "def f(a, b=0x1F):\n    return a ** b  # 7", "z = (x +\n     y)", "s = '''1\n2'''", "é = 'ß'; t = 4", "# 5", "",
    "w = f'{x:3}' + `", "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END", "u = 3 if x else not y", "@g(1)\ndef h(): pass",
    "p = '```\\n</answer_1>'", "q = 1_000_000\r", "\tv = 1",
])  # fmt: skip
TEXTS = st.lists(LINES, max_size=8).map("\n".join)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, st.integers(0, 2**32), st.booleans(), st.sampled_from(OPERATORS))
def test_answers_are_different_children_that_parse(
    text: str, other: str, seed: int, python: bool, operator: str
) -> None:
    language = "python" if python and parses(text) else "c"
    program = Program.of({"p": text})
    asked = proposal(program, [Program.of({"p": other})], seed=seed)
    asked = replace(asked, operator=operator, second_parent=individual(Program.of({"p": other}), "cnd_mate"))
    try:
        answers, completed = ask(asked, language)
    except PolicyRefused:
        return
    found = [apply_answer(program, answer.text, answer.edits, language).program for answer in answers]
    assert len({child.id for child in found} | {program.id}) == len(found) + 1
    assert len(answers) + len(completed.dropped) * 8 >= 8
    assert language == "c" or all(parses(child.text) for child in found)
    assert ask(asked, language) == (answers, completed)


@settings(deadline=None)
@given(st.text(st.sampled_from("01.e-+x_ \n\"'`#/*()[],")))
def test_numerals_are_found_where_they_say_in_any_text(text: str) -> None:
    for numeral in numerals(text, "unknown"):
        assert text[numeral.start : numeral.end] == numeral.text
        assert not text[: numeral.start].endswith(("_", "x")) or text[numeral.start] == "."
