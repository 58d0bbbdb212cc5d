"""Scores 14 points in 3 dimensions by their largest and smallest distance."""

import distances


def score(outputs, program):
    return distances.score(outputs, 14, 3)
