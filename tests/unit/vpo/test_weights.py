import math

import numpy as np
import pytest

from evolve.errors import RewardError
from evolve.vpo import Sampler, draw_weights, set_reward, sobol
from evolve.vpo.weights import BITS, MAX_DIMENSIONS, _polynomials

SAMPLERS: tuple[Sampler, ...] = ("naive", "sobol")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0, 4.0, 2_000.0])
@pytest.mark.parametrize("k", [2, 5])
def test_weights_have_the_moments_of_the_dirichlet_distribution(sampler: Sampler, alpha: float, k: int) -> None:
    drawn = draw_weights(k, rng(3), 8192, alpha, sampler)
    assert drawn.shape == (8192, k)
    assert (drawn >= 0).all()
    assert drawn.sum(axis=1) == pytest.approx(1)
    variance = (1 / k) * (1 - 1 / k) / (k * alpha + 1)
    assert drawn.mean(axis=0) == pytest.approx(1 / k, abs=5 * math.sqrt(variance / 8192))
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.5])
def test_sobol_weights_follow_the_beta_distribution_in_each_objective(alpha: float) -> None:
    # For k = 2 and alpha = 1/2, 1 the distribution functions are elementary; 5/2 by the mean of w (1 - w).
    first = draw_weights(2, rng(1), 4096, alpha, "sobol")[:, 0]
    if alpha == 1.0:
        assert np.sort(first) == pytest.approx((np.arange(4096) + 0.5) / 4096, abs=1e-3)
    elif alpha == 0.5:
        arcsine = 2 / math.pi * np.arcsin(np.sqrt(np.sort(first)))
        assert arcsine == pytest.approx((np.arange(4096) + 0.5) / 4096, abs=0.02)
    else:
        assert (first * (1 - first)).mean() == pytest.approx(alpha / (2 * (2 * alpha + 1)), rel=1e-3)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_same_state_of_the_generator_gives_the_same_weights(sampler: Sampler) -> None:
    one, same, other = (draw_weights(4, rng(seed), 10, 1.0, sampler) for seed in (7, 7, 8))
    assert one.tolist() == same.tolist() != other.tolist()
    assert draw_weights(1, rng(), 3, 0.2, sampler).tolist() == [[1.0]] * 3


def test_each_coordinate_of_a_sobol_sequence_has_one_point_in_every_dyadic_cell() -> None:
    points = sobol(256, 40, rng(5))
    assert ((points > 0) & (points < 1)).all()
    for column in points.T:
        assert sorted((column * 256).astype(int).tolist()) == list(range(256))
    # The first two coordinates form a (0, 2)-sequence: every elementary box of area 1/256 holds one point.
    for across in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        cells = (points[:, 0] * across).astype(int) * (256 // across) + (points[:, 1] * (256 // across)).astype(int)
        assert len(set(cells.tolist())) == 256


def test_sobol_points_are_those_of_joe_and_kuo_up_to_their_shift() -> None:
    """Points 8 to 15 of coordinates 1, 4, 9 and 16 in sixteenths, as SciPy's `Sobol` has them, in Gray code order."""
    expected = [
        [3, 7, 15, 15], [11, 15, 7, 7], [15, 3, 3, 11], [7, 11, 11, 3],
        [5, 9, 1, 1], [13, 1, 9, 9], [9, 13, 13, 5], [1, 5, 5, 13],
    ]  # fmt: skip
    bits = (sobol(16, 16, rng(5)) * (1 << BITS)).astype(np.uint64)
    unshifted = (bits ^ bits[0]) >> np.uint64(BITS - 4)
    gray = [place ^ (place >> 1) for place in range(8, 16)]
    assert unshifted[gray][:, [0, 3, 8, 15]].tolist() == expected


def test_the_polynomials_are_the_primitive_ones() -> None:
    # x+1; x2+x+1; x3+x+1, x3+x2+1; x4+x+1, x4+x3+1; and phi(2^d - 1) / d of degree d in general.
    assert _polynomials(7) == (0b1, 0b11, 0b111, 0b1011, 0b1101, 0b10011, 0b11001)
    degrees = [polynomial.bit_length() - 1 for polynomial in _polynomials(MAX_DIMENSIONS)]
    assert [degrees.count(degree) for degree in range(1, 10)] == [1, 1, 2, 2, 6, 6, 18, 16, 48]


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_sobol_weights_estimate_with_less_than_half_the_variance_and_no_bias(alpha: float) -> None:
    def estimates(sampler: Sampler) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.array([set_reward(np.eye(4), draw_weights(4, rng(i), 100, alpha, sampler)) for i in range(150)])

    naive, even = estimates("naive"), estimates("sobol")
    assert even.var() < naive.var() / 2
    assert even.mean() == pytest.approx(naive.mean(), abs=4 * naive.std() / math.sqrt(150))


@pytest.mark.parametrize(
    ("k", "count", "alpha", "sampler", "said"),
    [
        (0, 10, 1.0, "naive", "at least one objective"),
        (3, 0, 1.0, "naive", "one draw"),
        (3, 10, 0.0, "naive", "alpha must lie in"),
        (3, 10, math.nan, "sobol", "alpha must lie in"),
        (3, 10, math.inf, "naive", "alpha must lie in"),
        (3, 10, 1.0, "halton", "No sampler is called 'halton'; there are naive, sobol"),
        (MAX_DIMENSIONS + 2, 10, 1.0, "sobol", "choose the sampler 'naive'"),
    ],
)
def test_a_draw_that_cannot_be_is_refused(k: int, count: int, alpha: float, sampler: Sampler, said: str) -> None:
    with pytest.raises(RewardError, match=said):
        draw_weights(k, rng(), count, alpha, sampler)
