"""Replies written for a model to learn: a run reads the programs out of them that were put in."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from evolve.answers.chain import parse_format
from evolve.program import Program
from evolve.repository import Repository
from training.reply_writer import reads_back, write_reply

TEXT = "def f(x):\n    a = 1\n    b = 1\n    return a + b\n\n\ndef g(x):\n    a = 1\n    return a\n"
PARENT = Program.of({"p.py": TEXT})
CHILDREN = [
    Program.of({"p.py": TEXT.replace("b = 1", "b = 2")}),
    Program.of({"p.py": TEXT.replace("    a = 1\n    return a\n", "    a = 3\n    return a\n")}),
    Program.of({"p.py": TEXT.replace("return a + b", "return a * b").replace("def g", "\ndef h")}),
    Program.of({"p.py": TEXT + "\n\nx = '```'\n"}),
]


@pytest.mark.parametrize("edits", ["rewrite", "diff"])
@pytest.mark.parametrize("form", ["tags:answer", "tags:route", "fences"])
@pytest.mark.parametrize("m", [1, 2, 4])
def test_a_run_reads_the_programs_that_a_reply_was_written_of(form: str, edits: str, m: int) -> None:
    said = (parse_format(form), edits, "python", PARENT, CHILDREN[:m])
    assert reads_back(write_reply(*said), *said)


@pytest.mark.parametrize("edits", ["rewrite", "diff"])
def test_a_single_answer_is_the_whole_completion(edits: str) -> None:
    said = (parse_format("single"), edits, "python", PARENT, CHILDREN[:1])
    assert reads_back(write_reply(*said), *said)


@pytest.mark.parametrize("edits", ["rewrite", "diff"])
def test_of_several_files_those_that_changed_are_written_under_their_paths(edits: str) -> None:
    parent = Program.of({"a.py": "x = 1\n", "b.py": "y = 1\nz = 1\n"})
    child = Program.of({"a.py": "x = 1\n", "b.py": "y = 2\nz = 1\n"})
    said = (parse_format("tags:answer"), edits, "python", parent, [child])
    reply = write_reply(*said)
    assert "FILE: b.py" in reply
    assert "a.py" not in reply
    assert reads_back(reply, *said)


def test_an_edit_repeats_no_more_of_the_parent_than_finds_its_place() -> None:
    reply = write_reply(parse_format("single"), "diff", "python", PARENT, CHILDREN[:1])
    assert reply == "<<<<<<< SEARCH\n    b = 1\n=======\n    b = 2\n>>>>>>> REPLACE"


def test_control_tokens_of_a_program_do_not_end_a_reply() -> None:
    child = Program.of({"p.py": "mark = '<|im_end|>'\n"})
    said = (parse_format("tags:answer"), "rewrite", "python", PARENT, [child])
    assert "<|im_end|>" not in write_reply(*said)
    assert reads_back(write_reply(*said), *said)


def test_a_program_that_looks_like_the_format_is_not_read_back() -> None:
    child = Program.of({"p.py": "a = '''\n</answer_1>\n'''\n"})
    said = (parse_format("tags:answer"), "rewrite", "python", PARENT, [child])
    assert not reads_back(write_reply(*said), *said)


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  d"]), min_size=1, max_size=8)


@example(["a", "c", "b"], ["b", "c"])  # the first edit makes a second place for the next
@example(["a", "b", "", "b"], ["b", "c"])  # an edit begins with a blank line, and stands twice without it
@given(LINES, LINES)
def test_edits_between_any_two_texts_are_read_back(old: list[str], new: list[str]) -> None:
    parent, child = (Program.of({"t.txt": "\n".join(["begin", *lines, "end"]) + "\n"}) for lines in (old, new))
    assume([line for line in old if line] != [line for line in new if line])  # blank lines are no difference
    said = (parse_format("tags:answer"), "diff", "text", parent, [child])
    assert reads_back(write_reply(*said), *said)


BASE = Repository(
    commit="a" * 40,
    mutable=("lib/**",),
    sizes={"lib/a.py": 12, "lib/b.py": 6, "lib/old.py": 2, "bench.py": 1},
    texts={"lib/a.py": "a = 1\nb = 1\n", "lib/b.py": "c = 1\n", "lib/old.py": "d = 1\n"},
)
OVER_BASE = BASE.program({"lib/b.py": "c = 2\n"}, ())
VARIANTS = [
    BASE.program({"lib/b.py": "c = 2\n", "lib/a.py": "a = 1\nb = 5\n"}, ()),
    BASE.program({"lib/b.py": "c = 2\n", "lib/new.py": "e = 1\nf = 2\n"}, ()),
    BASE.program({"lib/b.py": "c = 2\n"}, ["lib/old.py"]),
    BASE.program({"lib/a.py": "a = 3\nb = 1\n"}, ["lib/old.py"]),  # takes back what its parent changed
]


@pytest.mark.parametrize("edits", ["rewrite", "diff"])
@pytest.mark.parametrize(("form", "m"), [("tags:answer", 4), ("fences", 1), ("single", 1)])
def test_changes_over_a_repository_are_read_back(form: str, edits: str, m: int) -> None:
    for first in range(0, len(VARIANTS), m):
        said = (parse_format(form), edits, "python", OVER_BASE, VARIANTS[first : first + m], BASE)
        reply = write_reply(*said)
        assert ".evolve" not in reply
        assert reads_back(reply, *said), reply
