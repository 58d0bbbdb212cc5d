"""Works out the energy of a sequence of signs in whole numbers."""

LENGTH = 60


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    signs = outputs[0]["value"]
    if (
        not isinstance(signs, list)
        or len(signs) != LENGTH
        or not all(type(sign) is int and abs(sign) == 1 for sign in signs)
    ):
        return {"error": f"sequence() must return a list of {LENGTH} whole numbers, each 1 or -1"}
    lobes = [sum(signs[here] * signs[here + shift] for here in range(LENGTH - shift)) for shift in range(1, LENGTH)]
    worst = max(range(1, LENGTH), key=lambda shift: abs(lobes[shift - 1]))
    return {
        "energy": sum(lobe * lobe for lobe in lobes),
        "feedback": f"the largest sidelobe is {lobes[worst - 1]} at shift {worst}",
        "view": {"series": [{"name": "sidelobes", "y": lobes, "kind": "bars"}]},
    }
