"""Checks 21 circles in a rectangle of perimeter 4 by other means."""

import verify_circles


def score(outputs, program):
    return verify_circles.score(outputs, 21, rectangle=True)
