import ast
import contextlib
import time
import weakref

import pytest

from evolve.answers.edit import apply_answer
from evolve.answers.python_source import is_python, parse_python
from evolve.errors import AnswerError
from evolve.program import Program

PARENT = Program.of({"main.py": "import math\n\n\ndef area(r):\n    return 3 * r * r\n"})
BETTER = "import math\n\n\ndef area(r):\n    return math.pi * r * r\n"
FOLDER = Program.of({"main.py": "import part\n", "lib/part.py": "x = 1\n", "data.txt": "3\n"})


def rewrite(text: str, parent: Program = PARENT, language: str = "python") -> Program:
    return apply_answer(parent, text, "rewrite", language).program


def diff(text: str, parent: Program = PARENT, language: str = "python") -> Program:
    return apply_answer(parent, text, "diff", language).program


def block(search: str, replacement: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replacement}\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    "answer",
    [
        BETTER,
        f"```python\n{BETTER}```",
        f"~~~\n{BETTER}\n~~~",
        f"Here it is:\n```python\n{BETTER}```\nEnjoy!",
        f"First `x`:\n```\nimport math\n```\nall of it:\n```python\n{BETTER}```",
        f"```python\n{BETTER}",
        f"FILE: main.py\n{BETTER}",
        f"**FILE: ./main.py**\n\n```python\n{BETTER}```",
        f"Sure.\n\n### FILE: `main.py`\n```python\n{BETTER}```",
        BETTER.replace("\n", "\r\n"),
        BETTER.replace("\n", "\r"),
    ],
)
def test_a_rewrite_is_found_as_models_write_it(answer: str) -> None:
    assert rewrite(answer) == Program.of({"main.py": BETTER})


def test_fences_in_a_docstring_are_no_fence_around_the_program() -> None:
    text = f'"""Use:\n```\nmain.area(1)\n```\n"""\n{BETTER}'
    assert rewrite(text).text == text
    assert rewrite(f"````\n{text}````").text == text


def test_text_problems_take_text_as_it_is() -> None:
    parent = Program.of({"prompt.md": "Be brief.\n"})
    text = "You are helpful. Answer so:\n```\nyes\n```\nor not.\n"
    assert rewrite(text, parent, "markdown").text == text
    assert rewrite("```markdown\nThink first.\n```\n", parent, "markdown").text == "Think first.\n"


@pytest.mark.parametrize("language", ["python", "cpp", "rust"])
@pytest.mark.parametrize("answer", ["I am sorry, but I cannot do that.", "This is fine.\nIt needs no change at all.\n"])
def test_prose_is_no_program(answer: str, language: str) -> None:
    with pytest.raises(AnswerError, match="prose"):
        rewrite(answer, Program.of({"main": "int main() { return 0; }\n"}), language)


@pytest.mark.parametrize("answer", ["Sorry", "None", "42", '"a text"'])
def test_words_that_parse_as_python_are_no_program(answer: str) -> None:
    with pytest.raises(AnswerError, match="prose"):
        rewrite(answer)


@pytest.mark.parametrize("answer", ["", " \n", "FILE: main.py\n"])
def test_an_answer_without_text_is_refused(answer: str) -> None:
    with pytest.raises(AnswerError, match="no program text"):
        rewrite(answer)


def test_code_of_other_languages_needs_no_fence() -> None:
    parent = Program.of({"main.c": "int main(void) { return 0; }\n"})
    assert rewrite("int main(void) { return 1; }", parent, "c").text == "int main(void) { return 1; }\n"


@pytest.mark.parametrize(
    "answer", [PARENT.text, PARENT.text.rstrip(), f"```\n{PARENT.text}\n\n```", PARENT.text.replace("\n", "\r\n")]
)
def test_an_answer_that_equals_its_parent_is_refused(answer: str) -> None:
    with pytest.raises(AnswerError, match="equals its parent"):
        rewrite(answer)


def test_python_that_does_not_parse_is_refused_with_its_line() -> None:
    with pytest.raises(AnswerError, match=r"not valid Python: .* in line 2"):
        rewrite("```\nx = 1\ny = = 2\n```")


@pytest.mark.parametrize(
    "bomb",
    ["(" * 5000 + ")" * 5000, "-" * 100_000 + "1", "x = " + "[" * 150 + "]" * 150, "a" + ".a" * 20_000, "x = 1\x0c\0"],
)
def test_hostile_python_ends_in_a_program_or_a_reason(bomb: str) -> None:
    child = PARENT
    with contextlib.suppress(AnswerError):
        child = rewrite(f"```\n{bomb}\n```")
    assert child == PARENT or bomb in child.text


