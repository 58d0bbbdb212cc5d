"""Scores 16 points in 2 dimensions by their largest and smallest distance."""

import distances


def score(outputs, program):
    return distances.score(outputs, 16, 2)
