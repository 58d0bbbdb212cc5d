"""Scores 14 points in relation to their convex hull."""

import triangles


def score(outputs, program):
    return triangles.score_convex(outputs, 14)
