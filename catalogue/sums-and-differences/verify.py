"""Counts sums and differences by other means: sorted lists, of which equal neighbours are left out."""

import itertools
import math


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    if {*map(type, outputs[0]["value"])} - {int}:
        return {"error": "a number is not whole"}
    numbers = sorted(outputs[0]["value"])
    if numbers[0] != 0 or any(one == two for one, two in itertools.pairwise(numbers)):
        return {"error": "a number is there twice, or 0 is missing"}
    sums = distinct([one + two for one, two in itertools.combinations_with_replacement(numbers, 2)])
    above = distinct([two - one for one, two in itertools.combinations(numbers, 2)])
    return {"exponent": 1 + math.log((2 * above + 1) / sums) / math.log(2 * numbers[-1] + 1) - 1e-14}


def distinct(found):
    return sum(1 for _ in itertools.groupby(sorted(found)))
