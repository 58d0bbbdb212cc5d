"""The flywheel on programs: its problems, and its measures of a search from the events of the search."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.flywheel_programs import FROZEN, TRAINED, SearchPath, measured, over_seeds, read_path, tables
from benchmarks.formulas import LAWS, write_families
from service.problems.load import load_problem


def event(kind: str, **more: Any) -> str:
    return json.dumps({"schema": 1, "kind": kind, **more})


def evaluated(name: str, proposal: int, fitness: float | None) -> list[str]:
    outcome = "ok" if fitness is not None else "error"
    return [
        event("candidate.created", candidate_id=name, proposal_number=proposal),
        event("candidate.evaluated", candidate_id=name, outcome=outcome, fitness=fitness),
    ]


def test_a_search_is_read_proposal_by_proposal_with_its_tokens() -> None:
    lines = [
        *evaluated("a", 0, 2.0), *evaluated("b", 2, 2.5), *evaluated("c", 1, None),
        event("proposal.answered", proposal_number=2, tokens={"output": 30}),
        event("proposal.failed", proposal_number=3, reason="away"),
        event("proposal.answered", proposal_number=1, tokens={"output": 50}),
        *evaluated("d", 1, 2.2),  # scored after its proposal was answered
    ]  # fmt: skip
    found = read_path(lines)
    assert (found.seed, found.tokens, found.valid, found.best) == (2.0, [30, 30, 80], [1, 1, 2], [2.5, 2.5, 2.5])


def test_arms_are_measured_within_the_tokens_that_both_have_written() -> None:
    short = SearchPath(tokens=[100, 200], valid=[1, 1], best=[1.5, 1.5], seed=1.0)
    long = SearchPath(tokens=[150, 300], valid=[3, 9], best=[2.0, 9.0], seed=1.0)
    found = measured({FROZEN: short, TRAINED: long})
    assert found[TRAINED] == {
        "yield": 20.0, "improvement": pytest.approx(1000 / 150), "best": 2.0, "tokens": 150, "written": 300, "valid": 3
    }  # fmt: skip
    assert (found[FROZEN]["yield"], found[FROZEN]["tokens"]) == (5.0, 200)
    silent = measured({FROZEN: short, TRAINED: SearchPath(tokens=[], valid=[], best=[], seed=1.0)})
    assert (silent[TRAINED]["yield"], silent[TRAINED]["best"]) == (0.0, 1.0)


def test_a_mean_over_seeds_has_students_interval_and_a_single_seed_none() -> None:
    found = over_seeds([1.0, 2.0, 3.0])
    # Student's t with 2 degrees of freedom is 4.3027, over the square root of 3.
    assert found.low == pytest.approx(2 - 2.4841, abs=1e-3)
    assert found.high == pytest.approx(2 + 2.4841, abs=1e-3)
    assert over_seeds([1.0]).low == float("-inf")
    arms = {
        FROZEN: {"yield": 1.0, "improvement": 0.0, "best": 1.0},
        TRAINED: {"yield": 3.0, "improvement": 0.0, "best": 1.5},
    }
    shown = tables([{"one": arms, "two": arms}])
    assert shown["yield"]["difference"].startswith("+2.000 [-inf")
    assert shown["best"]["problems"] == {"one": [0.5], "two": [0.5]}


def test_the_formulas_are_problems_with_short_prompts(tmp_path: Path) -> None:
    write_families(tmp_path, 24)
    names = []
    for group, laws in LAWS.items():
        for name in laws:
            problem = load_problem(tmp_path / group / name).problem
            names.append(problem.name)
            assert "cases" not in (tmp_path / group / name / "evaluator.py").read_text()
    assert len(set(names)) == len(names) == 8
