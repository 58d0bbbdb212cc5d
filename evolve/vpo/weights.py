"""Weights of objectives, drawn from the symmetric Dirichlet distribution: independently, or spread by Sobol points.

A set reward is a mean over weights. Independent draws leave gaps and clusters in the simplex; a low-discrepancy draw of
the same size has fewer of both, and so the estimate less noise (facts of the sampler: the code published with
arXiv 2605.22817 offers both, and draws independently unless told).
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal, get_args

import numpy as np

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats, dirichlet

Sampler = Literal["naive", "sobol"]

DRAWS = 100  # weights in the published estimator
BITS = 32
MAX_DIMENSIONS = 256  # objectives of a Sobol draw; finding the polynomials of more takes seconds
GRID = 8192
# Initial direction numbers of the first 16 coordinates, from new-joe-kuo-6.21201 (S. Joe and F. Y. Kuo, "Constructing
# Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30, 2008). Its polynomials are ours.
JOE_KUO = (
    (1,),
    (1,),
    (1, 3),
    (1, 3, 1),
    (1, 1, 1),
    (1, 1, 3, 3),
    (1, 3, 5, 13),
    (1, 1, 5, 5, 17),
    (1, 1, 5, 5, 5),
    (1, 1, 7, 11, 19),
    (1, 1, 5, 1, 1),
    (1, 1, 1, 3, 11),
    (1, 3, 5, 5, 31),
    (1, 3, 3, 9, 7, 49),
    (1, 1, 1, 15, 21, 21),
    (1, 3, 1, 13, 27, 49),
)
CONCENTRATED = 1e6  # beyond this, and below its inverse, draws are equal weights or single objectives


def draw_weights(
    k: int, rng: np.random.Generator, count: int = DRAWS, alpha: float = 1.0, sampler: Sampler = "naive"
) -> Floats:
    """Weights of `k` objectives, to be shared by all that is compared under them.

    Args:
        k: number of objectives.
        rng: where the draw comes from; the same state gives the same weights.
        count: how many.
        alpha: concentration; small favours specialists, 1 is uniform on the simplex, large approaches equal weights.
        sampler: `naive` draws independently, `sobol` spreads the draws evenly. Each single draw has the same
            distribution either way.

    Returns:
        (count, k), rows non-negative with sum 1.

    Raises:
        RewardError: a number is out of its range, or no sampler is called so.
    """
    if sampler not in get_args(Sampler):
        raise RewardError(f"No sampler is called {sampler!r}; there are {', '.join(get_args(Sampler))}.")
    if k < 1 or count < 1:
        raise RewardError(f"Weights need at least one objective and one draw, not {k} and {count}.")
    if not 1 / CONCENTRATED <= alpha <= CONCENTRATED:
        raise RewardError(f"The Dirichlet concentration alpha must lie in [1e-06, 1e+06], not be {alpha}.")
    if k == 1:
        return np.ones((count, 1))
    if sampler == "naive":
        return dirichlet(rng, k, alpha, count)
    return _spacings(sobol(count, k - 1, rng)) if alpha == 1 else _shares(sobol(count, k, rng), alpha)


def sobol(count: int, dimensions: int, rng: np.random.Generator) -> Floats:
    """The first points of a randomised Sobol sequence (Sobol 1967), strictly inside the unit cube, (count, dimensions).

    Any odd initial numbers make a Sobol sequence. Those of the first 16 coordinates are `JOE_KUO`, chosen for even
    projections onto pairs of coordinates; the others are drawn. A digital shift makes every point uniform.

    Raises:
        RewardError: there are more dimensions than this module makes polynomials for.
    """
    if dimensions > MAX_DIMENSIONS:
        raise RewardError(
            f"Sobol draws reach {MAX_DIMENSIONS} objectives, not {dimensions}; choose the sampler 'naive'."
        )
    index = np.arange(count, dtype=np.uint64)
    points = np.empty((count, dimensions))
    for number, polynomial in enumerate(_polynomials(dimensions)):
        bits = np.full(count, rng.integers(1 << BITS), dtype=np.uint64)
        degree = max(polynomial.bit_length() - 1, 1)
        known = JOE_KUO[number] if number < len(JOE_KUO) else [2 * int(rng.integers(1 << n)) + 1 for n in range(degree)]
        for place, direction in enumerate(_directions(polynomial, known)):
            bits ^= np.where(index >> np.uint64(place) & np.uint64(1), np.uint64(direction), np.uint64(0))
        points[:, number] = (bits.astype(np.float64) + 0.5) / (1 << BITS)
    return points


def _spacings(points: Floats) -> Floats:
    """The gaps that k-1 uniform numbers leave in the unit interval are uniform on the simplex."""
    return np.diff(np.sort(points, axis=1), axis=1, prepend=0.0, append=1.0)


def _shares(points: Floats, alpha: float) -> Floats:
    """Gamma variables over their sum are Dirichlet; in logarithms, as small alpha underflows."""
    logs = _log_gamma_quantile(points, alpha)
    raw = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


def _log_gamma_quantile(u: Floats, alpha: float) -> Floats:
    """Logarithm of the quantile of the Gamma distribution with shape `alpha`.

    In t = log x the density is exp(alpha t - e^t) / Gamma(alpha). It is summed on a grid and read backwards; below the
    grid e^t is nothing, and the distribution function is e^(alpha t) / Gamma(alpha + 1).
    """
    low = max(math.log(1e-8), math.log(alpha) - 40 / math.sqrt(alpha))
    t = np.linspace(low, math.log(alpha + 12 * math.sqrt(alpha) + 40), GRID)
    density = np.exp(alpha * t - np.exp(t) - math.lgamma(alpha))
    tail = math.exp(alpha * low - math.exp(low) - math.lgamma(alpha + 1))
    steps = (density[1:] + density[:-1]) / 2 * np.diff(t)
    cumulated = tail + np.concatenate([[0.0], np.cumsum(steps)])
    inside = np.interp(u * cumulated[-1], cumulated, t)
    return np.where(u < tail, (np.log(u) + math.lgamma(alpha + 1)) / alpha, inside)


def _directions(polynomial: int, initial: Sequence[int]) -> list[int]:
    """Direction numbers of one coordinate by the recurrence of its polynomial (Bratley and Fox 1988, section 2)."""
    degree = polynomial.bit_length() - 1
    numbers = list(initial)
    for place in range(len(numbers), BITS):
        if degree == 0:
            numbers.append(1)
        else:
            following = numbers[place - degree]
            for back in range(1, degree + 1):
                if polynomial >> (degree - back) & 1:
                    following ^= numbers[place - back] << back
            numbers.append(following)
    return [number << (BITS - 1 - place) for place, number in enumerate(numbers)]


@cache
def _polynomials(count: int) -> tuple[int, ...]:
    """1, whose coordinate is van der Corput's, and the first primitive polynomials over two elements, as bits."""
    found, degree = [1], 1
    while len(found) < count:
        found += [p for p in range((1 << degree) + 1, 2 << degree, 2) if _primitive(p, degree)]
        degree += 1
    return tuple(found[:count])


def _primitive(polynomial: int, degree: int) -> bool:
    """Whether the powers of x run through all residues but 0 before they come back to 1."""
    power, order = 1, 0
    while True:
        power <<= 1
        if power >> degree:
            power ^= polynomial
        order += 1
        if power <= 1:
            return power == 1 and order == (1 << degree) - 1
