"""Checks 12 hexagons in a hexagon by other means."""

import verify_hexagons


def score(outputs, program):
    return verify_hexagons.score(outputs, 12)
