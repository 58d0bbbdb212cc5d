"""Test vectors: what the set reward and every method must give, worked out by hand."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evolve.vpo.estimators import DEFAULT, Options
from evolve.vpo.group import Rollout, RolloutGroup
from evolve.vpo.methods import method_of
from evolve.vpo.reward import exact_set_reward, set_reward
from evolve.vpo.weights import draw_weights

DRAWN = 4096
NOISE = 0.005  # of an estimate from as many Sobol weights: some ten standard deviations
CORNERS = ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
ROOT = math.sqrt(1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One vector: what was expected, what was found, and how far apart they may be."""

    name: str
    expected: tuple[float, ...]
    found: tuple[float, ...]
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether every number is within the tolerance."""
        pairs = zip(self.expected, self.found, strict=False)
        return len(self.expected) == len(self.found) and all(abs(a - b) <= self.tolerance for a, b in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """Rollouts of one group, and the advantages a method must give them; epsilon moves them by less than 1e-5.

    Attributes:
        answers: those of all answers in their order, where the method credits answers.
    """

    name: str
    rollouts: Sequence[Rollout]
    expected: tuple[float, ...]
    weights: ArrayLike | None = None
    preference: ArrayLike | None = None
    options: Options = DEFAULT
    answers: tuple[float, ...] = ()


# Set rewards 5/6, 1/2 and 0 under the corners, of which the population deviation is sqrt(38) / 18.
VECTORS = (
    Vector(
        name="vpo",
        rollouts=([[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5]], None),
        weights=CORNERS,
        expected=tuple(18 / math.sqrt(38) * (value - 4 / 9) for value in (5 / 6, 1 / 2, 0)),
    ),
    Vector(name="grpo", rollouts=([1.0], [0.0], [0.0], None), expected=(3 / 3**0.5, *[-1 / 3**0.5] * 3)),
    Vector(name="multi_rlvr", rollouts=([[1.0], [1.0]], [[1.0], None], [[0.0], [0.0]]), expected=(ROOT, 0.0, -ROOT)),
    Vector(
        name="multi_rlvr_best",
        rollouts=([[1.0], [1.0]], [[1.0], None], [[0.0], [0.0]]),
        expected=(1 / 2**0.5, 1 / 2**0.5, -(2**0.5)),
    ),
    # The pairs with 0.2 gain 0.1 and 0, those with 0.4 gain 0.3 and 0.2; times n / C(n, 2) = 1.
    Vector(name="max_at_k", rollouts=([0.1], [0.2], [0.4]), options=Options(k=2), expected=(0.0, 0.1, 0.5)),
    Vector(name="gdpo", rollouts=([0.0, 100.0], [1.0, 100.0], [1.0, 400.0]), expected=(-ROOT, 0.0, ROOT)),
    Vector(name="maxrl", rollouts=([4.0], [0.0], [0.0], [0.0]), expected=(3.0, -1.0, -1.0, -1.0)),
    # A softmax of (1/2, 1/6, 1/6, 1/6) is ln(2 / sqrt(3)) nats from uniform.
    Vector(
        name="entropic",
        rollouts=([1.0], [0.0], [0.0], [0.0]),
        options=Options(divergence=math.log(2 / 3**0.5)),
        expected=(2.0, -0.4, -0.4, -0.4),
    ),
    # Under the mean of the corners, (1/2, 1/2), they are worth 1, 1/2 and 0.
    Vector(
        name="vpo_single",
        rollouts=([1.0, 1.0], [1.0, 0.0], [0.0, 0.0]),
        weights=CORNERS,
        expected=(ROOT, 0.0, -ROOT),
    ),
    # Worth 1, 1/2 and 0 under the first of the drawn weights, and under the preference.
    Vector(
        name="random_weighting",
        rollouts=([1.0, 0.0], [0.5, 1.0], [0.0, 1.0]),
        weights=CORNERS,
        expected=(ROOT, 0.0, -ROOT),
    ),
    Vector(
        name="goal_conditioned",
        rollouts=([0.0, 1.0], [1.0, 0.5], [1.0, 0.0]),
        preference=(0.0, 3.0),
        expected=(ROOT, 0.0, -ROOT),
    ),
    # The pairs with each have 3, 3 and 4 as their mean best.
    Vector(
        name="max_at_k_centred",
        rollouts=([1.0], [2.0], [4.0]),
        options=Options(k=2),
        expected=(-1 / 2**0.5, -1 / 2**0.5, 2**0.5),
    ),
    # The vector of max_at_k under the first weights, and turned round under the second.
    Vector(
        name="vector_max_at_k",
        rollouts=([0.1, 0.4], [0.2, 0.2], [0.4, 0.1]),
        weights=CORNERS[:2],
        options=Options(k=2),
        expected=(0.25, 0.1, 0.25),
    ),
    Vector(
        name="vpo_marginal",
        rollouts=([[0.1, 0.4], [0.2, 0.2]], [0.4, 0.1]),
        weights=CORNERS[:2],
        expected=(-0.0375, 0.0375),
        answers=(0.25, 0.1, 0.25),
    ),
)


def check_vectors(rng: np.random.Generator) -> tuple[Check, ...]:
    """All vectors against this installation; the generator draws the weights of the estimated ones."""
    return (*_set_rewards(rng), *(check for vector in VECTORS for check in _estimated(vector)))


def _set_rewards(rng: np.random.Generator) -> Iterator[Check]:
    for k in (2, 3, 4, 8):
        harmonic = sum(1 / i for i in range(1, k + 1))
        yield _check(f"exact: {k} specialists", harmonic / k, exact_set_reward(np.eye(k)))
        drawn = draw_weights(k, rng, DRAWN, sampler="sobol")
        yield _check(f"estimated: {k} specialists", harmonic / k, set_reward(np.eye(k), drawn), NOISE)
    yield _check("exact: 3 of 4 specialists", 11 / 24, exact_set_reward(np.eye(4)[:3]))
    yield _check("exact: a generalist", 0.5, exact_set_reward([0.5] * 4))
    yield _check("exact: one answer", 0.55, exact_set_reward([0.1, 0.4, 0.7, 1.0]))
    yield _check("exact: two objectives", 0.76, exact_set_reward([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))


def _estimated(vector: Vector) -> Iterator[Check]:
    method = method_of(vector.name)
    group = RolloutGroup.of(vector.rollouts, weights=vector.weights, preference=vector.preference)
    (found,) = method.estimator([group], vector.options)
    yield Check(name=vector.name, expected=vector.expected, found=tuple(found.tolist()), tolerance=1e-5)
    if method.credit is not None:
        (parts,) = method.credit([group], vector.options)
        answers = tuple(np.concatenate(parts).tolist())
        yield Check(name=f"{vector.name}: answers", expected=vector.answers, found=answers, tolerance=1e-5)


def _check(name: str, expected: float, found: float, tolerance: float = 1e-12) -> Check:
    return Check(name=name, expected=(expected,), found=(found,), tolerance=tolerance)
