import time

import pytest

from evolve.program import Program
from evolve.similarity.fingerprint import fingerprint

SOURCE = '''"""A module."""
import math


class Circle:
    """A circle."""

    def __init__(self, r: float = 1.0) -> None:
        """Make it."""
        self.r = r  # the radius

    async def area(self, *, scale=1):
        return scale * math.pi * self.r ** 2 if self.r > 0x10 else f"{self.r!r:>{scale}}"
'''


def of(text: str, language: str = "python", path: str = "main.py") -> str:
    return fingerprint(Program.of({path: text}), language)


def test_a_fingerprint_is_32_hex_digits() -> None:
    digits = of(SOURCE)
    assert len(digits) == 32
    assert int(digits, 16) >= 0


# Written by Python 3.11.7, 3.12.1, 3.13.0 and 3.14.8 alike. Each has its own trees for type parameters and f-strings,
# and its own tables of what is printable.
EVERY_PYTHON = "67043ff50bf0d33edc61d48853ba2929"
TEXT = r"""import math


class Shape:
    sides: int = 4

    async def area(self, *, scale=1, **more):
        return f"{self.sides!r:>{scale}}" f'{scale:}' f"{scale=}" + "\u0c5d\U0001f6dc \x85"


def total(values):
    return [f"{value}" for value in values if (n := len(values)) > 0x10 and n]
"""


def test_a_fingerprint_is_the_same_under_every_version_of_python() -> None:
    assert of(TEXT) == EVERY_PYTHON


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # the radius", ""),
        ("import math\n", "\n\nimport math # mathematics\n"),
        ('"""A circle."""', '"""A round thing."""'),
        ('"""A module."""\n', ""),
        ('        """Make it."""\n', ""),
        ("0x10", "16"),
        ("scale * math.pi * self.r ** 2", "(scale*math.pi)*self.r**2"),
        ("\n", "\r\n"),
        ("    ", "  "),
    ],
)
def test_what_does_not_matter_in_python_is_ignored(old: str, new: str) -> None:
    assert SOURCE.replace(old, new) != SOURCE
    assert of(SOURCE.replace(old, new)) == of(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.0", "1"),
        ("scale=1", "scale=True"),
        ("scale=1", "scale=-1"),
        ("self.r > ", "self.r >= "),
        ("async def", "def"),
        ("!r", "!s"),
        ("math.pi", "math.tau"),
        ("Circle", "Disc"),
        ("*, scale", "scale"),
    ],
)
def test_what_matters_in_python_is_told_apart(old: str, new: str) -> None:
    assert SOURCE.replace(old, new) != SOURCE
    assert of(SOURCE.replace(old, new)) != of(SOURCE)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("f([a], b)", "f([a, b])"),
        ("x = 'a'", "x = b'a'"),
        ("x = 'a', 'b'", "x = 'a', 'b', None"),
        ("def f():\n  return\n  'text'", "def f():\n  return"),
        ("if a:\n  b()\nc()", "if a:\n  b()\n  c()"),
        ("x = 0.0", "x = -0.0"),
        ("x = '\\x1f'", "x = '\\\\x1f'"),
    ],
)
def test_trees_of_another_shape_are_told_apart(a: str, b: str) -> None:
    assert of(a) != of(b)


def test_other_languages_are_compared_by_tokens() -> None:
    source = 'int main() {\n  printf("a  b");\n  return a+b;\n}\n'
    assert of(source, "c") == of(source.replace("  return", "\n\treturn ").replace("main()", "main ()"), "c")
    assert of(source, "c") == of(source.replace("  return a+b", "        return a  +  b"), "c")
    assert of(source, "c") != of(source.replace("a  b", "a b"), "c")
    assert of(source, "c") != of(source.replace("a+b", "a-b"), "c")


def test_indentation_is_kept_where_it_may_matter() -> None:
    assert of("a:\n  b: 1\n  c: 2\n", "yaml") != of("a:\n  b: 1\nc: 2\n", "yaml")
    assert of("a:\n  b: 1\n", "yaml") == of("a:\n\n  b:   1  \n", "yaml")


def test_python_that_does_not_parse_is_compared_by_tokens() -> None:
    assert of("x = = 1") == of("x  =  =  1 ")
    assert of("x = = 1") != of("x = = 2")


def test_files_and_their_names_count() -> None:
    two = Program.of({"a.py": "x = 1", "b.py": "y = 1"})
    assert fingerprint(two, "python") == fingerprint(Program.of({"a.py": "x=1 # x", "b.py": "y = 1"}), "python")
    assert fingerprint(two, "python") != fingerprint(Program.of({"a.py": "x = 1", "c.py": "y = 1"}), "python")
    assert fingerprint(two, "python") != fingerprint(Program.of({"a.py": "y = 1", "b.py": "x = 1"}), "python")


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 5000 + ")" * 5000,
        "x = " + "-" * 50_000 + "1",
        "x = 1" + " + 1" * 20_000,
        "x = a" + ".a" * 20_000,
        "x = 0x" + "f" * 50_000,
        "x = 1" + "0" * 50_000,
        'x = """' + "\\" * 9,
    ],
)
def test_hostile_texts_have_a_fingerprint(text: str) -> None:
    assert of(text) == of(text)
    assert of(text) != of(text.replace("x =", "y ="))


def test_a_line_of_open_strings_takes_linear_time() -> None:
    started = time.process_time()
    of('\\"' * 50_000, "c")
    of("'\\" * 50_000, "c")
    assert time.process_time() - started < 3.0
