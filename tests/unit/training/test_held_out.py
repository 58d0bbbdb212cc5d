"""Held-out figures of a training, its picture, and the time that it will take."""

import itertools
from typing import Any

import numpy as np
import pytest

from training.adapters.held_out import NAMES, pool_figures
from training.time_estimate import TimeEstimate


def test_held_out_figures_pool_the_answers_of_all_completions() -> None:
    matrices = [np.array([[1.0, 0.0], [0.2, 0.4]]), None, np.array([[0.0, 0.9], [0.5, 0.5]])]
    found = pool_figures(matrices)
    rows = [[1.0, 0.0], [0.2, 0.4], [0.0, 0.9], [0.5, 0.5], [0.0, 0.0], [0.0, 0.0]]  # two answers were not read
    means = [sum(row) / 2 for row in rows]
    for k in (1, 2, 4):
        bests = [max(subset) for subset in itertools.combinations(means, k)]
        assert found[f"best_at_{k}"] == pytest.approx(np.mean(bests))
    assert found["ew_at_4"] > found["best_at_4"]  # for every weights another answer may be the best
    assert set(found) == {f"{name}_at_{k}" for name in ("best", "ew") for k in (1, 2, 4)} <= set(NAMES)


def test_prompts_without_any_readable_answer_are_worth_nothing() -> None:
    assert set(pool_figures([None, None]).values()) == {0.0}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_that_of_measured_updates_and_tests() -> None:
    told: list[Any] = []
    clock = Clock()
    measured = TimeEstimate(told.append, test_every=4, clock=clock)
    measured.begin()
    clock.now += 3
    measured.test()  # before the first update
    for step, seconds in enumerate((30, 10, 10, 10), start=1):
        measured.begin()
        clock.now += seconds
        measured.update(step, 10)
    assert len(told) == 1
    assert told[0]["update_seconds"] == 30
    assert told[0]["tests_left"] == 3  # after updates 4, 8 and 10
    assert told[0]["estimate_seconds"] == 9 * 30 + 3 * 3
    clock.now += 3
    measured.test()
    measured.begin()
    clock.now += 20
    measured.update(5, 10)
    assert told[1]["update_seconds"] == 12.5  # without the first, which was warming up
    assert told[1]["estimate_seconds"] == 5 * 12.5 + 2 * 3


def test_a_training_of_a_single_update_estimates_nothing() -> None:
    told: list[Any] = []
    measured = TimeEstimate(told.append)
    measured.begin()
    measured.update(1, 1)
    assert told == []
