import time

import pytest

from evolve.answers.patch import MAX_BLOCKS, patch
from evolve.errors import AnswerError

SOURCE = (
    "class A:\n    def f(self):\n        x = 1\n        return x\n\n"
    "    def g(self):\n        y = 2  \n        return y\n"
)


def block(search: str, replacement: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replacement}\n>>>>>>> REPLACE\n"


def patched(text: str, source: str = SOURCE) -> str:
    return patch({"f": source}, text)["f"]


def test_lines_that_fit_exactly_are_replaced() -> None:
    assert patched(block("        x = 1", "        x = 5")) == SOURCE.replace("x = 1", "x = 5")


def test_several_blocks_are_applied_one_after_the_other() -> None:
    text = (
        "Two edits:\n```\n"
        + block("        x = 1", "        x = 5")
        + "```\nand\n"
        + block("        x = 5", "        x = 6")
    )
    assert patched(text) == SOURCE.replace("x = 1", "x = 6")


def test_a_replacement_may_be_empty_and_may_hold_a_divider() -> None:
    assert patched("<<<<<<< SEARCH\n        x = 1\n=======\n>>>>>>> REPLACE") == SOURCE.replace("        x = 1\n", "")
    assert patched(block("        x = 1", "=======")) == SOURCE.replace("        x = 1", "=======")


def test_whole_lines_are_matched_never_parts() -> None:
    with pytest.raises(AnswerError, match="'x =' is not in the program"):
        patched(block("x =", "z ="))


def test_several_exact_places_mean_the_first() -> None:
    assert patched(block("a", "b"), "a\nc\na\n") == "b\nc\na\n"


def test_white_space_at_line_ends_and_blank_lines_around_do_not_matter() -> None:
    assert patched(block("\n        y = 2\n        return y   \n", "        return 2")) == SOURCE.replace(
        "        y = 2  \n        return y", "        return 2"
    )


def test_a_uniform_indentation_is_carried_over() -> None:
    less = block("def f(self):\n    x = 1", "def f(self):\n\n    x = 5\n    z = 0")
    more = block("            x = 1\n            return x", "            return 5")
    assert patched(less) == SOURCE.replace("        x = 1", "\n        x = 5\n        z = 0")
    assert patched(more) == SOURCE.replace("        x = 1\n        return x", "        return 5")


def test_an_indentation_that_is_not_uniform_does_not_fit() -> None:
    with pytest.raises(AnswerError, match="is not in the program"):
        patched(block("def f(self):\nx = 1", "pass"))


@pytest.mark.parametrize("source", ["  a\nb\n  a\n", "a  \nb\na \n"])
def test_several_inexact_places_are_refused(source: str) -> None:
    with pytest.raises(AnswerError, match="fits several places"):
        patched(block(" a" if source[0] == " " else "a", "c"), source)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nothing", "no SEARCH/REPLACE block"),
        (block("", "x"), "is empty"),
        (block(" \n\t", "x"), "is empty"),
        ("<<<<<<< SEARCH\nx\n=======\ny\n", "not closed"),
        ("<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n", "no ======="),
        (block("no\nsuch", "x"), "starting with 'no' is not in the program"),
        (block("n" * 500, "x"), r"'n{77}\.\.\.' is not in"),
        ("FILE: g\n" + block("class A:", "class B:"), "edits g, which the program does not have"),
    ],
)
def test_broken_blocks_are_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(AnswerError, match=reason):
        patched(text)


def test_too_many_blocks_are_refused() -> None:
    with pytest.raises(AnswerError, match=f"more than {MAX_BLOCKS}"):
        patched(block("class A:", "class A:") * (MAX_BLOCKS + 1))


def test_a_block_finds_its_file() -> None:
    files = {"a": "x = 1\ny = 1\n", "b": "x = 1\nz = 1\n"}
    assert patch(files, block("z = 1", "z = 2")) == {"a": files["a"], "b": "x = 1\nz = 2\n"}
    assert patch(files, "FILE: b\n" + block("x = 1", "x = 2")) == {"a": files["a"], "b": "x = 2\nz = 1\n"}
    with pytest.raises(AnswerError, match="fits several files"):
        patch(files, block("x = 1", "x = 2"))


def test_repetitive_text_is_searched_in_linear_time() -> None:
    started = time.process_time()
    with pytest.raises(AnswerError):
        patched(block("a\n" * 20_000 + "b", "c"), "a\n" * 50_000)
    with pytest.raises(AnswerError):
        patched(block(" a\n" * 20_000, "c"), "a\n" * 50_000)
    assert time.process_time() - started < 5.0


def test_a_block_that_is_not_closed_does_not_swallow_the_next() -> None:
    text = "<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n"
    with pytest.raises(AnswerError, match="not closed by >>>>>>> REPLACE before the next one begins"):
        patch({"f.c": "a\nc\n"}, text)
