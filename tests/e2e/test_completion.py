"""Completion of words in a shell: by a real bash, and by what zsh and fish ask for."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.command_line import EVOLVE, call_here
from tests.patience import PATIENCE_SECONDS

ENVIRONMENT = {"PATH": f"{Path(EVOLVE).parent}:{os.environ['PATH']}", "HOME": "/nonexistent"}
SCRIPT = """
eval "$(evolve completion bash)"
complete -p evolve >&2
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_evolve_completion evolve
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("evolve ru", {"run", "runs", "runner"}),
        ("evolve runs --la", {"--label"}),
        ("evolve problem ch", {"check"}),
        ("evolve completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes_commands_options_and_choices(words: str, expected: set[str]) -> None:
    words = words if not words.endswith(" ") else words + "''"
    said = subprocess.run(
        ["bash", "--norc", "-c", SCRIPT.format(words=words)],
        capture_output=True, text=True, env=ENVIRONMENT, timeout=PATIENCE_SECONDS, check=True,
    )  # fmt: skip
    assert "_evolve_completion evolve" in said.stderr
    assert set(said.stdout.split()) == expected


@pytest.mark.parametrize(("shell", "begins"), [("zsh", "#compdef evolve"), ("fish", "complete --command evolve")])
def test_other_shells_have_a_script_and_are_answered(shell: str, begins: str) -> None:
    assert call_here(["completion", shell], ENVIRONMENT).out.startswith(begins)
    asked = {"_EVOLVE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "evolve ru"}
    asked |= {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    said = call_here([], ENVIRONMENT | asked)
    assert (said.code, "runner" in said.out, "export" in said.out) == (0, True, False)


def test_another_shell_is_refused_in_one_sentence() -> None:
    said = call_here(["completion", "cmd"], ENVIRONMENT)
    assert (said.code, said.out, len(said.err.splitlines())) == (2, "", 1)
