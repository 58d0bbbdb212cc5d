"""Checks the distances of 14 points by other means."""

import verify_distances


def score(outputs, program):
    return verify_distances.score(outputs, 14, 3)
