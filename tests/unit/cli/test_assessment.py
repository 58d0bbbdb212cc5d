"""What commands say of the end of a run and of repeats: in the objective's own direction, failures in one sentence."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.search.assessment import Assessment, Audit, HeldOut, Range
from service.bootstrap.storage import open_storage
from service.cli.assessment import assessment_json, assessment_rows
from service.cli.show import candidate_rows
from service.config import load_settings
from service.ports import RunReader
from tests.unit.cli.recording import RUN

HELD = HeldOut(
    candidate_id="cnd_" + "a" * 32,
    outcome="ok",
    reason="",
    fitness=-3.5,
    scores={"cost": 3.5},
    recorded_fitness=-2.0,
    recorded_scores={"cost": 2.0},
)
FAILED = replace(HELD, outcome="error", reason="KeyError: 'x'\x1b[2J", fitness=None, scores={})
AUDIT = Audit(
    candidate_id=HELD.candidate_id,
    wanted=2,
    made=2,
    tolerance=0.1,
    failed=(),
    ranges=(Range(name="cost", recorded=2.0, low=1.9, high=2.1, holds=True),),
)


@pytest.fixture
def reader(packing: str, home: Path) -> Iterator[RunReader]:
    with open_storage(load_settings(), packing) as storage:
        yield storage.reader


def test_held_out_scores_are_told_as_people_read_them(reader: RunReader) -> None:
    run = replace(reader.run(RUN), objectives=[{"name": "cost", "direction": "minimize"}])
    rows = dict(assessment_rows(run, Assessment(holdout=(HELD, FAILED), audit=AUDIT)))
    first, second = rows["held out"].splitlines()
    assert first.startswith("3.5  ")
    assert first.endswith("(scored 2)")
    assert "not scored: KeyError: 'x'" in second
    assert "\x1b" not in second
    assert rows["audit"].splitlines() == [
        "the scores hold within 0.1 in 2 evaluations under other seeds",
        "cost 1.9 to 2.1 (scored 2)",
    ]


def test_a_run_that_was_not_examined_has_no_such_rows(reader: RunReader) -> None:
    assert assessment_rows(reader.run(RUN), None) == []
    assert assessment_json(None) is None


def test_a_candidate_that_was_repeated_says_how_often(reader: RunReader) -> None:
    (best,) = reader.best(RUN, limit=1)
    assert dict(candidate_rows(replace(best, repeats=4)))["repeats"] == "4, of which scores are the means"
    assert dict(candidate_rows(replace(best, repeats=1)))["repeats"] is None
