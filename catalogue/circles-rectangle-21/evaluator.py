"""Scores 21 circles in a rectangle of perimeter 4."""

import circles


def score(outputs, program):
    return circles.score_rectangle(outputs, 21)
