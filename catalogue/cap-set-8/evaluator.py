"""Counts a cap set, after every pair of its vectors was checked in whole numbers.

Two different vectors a, b are on a line with exactly one third, -(a + b) modulo 3.
"""

DIMENSIONS = 8


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    vectors = outputs[0]["value"]
    if not isinstance(vectors, list) or len(vectors) > 3**DIMENSIONS:
        return {"error": "cap_set() must return a list of vectors"}
    for vector in vectors:
        if (
            not isinstance(vector, list)
            or len(vector) != DIMENSIONS
            or not all(type(part) is int and part in (0, 1, 2) for part in vector)
        ):
            return {"error": f"each vector must be a list of {DIMENSIONS} whole numbers, each 0, 1 or 2"}
    present = {tuple(vector) for vector in vectors}
    if len(present) < len(vectors):
        return {"error": "a vector is in the set twice"}
    ordered = sorted(present)
    for number, one in enumerate(ordered):
        for two in ordered[:number]:
            third = tuple((6 - a - b) % 3 for a, b in zip(one, two, strict=True))
            if third in present:
                return {"error": f"{list(two)}, {list(one)} and {list(third)} are on a line"}
    bare = sum(1 for vector in ordered if 0 not in vector)
    return {"size": len(ordered), "without_zero": bare, "view": drawn(ordered)}


def drawn(vectors):
    """How many vectors have how many digits 0."""
    bars = [sum(1 for vector in vectors if vector.count(0) == zeros) for zeros in range(DIMENSIONS + 1)]
    return {"series": [{"name": "vectors by digits 0", "y": bars, "kind": "bars"}]}
