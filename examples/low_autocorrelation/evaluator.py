"""Works out the merit factor of a sequence of signs, in whole numbers up to the last division."""

from itertools import pairwise

LENGTH = 55


def score(outputs, program):  # noqa: ARG001 - every scorer is given the program too
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    signs = output["value"]
    if not isinstance(signs, list) or len(signs) != LENGTH or not all(is_sign(sign) for sign in signs):
        return {"error": f"sequence() must return a list of {LENGTH} whole numbers, each 1 or -1"}
    agreed = [sum(signs[here] * signs[here + shift] for here in range(LENGTH - shift)) for shift in range(1, LENGTH)]
    energy = sum(count * count for count in agreed)
    worst = max(range(1, LENGTH), key=lambda shift: abs(agreed[shift - 1]))
    return {
        "merit_factor": LENGTH * LENGTH / (2 * energy),
        "energy": energy,
        "runs": 1 + sum(one != two for one, two in pairwise(signs)),
        "feedback": f"energy {energy}; largest sidelobe {agreed[worst - 1]} at shift {worst}",
    }


def is_sign(sign):
    return isinstance(sign, int) and not isinstance(sign, bool) and sign in (1, -1)
