"""Scores a step function: the second autocorrelation inequality."""

import steps


def score(outputs, program):
    return steps.score_second(outputs)
