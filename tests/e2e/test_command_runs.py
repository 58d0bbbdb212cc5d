"""`evolve run` on a script or a command, in a real sandbox."""

import json
import os
from pathlib import Path

import pytest

from service.usecases import observe_command
from tests.command_line import Said, call_here
from tests.unit.problems.command.scripts import QUEENS

HIT = "def score():\n    x = 1.5\n    return -((x - 3) ** 2)\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evolve(home: Path, *words: str) -> Said:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return call_here(words, kept | {"HOME": str(home)})


def test_a_script_that_times_itself_is_understood_run_and_saved(home: Path) -> None:
    (home / "bench.py").write_text(QUEENS)
    said = evolve(home, "run", "bench.py", "--evaluations", "4", "--save", "saved", "--yes", "--json")
    assert said.code == 0, said.err
    assert "score: queens (label)" in said.err
    assert "lower is better" in said.err
    assert "permutations, queens" in said.err
    assert "must stay: 1 call of queens" in said.err
    assert "estimate: 4 evaluations" in said.err
    assert said.lines[-1]["evaluations"] == 4
    assert (home / "bench.py").read_text() == QUEENS

    seed = (home / "saved" / "bench.py").read_text()
    assert checked(home, "saved", seed)["outcome"] == "ok"
    for smaller in (
        seed.replace("tuple(range(count))", "tuple(range(count - 2))"),
        seed.replace("yield vector", "yield vector; return"),
        seed.replace("def queens(count):\n", "def queens(count):\n    count = 4\n"),
    ):
        assert smaller != seed
        assert checked(home, "saved", smaller)["outcome"] == "invalid"
    assert checked(home, "saved", seed.replace("SIZE = 6", "SIZE = 4"))["outcome"] == "invalid"


def checked(home: Path, folder: str, text: str) -> dict[str, str]:
    """The seed of a check of a saved problem whose seed has this text; the evaluator keeps the true one."""
    place = home / folder
    document, script = (place / "problem.toml").read_text(), "tried/bench.py"
    (place / "tried").mkdir(exist_ok=True)
    (place / script).write_text(text)
    assert 'seeds = ["bench.py"]' in document
    (place / "problem.toml").write_text(document.replace('seeds = ["bench.py"]', 'seeds = ["tried"]', 1))
    try:
        said = evolve(home, "problem", "check", folder, "--json")
        seed: dict[str, str] = json.loads(said.out)["seeds"][0]
        return seed
    finally:
        (place / "problem.toml").write_text(document)


def test_without_a_terminal_the_found_part_is_agreed_to_with_yes(home: Path) -> None:
    (home / "bench.py").write_text(QUEENS)
    said = evolve(home, "run", "bench.py", "--evaluations", "4")
    assert said.code == 2
    assert "agree with --yes" in said.err


def test_a_script_without_a_checkable_output_is_refused_unless_its_score_is_trusted(home: Path) -> None:
    (home / "guess.py").write_text("def guess():\n    x = 1.5\n    return x * x\n\n\nprint(guess())\n")
    said = evolve(home, "run", "guess.py", "--evaluations", "4", "--yes")
    assert said.code == 2
    assert "--trust-score" in said.err
    trusted = evolve(home, "run", "guess.py", "--evaluations", "4", "--yes", "--trust-score")
    assert trusted.code == 0, trusted.err


def test_a_command_on_sources_takes_the_files_that_it_names(home: Path) -> None:
    (home / "program.py").write_text(HIT)
    (home / "helper.py").write_text("def shown(value):\n    print(f'fit: {value}')\n")
    (home / "bench.py").write_text("import helper\nimport program\n\nhelper.shown(program.score())\n")
    words = ["--source", "program.py", "--command", "python bench.py | tail -1", "--metric", "fit"]
    said = evolve(home, "run", *words, "--maximize", "--evaluations", "30", "--json")
    assert said.code == 0, said.err
    assert "stays: bench.py, helper.py" in said.err
    assert said.lines[-1]["best"]["fitness"] > -2.25


@pytest.mark.parametrize(
    ("body", "words", "said"),
    [
        ("pass", [], "printed nothing on stdout"),
        ("print('nan')", [], "is nan"),
        ("print(1, 2)", [], "several numbers"),
        ("print('speed: 3')", ["--metric", "loss"], "no printed line reads"),
        ("import sys; sys.exit('the disk is full')", [], "ended with status 1: the disk is full"),
        ("import nowhere_to_be_found", [], "No module named 'nowhere_to_be_found'"),
        ("while True: pass", [], "timeout"),
    ],
)
def test_a_command_without_a_score_ends_with_one_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: list[str], said: str
) -> None:
    monkeypatch.setattr(observe_command, "FIRST_SECONDS", 3.0)
    (home / "program.py").write_text("x = 1.5\n")
    (home / "bench.py").write_text(f"{body}\n")
    ended = evolve(home, "run", "--source", "program.py", "--command", "python bench.py", *words)
    assert ended.code == 8, ended.err
    assert said in ended.err


def test_a_command_that_prints_100_mb_is_scored_by_its_last_line(home: Path) -> None:
    (home / "program.py").write_text("x = 1.5\n")
    (home / "bench.py").write_text("import program\nfor _ in range(100): print('y' * 1_000_000)\nprint(program.x)\n")
    said = evolve(
        home, "run", "--source", "program.py", "--command", "python bench.py", "--evaluations", "2", "--yes", "--json"
    )
    assert said.code == 0, said.err


def test_a_program_with_nothing_to_change_is_refused_before_the_run(home: Path) -> None:
    (home / "program.txt").write_text("hello\n")
    (home / "bench.py").write_text("print(len(open('program.txt').read()))\n")
    said = evolve(home, "run", "--source", "program.txt", "--command", "python bench.py")
    assert said.code == 2
    assert "finds nothing to change" in said.err
    assert "--policy URL --model NAME" in said.err


SHELL = """\
# EVOLVE-BLOCK-START
shift=7
# EVOLVE-BLOCK-END
echo "cubes $((1 + 8 + 27))"
echo "error: $((shift * shift))"
"""


def test_markers_name_the_mutable_lines_in_any_language(home: Path) -> None:
    (home / "bench.sh").write_text(SHELL)
    words = ("run", "--source", "bench.sh", "--command", "sh bench.sh", "--metric", "error", "--yes", "--json")
    said = evolve(home, *words, "--evaluations", "12")
    assert said.code == 0, said.err
    assert "may change: 1 line of bench.sh: between the markers" in said.err
    assert "must stay: 'cubes 36'" in said.err
    assert said.lines[-1]["best"]["fitness"] > -49
    (home / "bench.sh").write_text(SHELL.replace("# EVOLVE-BLOCK-START\n", ""))
    refused = evolve(home, *words)
    assert refused.code == 2
    assert "Put EVOLVE-BLOCK-START and EVOLVE-BLOCK-END in comments" in refused.err
