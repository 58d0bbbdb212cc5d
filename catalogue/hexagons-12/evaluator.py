"""Scores 12 hexagons by the smallest hexagon that holds them."""

import hexagons


def score(outputs, program):
    return hexagons.score(outputs, 12)
