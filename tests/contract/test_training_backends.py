"""The contract of training back ends, which extensions test themselves with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from service.ports.training_backends import TrainingStep, TrainingTask
from service.trainer.contract import (
    TRAINING_BACKEND_RULES,
    BackendCase,
    BackendRule,
    BackendTask,
    continues_after_a_kill,
    trains_a_model,
)
from tests.fakes.training_backend import EVERY, CountingBackend

ROOT = Path(__file__).parents[2]
TASK = BackendTask(request={"seed": 3, "steps": 4 * EVERY, "texts": [], "test_problems": 0})


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


class Reading(CountingBackend):
    """Counts, and lets its process print what it likes."""

    def read(self, line: str) -> TrainingStep | None:
        return super().read(line) if line.startswith('{"step"') else None


class Forgetful(Reading):
    """Has no checkpoints that it knows of."""

    def checkpoint(self, folder: Path) -> Mapping[str, Any]:
        return {}


class Restarting(Reading):
    """Begins anew each time."""

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        return ["sh", "-c", 'rm -f "$0/checkpoint.json"; exec "$@"', str(folder), *super().command(job, base, folder)]


def case(kind: type[CountingBackend], seconds: float = 0.02) -> BackendCase:
    return BackendCase(make=lambda: kind(seconds=seconds), task=TASK)


@pytest.mark.parametrize("rule", TRAINING_BACKEND_RULES)
def test_a_back_end_that_counts_holds_the_contract(rule: BackendRule) -> None:
    rule(case(Reading))


def test_a_back_end_without_checkpoints_breaks_it() -> None:
    with pytest.raises(AssertionError, match="without a checkpoint"):
        continues_after_a_kill(case(Forgetful))


def test_a_back_end_that_begins_anew_breaks_it() -> None:
    with pytest.raises(AssertionError, match="did all 20 steps again"):
        continues_after_a_kill(case(Restarting))


def test_a_back_end_that_fails_breaks_it() -> None:
    failing = BackendCase(make=lambda: Reading(fails=True), task=TASK)
    with pytest.raises(AssertionError, match="the disk is full of numbers"):
        trains_a_model(failing)
