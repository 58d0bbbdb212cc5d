"""Counts the multiplications of a scheme by other means."""

import verify_schemes


def score(outputs, program):
    return verify_schemes.score(outputs, (4, 4, 4))
