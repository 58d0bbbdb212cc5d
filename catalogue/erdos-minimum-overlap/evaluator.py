"""Scores a step function: erdős's minimum overlap."""

import steps


def score(outputs, program):
    return steps.score_overlap(outputs)
