"""Scores 11 hexagons by the smallest hexagon that holds them."""

import hexagons


def score(outputs, program):
    return hexagons.score(outputs, 11)
