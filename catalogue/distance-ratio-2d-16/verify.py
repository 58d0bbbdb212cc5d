"""Checks the distances of 16 points by other means."""

import verify_distances


def score(outputs, program):
    return verify_distances.score(outputs, 16, 2)
