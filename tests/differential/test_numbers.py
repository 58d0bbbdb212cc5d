"""Sobol points, Student's t and MinHash beside SciPy and datasketch."""

from types import SimpleNamespace

import numpy as np
import pytest

from evolve.similarity.similarity import SKETCH, distance, sketch
from evolve.statistics.answer_sets import correlations, mean_pairwise_l1, mean_pairwise_l2
from evolve.statistics.significance import paired_p_value, welch_p_value
from evolve.statistics.t_distribution import quantile, upper_tail
from evolve.vpo import sobol
from evolve.vpo.weights import BITS, JOE_KUO
from tests.differential.cases import CASES, matrices
from tests.differential.libraries import datasketch, qmc, spatial_distance, stats

pytestmark = pytest.mark.differential

UNSHIFTED = SimpleNamespace(integers=lambda _: 0)


def test_sobol_points_are_those_of_scipy_in_another_order() -> None:
    count, width = 4096, len(JOE_KUO)
    theirs = qmc.Sobol(width, scramble=False, bits=BITS).random(count)
    gray = np.arange(count) ^ (np.arange(count) >> 1)
    ours = np.floor(sobol(count, width, UNSHIFTED)[gray] * 2.0**BITS)  # type: ignore[arg-type] # draws no shift
    assert ours.tolist() == np.round(theirs * 2.0**BITS).tolist()


def test_students_distribution() -> None:
    for number in range(CASES):
        rng = np.random.default_rng(number)
        freedom, t, share = int(rng.integers(1, 200)), float(rng.normal() * 10), float(rng.uniform(0.5, 1 - 1e-4))
        assert upper_tail(t, freedom) == pytest.approx(float(stats.t.sf(t, freedom)), rel=1e-8, abs=1e-12)
        assert quantile(share, freedom) == pytest.approx(float(stats.t.ppf(share, freedom)), rel=1e-6, abs=1e-9)


def test_tests_of_differences() -> None:
    for number in range(CASES):
        rng = np.random.default_rng(number)
        own = rng.normal(size=int(rng.integers(4, 40)))
        their = rng.normal(rng.normal(), rng.uniform(0.1, 3), size=int(rng.integers(4, 40)))
        pairs = min(len(own), len(their))
        expected = stats.ttest_rel(own[:pairs], their[:pairs])
        assert paired_p_value(own[:pairs] - their[:pairs]) == pytest.approx(float(expected.pvalue), rel=1e-7, abs=1e-12)
        found = stats.ttest_ind(own, their, equal_var=False)
        whole = 2 * float(stats.t.sf(abs(found.statistic), np.floor(found.df)))
        assert welch_p_value(own, their) == pytest.approx(whole, rel=1e-7, abs=1e-12)
        assert welch_p_value(own, their) >= float(found.pvalue) - 1e-12


def test_statistics_of_rewards() -> None:
    for points in matrices(3, 30):
        if len(points) < 3 or np.abs(points).max() > 1e6 or np.ptp(points, axis=0).min() < 1e-6:
            continue
        assert mean_pairwise_l1(points) == pytest.approx(spatial_distance.pdist(points, "cityblock").mean(), rel=1e-9)
        assert mean_pairwise_l2(points) == pytest.approx(spatial_distance.pdist(points).mean(), rel=1e-9)
        assert correlations(points) == pytest.approx(np.corrcoef(points.T), abs=1e-9)


def test_sketches_estimate_the_jaccard_distance_as_well_as_datasketch() -> None:
    ours, theirs = [], []
    for number in range(CASES):
        rng = np.random.default_rng(number)
        a, b = (np.unique(rng.integers(0, int(rng.integers(20, 400)), size=150)).astype(np.uint64) for _ in range(2))
        hashed = [np.unique(rows * np.uint64(0x9E3779B97F4A7C15) ^ (rows << np.uint64(31))) for rows in (a, b)]
        exact = 1 - distance(*hashed)
        hashes = [datasketch.MinHash(num_perm=SKETCH, seed=number) for _ in range(2)]
        for minhash, rows in zip(hashes, hashed, strict=True):
            minhash.update_batch([row.tobytes() for row in rows])
        ours.append(float((sketch(hashed[0]) == sketch(hashed[1])).mean()) - exact)
        theirs.append(hashes[0].jaccard(hashes[1]) - exact)
    assert abs(np.mean(ours)) < 5 * np.std(theirs) / np.sqrt(CASES)
    assert np.std(ours) < 1.3 * np.std(theirs)
