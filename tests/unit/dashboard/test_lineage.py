"""The line of a candidate: its steps back to a seed, and what each gained."""

from datetime import UTC, datetime
from typing import Any

import pytest

from service.dashboard.views.lineage import MAX_STEPS, line_of
from service.schemas.candidates import Candidate, Parent


def candidate(number: int, fitness: float | None, *parents: tuple[int, str]) -> Candidate:
    told: dict[str, Any] = {
        "id": f"cnd_{number}",
        "proposal_number": number,
        "fitness": fitness,
        "parents": [Parent(candidate_id=f"cnd_{other}", role=role) for other, role in parents],
        "created_at": datetime(2026, 3, 1, tzinfo=UTC),
    }
    return Candidate.model_construct(**told)


def test_each_step_gains_over_its_first_parent_and_names_the_others() -> None:
    line = line_of([
        candidate(5, 3.5, (3, "parent"), (4, "crossover"), (1, "inspiration")),
        candidate(3, 1.25, (1, "parent")),
        candidate(1, None, (0, "parent")),
        candidate(0, 1.0),
    ])  # fmt: skip
    assert [step.depth for step in line.steps] == [3, 2, 1, 0]
    assert [step.gain for step in line.steps] == [2.25, None, None, None]
    assert [list(step.others) for step in line.steps] == [["cnd_4"], [], [], []]
    assert (line.omitted, line.seed_told) == (0, True)


@pytest.mark.parametrize("truncated", [False, True])
def test_a_long_line_keeps_its_newest_steps_and_its_oldest(truncated: bool) -> None:
    candidates = [candidate(number, float(number)) for number in range(500, -1, -1)]
    line = line_of(candidates, at="500.0", truncated=truncated)
    assert len(line.steps) == MAX_STEPS
    assert [line.steps[place].candidate.id for place in (0, -2, -1)] == ["cnd_500", "cnd_302", "cnd_0"]
    assert (line.steps[-2].depth, line.steps[-2].gain) == (302, 1.0)
    assert line.omitted == 501 - MAX_STEPS
    assert line.seed_told is not truncated
