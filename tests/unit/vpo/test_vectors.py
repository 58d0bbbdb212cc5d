import dataclasses
import math

import numpy as np
import pytest

from evolve.vpo import METHODS, check_vectors, estimators
from evolve.vpo.vectors import VECTORS, Check


@pytest.mark.parametrize("seed", range(5))
def test_every_vector_holds_whatever_is_drawn(seed: int) -> None:
    assert [check for check in check_vectors(np.random.default_rng(seed)) if not check.holds] == []


def test_every_estimator_has_a_vector() -> None:
    assert {vector.name for vector in VECTORS} == set(METHODS)


@pytest.mark.parametrize("found", [(1.0,), (1.0, 2.1), (1.0, math.nan), (1.0, 2.0, 3.0)])
def test_a_vector_that_is_missed_does_not_hold(found: tuple[float, ...]) -> None:
    right = Check(name="x", expected=(1.0, 2.0), found=(1.0, 2.0), tolerance=0.01)
    assert right.holds
    assert not dataclasses.replace(right, found=found).holds


def test_a_wrong_deviation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimators, "_normalised", lambda values, _: (values - values.mean()) / values.std(ddof=1))
    missed = {check.name for check in check_vectors(np.random.default_rng(0)) if not check.holds}
    normalised = {"vpo", "vpo_single", "grpo", "goal_conditioned", "random_weighting", "max_at_k_centred", "gdpo"}
    assert missed == {*normalised, "multi_rlvr", "multi_rlvr_best"}
