"""Scores a step function: the third autocorrelation inequality."""

import steps


def score(outputs, program):
    return steps.score_third(outputs)
