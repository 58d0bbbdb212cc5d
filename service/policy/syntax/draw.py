"""Draws that the mutations share."""

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

_Item = TypeVar("_Item")


def pick(items: Sequence[_Item], rng: np.random.Generator) -> _Item:
    """One of the items, each as likely as another."""
    return items[int(rng.integers(len(items)))]


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform between those of `low` and `high`, both above 0."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))
