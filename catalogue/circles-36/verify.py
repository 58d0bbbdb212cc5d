"""Checks 36 circles in the unit square by other means."""

import verify_circles


def score(outputs, program):
    return verify_circles.score(outputs, 36)
