"""Checks 13 points in relation to their convex hull by other means."""

import verify_triangles


def score(outputs, program):
    return verify_triangles.score(outputs, 13, convex=True)
