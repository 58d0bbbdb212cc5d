"""Bounds the density of the primes by weights whose sum of floors is computed for every x of a period."""

import math

import numpy as np

MILLION = 1_000_000
MAX_PERIOD, MAX_COUNT, LARGEST = 720_720, 240, 10


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    weights, complaint = read(outputs[0]["value"])
    if complaint:
        return {"error": complaint}
    period = math.lcm(*weights)
    # In units of 1 / (million * period): then f(1) = -sum of f(k) / k is whole.
    whole = {k: weight * period for k, weight in weights.items()}
    whole[1] = -sum(weight * (period // k) for k, weight in weights.items())
    steps = np.zeros(period + 1, dtype=np.int64)
    for k, weight in whole.items():
        steps[k::k] += weight
    sums = np.cumsum(steps)  # S(x) for x from 0 to a period, at which it is 0 again
    highest, unit = int(sums.max()), MILLION * period
    gained = math.fsum(-weight * math.log(k) / (k * MILLION) for k, weight in weights.items())
    density = (gained - 1e-12) / max(1.0, highest / unit * (1 + 1e-15))
    return {
        "density": max(0.0, density),
        "support": len(weights),
        "feedback": f"the largest sum is {highest / unit:.6f}, at x = {int(sums.argmax())} of a period of {period}",
        "view": {"series": [{"name": "S(x)", "y": (sums[:400] / unit).tolist()}]},
    }


def read(value):
    """Weights in millionths, by k."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_COUNT:
        return {}, f"weights() must return 1 to {MAX_COUNT} pairs [k, f]"
    weights = {}
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int or not 2 <= pair[0] <= MAX_PERIOD:
            return {}, f"each entry must be [k, f] with a whole number k from 2 to {MAX_PERIOD}"
        if isinstance(pair[1], bool) or not isinstance(pair[1], (int, float)) or not abs(pair[1]) <= LARGEST:
            return {}, f"each f must be a number of at most {LARGEST}"
        if pair[0] in weights:
            return {}, f"{pair[0]} has two weights"
        weights[pair[0]] = round(pair[1] * MILLION)
    if math.lcm(*weights) > MAX_PERIOD:
        return {}, f"the least common multiple of all k is {math.lcm(*weights)}, above {MAX_PERIOD}"
    return weights, ""
