"""Repositories: which paths may change, and programs as changes of a commit."""

import pytest

from evolve.errors import ProblemError, ProgramError
from evolve.program import Program
from evolve.repository import MANIFEST, Repository, base_commit, changed_files, matches_any, removed_files

COMMIT = "a" * 40


def repository(**options: object) -> Repository:
    texts = {"src/a.py": "A = 1\n", "src/deep/b.py": "B = 2\n", "src/test_a.py": "T = 3\n", "bench.py": "X = 4\n"}
    given = {"mutable": ("src/**/*.py",), "immutable": ("src/test_*.py",), "texts": texts, **options}
    sizes = {path: len(text) for path, text in texts.items()} | {"data/large.bin": 10_000}
    return Repository(commit=COMMIT, sizes=sizes, **given)  # type: ignore[arg-type] # options of any field


@pytest.mark.parametrize(
    ("pattern", "path", "matched"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/deep/er/a.py", True),
        ("src/**/*.py", "source/a.py", False),
        ("src", "src/any/file", True),
        ("src/", "src/any/file", True),
        ("src", "src2/file", False),
        ("src/**", "src/any/file", True),
        ("src/?.py", "src/a.py", True),
        ("src/?.py", "src/ab.py", False),
        ("a.py", "axpy", False),
    ],
)
def test_patterns_stay_within_folders_unless_they_say_otherwise(pattern: str, path: str, matched: bool) -> None:
    assert matches_any([pattern], path) is matched


@pytest.mark.parametrize("pattern", ["", "/etc", "../x", "a/../b", "./a", "a//b", "x" * 201])
def test_patterns_outside_of_the_repository_are_refused(pattern: str) -> None:
    with pytest.raises(ProblemError, match="pattern of paths"):
        repository(mutable=(pattern,))


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("src/new.py", ""),
        ("src/a.py", ""),
        ("bench.py", "bench.py may not change: the mutable paths are src/**/*.py"),
        ("src/test_new.py", "src/test_new.py may not change: it is one of the immutable paths src/test_*.py"),
        ("/src/a.py", "'/src/a.py' is not a plain path inside the repository"),
        ("src/../bench.py", "'src/../bench.py' is not a plain path inside the repository"),
        ("src/.git/hook.py", "src/.git/hook.py is inside of .git, which is closed"),
        ("src/.GIT/hook.py", "src/.GIT/hook.py is inside of .GIT, which is closed"),
        ("src/a\nremoved bench.py", r"'src/a\nremoved bench.py' is not a plain path inside the repository"),
        ("src/\x1b[2Ja.py", r"'src/\x1b[2Ja.py' is not a plain path inside the repository"),
    ],
)
def test_only_mutable_paths_may_change(path: str, complaint: str) -> None:
    assert repository().complaint(path) == complaint


def test_a_program_holds_its_changes_and_nothing_else() -> None:
    base = repository()
    program = base.program({"src/a.py": "A = 9\n", "src/deep/b.py": "B = 2\n"}, ["src/test_a.py", "src/none.py"])
    assert changed_files(program) == {"src/a.py": "A = 9\n"}
    assert removed_files(program) == ("src/test_a.py",)
    assert base_commit(dict(program.files)) == COMMIT
    assert base.text(program, "src/a.py") == "A = 9\n"
    assert base.text(program, "src/deep/b.py") == "B = 2\n"
    assert base.text(program, "src/test_a.py") is None
    assert "data/large.bin" in base.paths(program)
    assert "src/test_a.py" not in base.paths(program)


def test_equal_changes_are_the_same_program_whatever_the_way_to_them() -> None:
    base = repository()
    assert base.program({"src/a.py": "A = 1\n"}, ()) == base.seed()
    assert base.program({"src/a.py": "A = 9\n"}, ["src/a.py"]) == base.program({"src/a.py": "A = 9\n"}, ())


def test_sides_show_files_that_only_one_of_two_programs_changes() -> None:
    base = repository()
    before = base.program({"src/a.py": "A = 9\n"}, ())
    after = base.program({"src/new.py": "N = 1\n"}, ["src/deep/b.py"])
    old, new = base.sides(before, after)
    assert old == [("src/a.py", "A = 9\n"), ("src/deep/b.py", "B = 2\n")]
    assert new == [("src/a.py", "A = 1\n"), ("src/new.py", "N = 1\n")]


def test_a_view_has_changed_files_first_and_no_more_than_its_room() -> None:
    base = repository(focus=("bench.py", "src/deep/b.py"))
    program = base.program({"src/new.py": "N = 1\n"}, ["src/a.py"])
    assert list(base.view(program, 1000)) == ["src/new.py", "src/deep/b.py"]
    assert list(base.view(program, 7)) == ["src/new.py"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"bench.py": "X = 0\n"}, "bench.py may not change"),
        ({"src/a.py/inner.py": ""}, "cannot exist beside src/a.py"),
        ({"src/deep": ""}, "src/deep may not change"),
    ],
)
def test_a_program_that_breaks_the_rules_is_refused(files: dict[str, str], reason: str) -> None:
    base = repository()
    with pytest.raises(ProgramError, match=reason):
        base.require_program(base.program(files, ()))


def test_a_program_of_another_commit_is_refused() -> None:
    other = Program.of({MANIFEST: f"commit {'b' * 40}\n"})
    with pytest.raises(ProgramError, match="does not lie over the commit aaaaaaaaaaaa"):
        repository().require_program(other)
