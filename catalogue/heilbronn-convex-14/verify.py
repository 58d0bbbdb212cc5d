"""Checks 14 points in relation to their convex hull by other means."""

import verify_triangles


def score(outputs, program):
    return verify_triangles.score(outputs, 14, convex=True)
