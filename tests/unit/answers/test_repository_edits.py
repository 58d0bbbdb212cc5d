"""Answers over a repository: files are edited, written, added and removed, and other paths are refused."""

import pytest

from evolve.answers.chain import ChainParser, parse_format
from evolve.answers.repository_edits import apply_repository_answer, replace_repository_files, repository_complaint
from evolve.errors import AnswerError
from evolve.program import Program
from evolve.repository import Repository, changed_files, removed_files

TEXTS = {
    "src/a.py": "A = 1\nB = 2\n",
    "src/b.py": "C = 3\n",
    "src/marked.py": "one = 1\n# EVOLVE-BLOCK-START\ntwo = 2\n# EVOLVE-BLOCK-END\n",
    "src/crlf.py": "A = 1\r\nB = 2\r\n",
    "bench.py": "X = 4\n",
}
BASE = Repository(
    commit="a" * 40,
    mutable=("src/**",),
    sizes={path: len(text) for path, text in TEXTS.items()} | {"src/blob.bin": 4},
    texts=TEXTS,
)


def edit(path: str, search: str, replacement: str) -> str:
    return f"FILE: {path}\n<<<<<<< SEARCH\n{search}\n=======\n{replacement}\n>>>>>>> REPLACE\n"


def applied(text: str, edits: str = "diff", parent: Program | None = None) -> Program:
    return apply_repository_answer(BASE, parent or BASE.seed(), text, edits, "python").program


def test_edits_change_a_file_of_the_commit() -> None:
    assert changed_files(applied(edit("src/a.py", "A = 1", "A = 9"))) == {"src/a.py": "A = 9\nB = 2\n"}


def test_a_whole_file_replaces_one_and_an_unknown_one_is_added() -> None:
    child = applied("FILE: src/a.py\n```python\nA = 5\n```\nFILE: src/new/c.py\n```python\nN = 1\n```\n", "rewrite")
    assert changed_files(child) == {"src/a.py": "A = 5\n", "src/new/c.py": "N = 1\n"}


def test_an_edit_with_an_empty_search_makes_a_new_file() -> None:
    assert changed_files(applied(edit("src/new.py", "", "N = 1"))) == {"src/new.py": "N = 1\n"}


def test_a_line_delete_removes_a_file_and_a_later_answer_brings_it_back() -> None:
    child = applied(edit("src/a.py", "A = 1", "A = 9") + "DELETE: src/b.py\n")
    assert removed_files(child) == ("src/b.py",)
    again = applied("FILE: src/b.py\n```\nC = 3\n```\n", "rewrite", child)
    assert removed_files(again) == ()
    assert changed_files(again) == {"src/a.py": "A = 9\nB = 2\n"}


def test_a_file_that_an_ancestor_added_is_removed_without_a_trace() -> None:
    child = applied("FILE: src/new.py\n```\nN = 1\n```\n", "rewrite")
    assert applied("FILE: src/a.py\n```\nA = 5\n```\nDELETE: src/new.py\n", "rewrite", child) == applied(
        "FILE: src/a.py\n```\nA = 5\n```\n", "rewrite"
    )


def test_headings_inside_of_fences_and_edits_are_text() -> None:
    text = 'FILE: src/a.py\n```python\nA = """\nDELETE: src/b.py\nFILE: bench.py\n"""\n```\n'
    child = applied(text, "rewrite")
    assert removed_files(child) == ()
    assert list(changed_files(child)) == ["src/a.py"]


def test_several_edits_of_a_file_follow_one_another() -> None:
    text = edit("src/a.py", "A = 1", "A = 9") + edit("src/b.py", "C = 3", "C = 4") + edit("src/a.py", "A = 9", "A = 10")
    assert changed_files(applied(text)) == {"src/a.py": "A = 10\nB = 2\n", "src/b.py": "C = 4\n"}


def test_an_edit_without_a_heading_must_fit_a_single_file() -> None:
    text = "<<<<<<< SEARCH\nC = 3\n=======\nC = 4\n>>>>>>> REPLACE\n"
    assert changed_files(applied(text)) == {"src/b.py": "C = 4\n"}
    with pytest.raises(AnswerError, match="is not in the program"):
        applied(text.replace("C = 3", "nowhere"))


