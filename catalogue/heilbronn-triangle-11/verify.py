"""Checks 11 points in a triangle by other means."""

import verify_triangles


def score(outputs, program):
    return verify_triangles.score(outputs, 11, convex=False)
