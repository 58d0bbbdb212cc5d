"""Cases that are compared: random ones and hard ones, the same in every run."""

import os
from collections.abc import Iterator

import numpy as np

from evolve.multiobjective.scalarization import Floats

CASES = int(os.environ.get("EVOLVE_DIFFERENTIAL_CASES", "300"))
SHAPES = ("uniform", "front", "ties", "twins", "agreeing", "close", "vast")


def points_of(shape: str, rng: np.random.Generator, n: int, k: int) -> Floats:
    """Rewards of a shape, (n, k), most of them in [0, 1]."""
    points = rng.random((n, k))
    match shape:
        case "front":  # none dominates another
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        case "ties":
            points = np.floor(points * 4) / 4
        case "twins":
            points = points[rng.integers(n, size=n)]
        case "agreeing":  # many fronts
            points = points[:, :1] + 0.01 * points
        case "close":  # apart by the last bits
            points = 0.5 + np.floor(points * 8) * 2.0**-52
        case "vast":
            points = (points - 0.5) * 10.0 ** rng.integers(-90, 90, size=k)
    return points


def matrices(k: int, maximum: int) -> Iterator[Floats]:
    """All shapes in turn, of 1 to `most` rows."""
    for number in range(CASES):
        rng = np.random.default_rng([k, number])
        yield points_of(SHAPES[number % len(SHAPES)], rng, int(rng.integers(1, maximum + 1)), k)