def test_only_the_region_of_a_marked_file_changes() -> None:
    text = "FILE: src/marked.py\n```\none = 7\n# EVOLVE-BLOCK-START\ntwo = 8\n# EVOLVE-BLOCK-END\n```\n"
    assert changed_files(applied(text, "rewrite")) == {
        "src/marked.py": TEXTS["src/marked.py"].replace("two = 2", "two = 8")
    }
    with pytest.raises(AnswerError, match="changes nothing inside the EVOLVE-BLOCK regions"):
        applied(text.replace("two = 8", "two = 2"), "rewrite")


def test_line_ends_stay_as_they_were() -> None:
    assert changed_files(applied(edit("src/crlf.py", "A = 1", "A = 9"))) == {"src/crlf.py": "A = 9\r\nB = 2\r\n"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (edit("bench.py", "X = 4", "X = 0"), "bench.py may not change: the mutable paths are src/\\*\\*"),
        ("DELETE: bench.py\n", "bench.py may not change"),
        (edit("/etc/passwd", "x", "y"), "'/etc/passwd' is not a plain path"),
        (edit("src/../bench.py", "X = 4", "X = 0"), "is not a plain path"),
        ("FILE: src/.git/config\n```\nx\n```\n", "is inside of .git"),
        ("FILE: src/blob.bin\n```\nx\n```\n", "src/blob.bin is no text"),
        ("FILE: src/a.py/x.py\n```\nx = 1\n```\n", "src/a.py/x.py cannot exist beside src/a.py"),
        ("DELETE: src/none.py\n", "removes src/none.py, which the program does not have"),
        (
            "FILE: src/a.py\n```\nA = = 1\n```\n",
            "the program is not valid Python: invalid syntax in line 1 of src/a.py",
        ),
        ("FILE: src/a.py\n```\nA = 1\nB = 2\n```\n", "the answer equals its parent"),
        ("Here is what I would do.\n", "the answer names no file"),
    ],
)
def test_what_may_not_be_is_refused_in_a_sentence(text: str, reason: str) -> None:
    with pytest.raises(AnswerError, match=reason):
        applied(text)


def test_a_person_may_change_and_remove_the_same_paths_and_no_others() -> None:
    child = replace_repository_files(BASE, BASE.seed(), {"src/a.py": "A = 5\n"}, "python", ["src/b.py"])
    assert (changed_files(child), removed_files(child)) == ({"src/a.py": "A = 5\n"}, ("src/b.py",))
    with pytest.raises(AnswerError, match=r"bench\.py may not change"):
        replace_repository_files(BASE, BASE.seed(), {"bench.py": ""}, "python")


@pytest.mark.parametrize(
    ("changed", "removed", "complaint"),
    [
        ({}, [], ""),
        ({"src/a.py": "A = 2\n", "src/new.py": ""}, [], ""),
        ({"conftest.py": ""}, [], "conftest.py may not change"),
        ({}, ["bench.py"], "bench.py may not change"),
        ({"src/marked.py": TEXTS["src/marked.py"].replace("two = 2", "two = 3")}, [], ""),
        (
            {"src/marked.py": TEXTS["src/marked.py"].replace("one", "other")},
            [],
            "src/marked.py differs outside of its EVOLVE-BLOCK",
        ),
        ({"src/marked.py": "X = 2\n# EVOLVE-BLOCK-END\n"}, [], "src/marked.py"),
    ],
)
def test_a_program_of_any_origin_is_held_to_the_same_rules(
    changed: dict[str, str], removed: list[str], complaint: str
) -> None:
    program = BASE.program(changed, removed)
    found = repository_complaint(BASE, program, "python")
    assert found.startswith(complaint)
    assert bool(found) is bool(complaint)


@pytest.mark.parametrize("fence", ["```", "```diff", "~~~~"])
def test_an_answer_that_is_fenced_as_a_whole_is_read_as_it_is_inside(fence: str) -> None:
    inner = edit("src/a.py", "A = 1", "A = 7") + "DELETE: src/b.py\n"
    closed = fence.rstrip("dif")
    assert applied(f"{fence}\n{inner}{closed}\n") == applied(inner)
    with pytest.raises(AnswerError, match="names no file"):
        applied(f"{fence}\nA = 7\n{closed}\n", "rewrite")


def test_an_answer_that_only_removes_a_file_keeps_its_place_in_a_chain() -> None:
    parser = ChainParser(parse_format("tags:answer"), 2)
    reply = "<answer_1>\nDELETE: src/b.py\n</answer_1>\n<answer_2>\nFILE: src/a.py\nA = 5\n</answer_2>"
    assert [answer.text for answer in parser.feed(reply)] == ["DELETE: src/b.py", "FILE: src/a.py\nA = 5"]
