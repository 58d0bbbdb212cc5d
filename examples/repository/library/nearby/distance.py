"""Distances in the plane."""

import math


def distance(one, other):
    """How far two points are apart."""
    return math.sqrt(math.pow(abs(one[0] - other[0]), 2) + math.pow(abs(one[1] - other[1]), 2))
