"""Measures a tour; the towns are drawn once and for all."""

import math
import random

draw = random.Random(40)
TOWNS = [[draw.random(), draw.random()] for _ in range(40)]


def inputs():
    """One call of solve(), with one argument."""
    return [[TOWNS]]


def score(outputs, program):  # noqa: ARG001 - every scorer is given the program too
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    tour = output["value"]
    whole = isinstance(tour, list) and all(isinstance(town, int) and not isinstance(town, bool) for town in tour)
    if not whole or sorted(tour) != list(range(len(TOWNS))):
        return {"error": "solve(towns) must return every index once"}
    steps = [math.dist(TOWNS[here], TOWNS[there]) for here, there in zip(tour, tour[1:] + tour[:1], strict=True)]
    return {"length": math.fsum(steps), "feedback": f"longest step {max(steps):.3f}"}
