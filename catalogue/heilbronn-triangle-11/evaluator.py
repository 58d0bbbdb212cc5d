"""Scores 11 points in a triangle."""

import triangles


def score(outputs, program):
    return triangles.score_triangle(outputs, 11)
