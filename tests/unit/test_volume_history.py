"""The sampled hypervolume over a run: as a count over all samples gives it, however the run is caught up with."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.projections.volume_history import SAMPLES, SAMPLES_SEED, Floats, VolumeHistory

REFERENCE = np.zeros(3)


def counted(rewards: Floats, taken: list[int]) -> list[float]:
    """By definition: the share of the samples of the box that some reward until then covers."""
    valid = rewards[np.isfinite(rewards).all(axis=1)]
    top = np.concatenate([REFERENCE[None], valid]).max(axis=0)
    samples = np.random.default_rng(SAMPLES_SEED).random((SAMPLES, 3)) * top
    found = []
    for count in taken:
        covered = np.zeros(SAMPLES, dtype=bool)
        for reward in rewards[:count]:
            if np.isfinite(reward).all():
                covered |= (samples <= reward).all(axis=1)
        found.append(float(top.prod() * covered.sum() / SAMPLES))
    return found


def run_of(seed: int, evaluations: int) -> Floats:
    """Rewards that rise on the whole, with failures, equals, and some below the reference."""
    rng = np.random.default_rng(seed)
    rewards = rng.random((evaluations, 3)) * np.linspace(0.3, 1.0, evaluations)[:, None] - 0.05
    rewards[rng.random(evaluations) < 0.15] = np.nan
    rewards[1::7] = rewards[::7][: len(rewards[1::7])]
    return rewards


@given(seed=st.integers(0, 10**6), sizes=st.lists(st.integers(0, 90), min_size=1, max_size=4))
def test_it_is_as_counted_however_a_run_is_caught_up_with(seed: int, sizes: list[int]) -> None:
    ends = [1 + sum(sizes[: place + 1]) for place in range(len(sizes))]
    rewards, history = run_of(seed, ends[-1]), VolumeHistory()
    for end in ends:
        taken = sorted({1, (1 + end) // 2, end})
        assert history.volumes(rewards[:end], REFERENCE, np.array(taken)) == pytest.approx(
            counted(rewards[:end], taken), rel=1e-12
        )


def test_the_curve_never_falls_and_ends_at_the_volume_of_a_known_front() -> None:
    rewards = np.array([[0.5, 0.5, 0.5], [np.nan, 1.0, 1.0], [0.4, 0.4, 0.4], [1.0, 0.5, 0.5], [1.0, 1.0, 1.0]])
    found = VolumeHistory().volumes(rewards, REFERENCE, np.arange(1, 6))
    assert all(before <= after for before, after in pairwise(found))
    assert found == pytest.approx([0.125, 0.125, 0.125, 0.25, 1.0], abs=0.02)


def test_nothing_valid_is_worth_nothing() -> None:
    assert VolumeHistory().volumes(np.full((2, 3), np.nan), REFERENCE, np.array([1, 2])) == [0.0, 0.0]
