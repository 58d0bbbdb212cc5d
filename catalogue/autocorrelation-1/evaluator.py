"""Scores a step function: the first autocorrelation inequality."""

import steps


def score(outputs, program):
    return steps.score_first(outputs)
