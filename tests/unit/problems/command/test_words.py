"""The words of a command."""

import pytest

from service.errors import UsageError
from service.problems.command.command_scorer.process import run, with_python
from service.problems.command.words import read_command, script_arguments


def test_a_plain_command_starts_the_interpreter_without_a_shell() -> None:
    words = read_command("python bench.py --size '3 4'")
    assert words.argv == ("{python}", "bench.py", "--size", "3 4")
    assert script_arguments(words.argv, "bench.py") == ("--size", "3 4")


def test_a_pipe_goes_to_a_shell_that_fails_as_a_whole() -> None:
    words = read_command("python bench.py | tail -1")
    assert words.argv == ("bash", "-o", "pipefail", "-c", "{python} bench.py | tail -1")
    assert "bench.py" in words.tokens


@pytest.mark.parametrize("text", ["", "  ", "echo 'open"])
def test_words_that_are_no_command_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_command(text)


def test_the_interpreter_is_put_in_anywhere_and_quoted_for_a_shell() -> None:
    assert with_python(["sh", "-c", "{python} a.py"], "/a b/python") == ["sh", "-c", "'/a b/python' a.py"]
    assert with_python(["{python}", "a.py"], "/a b/python") == ["/a b/python", "a.py"]


def test_a_pipe_whose_first_part_fails_fails() -> None:
    argv = read_command("(echo broken >&2; exit 3) | cat").argv
    done = run(argv, "/")
    assert (done.status, done.err) == (3, "broken\n")


def test_of_much_output_the_end_is_kept() -> None:
    done = run(["{python}", "-c", "print('x' * 5_000_000); print(7)"], "/")
    assert len(done.out) <= 1_000_000
    assert done.out.endswith("x\n7\n")
