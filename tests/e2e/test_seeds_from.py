"""`evolve run --seeds-from`: from checkpoints of other projects, and from an earlier run."""

import os
from pathlib import Path

import pytest

from tests.command_line import Said, call_here
from tests.unit.problems.checkpoints import code, openevolve, shinka
from tests.unit.problems.folders import write

EVALUATOR = """
import runpy
def evaluate(program_path):
    return {"combined_score": -abs(runpy.run_path(program_path)["solve"]() - 42) / 10}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {"initial_program.py": code(0), "evaluator.py": EVALUATOR, "config.yaml": "max_iterations: 9\n"}
    write(tmp_path / "p", {**files})
    return tmp_path


def evolve(home: Path, *words: str) -> Said:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return call_here(("--local", *words), kept | {"HOME": str(home)})


def seeds(home: Path) -> list[dict[str, object]]:
    said = evolve(home, "candidates", "last", "--all", "--json")
    return [one for one in said.lines if one["proposal_number"] == 0]


def test_a_checkpoint_of_openevolve_is_scored_again_with_its_lineage(home: Path) -> None:
    line = [
        {
            "id": f"p{n}",
            "code": code(n),
            "parent_id": f"p{n - 1}",
            "generation": n,
            "metrics": {"combined_score": 100 - n},
        }
        for n in range(1, 5)
    ]
    openevolve(home / "openevolve_output" / "checkpoints" / "checkpoint_5", line)
    words = (
        "run",
        "p",
        "--policy",
        "syntax",
        "--seed",
        "1",
        "--seeds-from",
        "openevolve_output:2",
        "--evaluations",
        "6",
    )
    said = evolve(home, *words)
    assert said.code == 0, said.err
    assert "further seeds: 2 of the 4 programs of the checkpoint checkpoint_5" in said.err
    own, one, two = seeds(home)
    assert [round(float(str(seed["fitness"])), 6) for seed in (own, one, two)] == [-4.2, -4.1, -4.0]
    assert (own["parents"], one["parents"]) == ([], [])
    assert two["parents"] == [{"candidate_id": one["candidate_id"], "role": "parent"}]
    assert (own["changed"], one["changed"], two["changed"]) == ("", "", "constants")
    again = evolve(home, "run", "--resume", "last", "--evaluations", "12")
    assert again.code == 0, again.err
    assert len(seeds(home)) == 3


def test_results_of_shinkaevolve_and_then_the_run_itself(home: Path) -> None:
    shinka(home / "results" / "programs.sqlite", [(f"s{n}", None, n, float(n), n != 7) for n in range(1, 9)])
    said = evolve(home, "run", "p", "--policy", "syntax", "--seeds-from", "results:3", "--evaluations", "9")
    assert said.code == 0, said.err
    assert "further seeds: 3 of the 8 programs of programs.sqlite" in said.err
    assert sorted(round(float(str(one["fitness"])), 6) for one in seeds(home)) == [-4.2, -3.8, -3.7, -3.5]
    best = evolve(home, "best", "last", "--json").lines[0]
    again = evolve(home, "run", "p", "--policy", "syntax", "--seeds-from", "last:2", "--evaluations", "4")
    assert "further seeds: 2 of the 9 programs of the run run_" in again.err
    assert best["fitness"] in [one["fitness"] for one in seeds(home)]
    assert (home / ".local/share/evolve/evolve.db").exists()


def test_results_without_scores_are_taken_with_a_warning(home: Path) -> None:
    write(home / "results", {f"gen_{n}/main.py": code(n) for n in range(4)})
    said = evolve(home, "problem", "import", "p", "there", "--seeds-from", "results:3")
    assert said.code == 0, said.err
    assert "further seeds: 3 of the 4 programs of results" in said.err
    assert (
        "warning: results has no score of 3 of these programs, so the earliest come along instead of the best: name"
        " results with scores, or more programs with :K"
    ) in " ".join(said.err.split())
    said = evolve(home, "problem", "import", "p", "again", "--seeds-from", "results")
    assert "warning: results has" not in said.err


def test_several_sources_come_together(home: Path) -> None:
    shinka(home / "results" / "programs.sqlite", [(f"s{n}", None, n, float(n), True) for n in range(1, 5)])
    line = [{"id": f"p{n}", "code": code(n + 10), "generation": n, "metrics": {}} for n in range(2)]
    openevolve(home / "openevolve_output" / "checkpoint_5", line)
    sources = ("--seeds-from", "results:1", "--seeds-from", "openevolve_output")
    said = evolve(home, "run", "p", "--policy", "syntax", *sources, "--evaluations", "5")
    assert said.code == 0, said.err
    assert "further seeds: 1 of the 4 programs of programs.sqlite" in said.err
    assert "further seeds: 2 of the 2 programs of the checkpoint checkpoint_5" in said.err
    assert sorted(round(float(str(one["fitness"])), 6) for one in seeds(home)) == [-4.2, -3.9, -3.2, -3.1]
    said = evolve(home, "run", "p", "--seeds-from", "last:1000", "--seeds-from", "results:1000", "--evaluations", "5")
    assert said.code == 0, said.err


def test_an_imported_problem_holds_the_programs_and_says_what_they_were_worth(home: Path) -> None:
    shinka(home / "results" / "programs.sqlite", [("s0", None, 0, 0.5, True), ("s1", "s0", 1, 2.5, True)])
    said = evolve(home, "problem", "import", "p", "there", "--seeds-from", "results")
    assert said.code == 0, said.err
    report = evolve(home, "problem", "check", "there", "--json").lines[0]
    assert [seed["name"] for seed in report["seeds"]] == [
        "initial_program.py", "s1 (generation 1, combined_score 2.5 there)"
    ]  # fmt: skip


def test_a_root_is_named_on_the_command_line(home: Path) -> None:
    write(home, {"far/away/lib/shared.py": "GOAL = 7\n", "p/evaluator.py": f"from shared import GOAL\n{EVALUATOR}"})
    assert evolve(home, "problem", "import", "p", "without").code == 0
    assert not (home / "without" / "evolve_imports").exists()
    said = evolve(home, "problem", "import", "p", "with", "--root", "far/away/lib")
    assert said.code == 0, said.err
    assert (home / "with" / "evolve_imports" / "shared.py").read_text() == "GOAL = 7\n"
    report = evolve(home, "problem", "check", "p", "--root", "far/away/lib", "--json").lines[0]
    assert report["complaints"] == []


@pytest.mark.parametrize(
    ("words", "code_", "sentence"),
    [
        (("run", "p", "--seeds-from", "nowhere"), 2, "--seeds-from nowhere: there is no such file, folder or run"),
        (("run", "p", "--seeds-from", "last:0"), 2, "name between 1 and 1000 programs"),
        (("run", "--resume", "last", "--seeds-from", "last"), 2, "leave out --resume"),
        (("run", "p", "--seeds-from", "p"), 8, "p holds no earlier programs: name a checkpoint_N"),
        (("run", "p", "--seeds-from", "p/config.yaml"), 8, "p/config.yaml is not an SQLite database"),
    ],
)
def test_a_source_that_is_none_ends_in_one_sentence(
    home: Path, words: tuple[str, ...], code_: int, sentence: str
) -> None:
    said = evolve(home, *words)
    assert said.code == code_, said.err
    assert sentence in said.err
    assert not (home / ".local/share/evolve/evolve.db").exists()