def test_an_invalid_escape_gives_no_warning() -> None:
    assert rewrite("x = '\\d'\n").text == "x = '\\d'\n"
    assert len(parse_python("x = 1 is 1\n").body) == 1


def test_edits_where_a_program_was_asked_for_are_read_as_edits() -> None:
    assert rewrite(block("import math", "import cmath")).text == PARENT.text.replace("import math", "import cmath")


def test_the_line_endings_of_the_parent_are_kept() -> None:
    parent = Program.of({"main.py": "a = 1\r\nb = 2\r\n"})
    assert rewrite("a = 1\nb = 3", parent).text == "a = 1\r\nb = 3\r\n"
    assert diff(block("b = 2", "b = 3"), parent).text == "a = 1\r\nb = 3\r\n"


def test_files_that_an_answer_does_not_name_stay() -> None:
    child = rewrite("FILE: lib/part.py\n```python\nx = 2\n```\nand\nFILE: new.py\ny = 3\n", FOLDER)
    assert dict(child.files) == {**dict(FOLDER.files), "lib/part.py": "x = 2\n", "new.py": "y = 3\n"}


def test_headings_inside_a_fence_are_text() -> None:
    child = rewrite('FILE: main.py\n```\nt = """\nFILE: no.py\n"""\n```', FOLDER)
    assert [path for path, _ in child.files] == [path for path, _ in FOLDER.files]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("x = 2\n", "names no file"),
        ("FILE: ../x.py\nx = 2\n", "not a plain relative path"),
        ("FILE: /etc/x\nx = 2\n", "not a plain relative path"),
        ("FILE: lib\nx = 2\n", "cannot exist beside"),
        ("FILE: main.py/x.py\nx = 2\n", "cannot exist beside"),
        ("FILE: lib/part.py\nx = = 2\nx = 3\n", "not valid Python: .* in line 1 of lib/part.py"),
        ("FILE: main.py\nx = '\0'\n", "NUL|null"),
        ("FILE: main.py\nx = '\ud800'\n", "UTF-8|surrogate"),
    ],
)
def test_answers_that_make_no_folder_are_refused(answer: str, reason: str) -> None:
    with pytest.raises(AnswerError, match=reason):
        rewrite(answer, FOLDER)


def test_a_program_of_one_file_stays_one_file() -> None:
    with pytest.raises(AnswerError, match=r"writes other\.py, but the program is the one file main\.py"):
        rewrite("FILE: other.py\nx = 1\n")
    with pytest.raises(AnswerError, match=r"writes other\.py"):
        rewrite(f"FILE: main.py\n```\n{BETTER}```\nFILE: other.py\n```\nx = 1\n```")


def test_only_python_files_of_python_problems_are_checked() -> None:
    assert is_python("main", PARENT, "Python")
    assert not is_python("data.txt", FOLDER, "python")
    assert not is_python("main.py", PARENT, "cpp")
    assert dict(rewrite("FILE: data.txt\n= 4 =\n", FOLDER).files)["data.txt"] == "= 4 =\n"


def test_changes_outside_the_regions_are_undone_and_alone_refused() -> None:
    text = "import math\n# EVOLVE-BLOCK-START\nx = 1\n# EVOLVE-BLOCK-END\n"
    parent = Program.of({"main.py": text})
    changed = text.replace("math", "cmath")
    assert rewrite(changed.replace("1", "2"), parent).text == text.replace("1", "2")
    for answer, edits in ((changed, "rewrite"), (block("import math", "import cmath"), "diff")):
        with pytest.raises(AnswerError, match="nothing inside the EVOLVE-BLOCK regions"):
            apply_answer(parent, answer, edits, "python")


def test_a_long_answer_takes_linear_time() -> None:
    started = time.process_time()
    for unit in ("FILE: x      ", "`" * 7, "x = 1\n", "~~~\n", "``` a\n", "# "):
        with contextlib.suppress(AnswerError):
            rewrite(unit * (100_000 // len(unit)), FOLDER)
    assert time.process_time() - started < 5.0


def test_the_tree_of_the_last_text_is_kept_and_no_other() -> None:
    first = parse_python("x = 1\n")
    assert parse_python("x = 1\n") is first
    dropped = weakref.ref(first)
    del first
    parse_python("x = 2\n")
    assert dropped() is None
    assert ast.dump(parse_python("x = 1\n")) == ast.dump(ast.parse("x = 1\n"))
