"""What the documentation prints of commands that come out the same everywhere, held to what they print."""

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command_line import call_here
from tests.e2e.evolving import Evolve

TOP = Path(__file__).parents[2]
BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ELISION = "…"
ADVICE = ("next: ", "time: ")  # goes to the other stream, and names the command as it was called
# What differs from one time to the next: how long something took, ids and when.
CHANGES = [
    (re.compile(r"\b\d+ m?s\b"), "TIME"),
    (re.compile(r"\b(run|cnd)_[0-9a-f-]+"), "ID"),
    (re.compile(r"  +"), "  "),
]


@dataclass(frozen=True)
class Printed:
    """A command of a page and what the page shows of its output."""

    page: str
    command: str
    lines: tuple[str, ...]

    @property
    def repeatable(self) -> bool:
        words = self.command.split()
        return words[:3] == ["evolve", "problem", "check"] or (
            words[:2] == ["evolve", "run"] and "--deterministic" in words
        )

    @property
    def compiles(self) -> bool:
        return self.page.endswith("other-languages.md")


def printed_by(page: Path) -> list[Printed]:
    found = []
    for _, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append(Printed(str(page.relative_to(TOP)), command, tuple(output.strip().split("\n"))))
    return found


PRINTED = [
    printed
    for page in sorted([TOP / "README.md", *(TOP / "docs").rglob("*.md")])
    for printed in printed_by(page)
    if printed.repeatable and not (printed.compiles and shutil.which("gcc") is None)
]


def normalised(line: str) -> str:
    for pattern, word in CHANGES:
        line = pattern.sub(word, line)
    return line.strip()


def is_shown_by(expected: tuple[str, ...], output: str) -> str:
    """The first line of a page that the output does not show where it should; empty: all do."""
    rest = [line for line in map(normalised, output.split("\n")) if line and not line.startswith(ADVICE)]
    anywhere = True
    for line in map(normalised, expected):
        if line.startswith(ADVICE):
            continue
        if line == ELISION:
            anywhere = True
        elif line:
            place = rest.index(line) if line in rest else -1
            if place < 0 or (place and not anywhere):
                return line
            rest, anywhere = rest[place + 1 :], False
    return ""


def lay_out(printed: Printed, home: Path, evolve: Evolve) -> None:
    """Make what a command is run on: the examples, what `init` makes, or the files that stand on the page."""
    if "examples/" in printed.command:
        (home / "examples").symlink_to(TOP / "examples")
    if "my_problem" in printed.command:
        assert call_here(["problem", "init", str(home / "my_problem")], evolve.environment).code == 0
    if printed.compiles:
        names = {"toml": "problem.toml", "c": "root.c", "python": "evaluator.py"}
        for kind, text in BLOCK.findall((TOP / printed.page).read_text(encoding="utf-8")):
            if kind in names and not (home / names[kind]).exists():
                (home / names[kind]).write_text(text)


def test_pages_print_commands_that_can_be_held_to_their_output() -> None:
    assert len(PRINTED) >= 6


@pytest.mark.parametrize("printed", PRINTED, ids=lambda printed: f"{Path(printed.page).stem}: {printed.command}")
def test_a_page_shows_what_a_command_prints(printed: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evolve = Evolve(tmp_path)
    lay_out(printed, tmp_path, evolve)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(printed.command.removesuffix("&"))[1:]
    said = call_here(words, evolve.environment | {"COLUMNS": "160"})
    assert said.code == 0, said.err
    missing = is_shown_by(printed.lines, said.err + said.out)
    assert not missing, f"{printed.page} shows {missing!r}, and the command printed:{os.linesep}{said.err}{said.out}"
