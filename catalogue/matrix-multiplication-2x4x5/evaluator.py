"""Counts the multiplications of a scheme."""

import schemes


def score(outputs, program):
    return schemes.score(outputs, (2, 4, 5))
