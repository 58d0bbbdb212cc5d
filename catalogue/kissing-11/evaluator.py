"""Counts vectors of whole numbers that no smaller distance than the largest length separates."""

DIMENSIONS = 11
LARGEST = 10**6


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    vectors = outputs[0]["value"]
    if not isinstance(vectors, list) or not 1 <= len(vectors) <= 1000:
        return {"error": "vectors() must return a list of 1 to 1,000 vectors"}
    for number, vector in enumerate(vectors):
        if not isinstance(vector, list) or len(vector) != DIMENSIONS or not all(map(is_whole, vector)):
            return {"error": f"vector {number} must have {DIMENSIONS} whole numbers of at most {LARGEST}"}
    lengths = [sum(part * part for part in vector) for vector in vectors]
    longest = max(lengths)
    if not min(lengths):
        return {"error": f"vector {lengths.index(0)} is zero"}
    for number, one in enumerate(vectors):
        for other in range(number):
            # |a - b|^2 = |a|^2 + |b|^2 - 2 a b
            product = sum(a * b for a, b in zip(one, vectors[other], strict=True))
            if lengths[number] + lengths[other] - 2 * product < longest:
                return {"error": f"vectors {other} and {number} are nearer than the longest vector is long"}
    return {"count": len(vectors), "longest": longest, "view": drawn(vectors)}


def drawn(vectors):
    """How many vectors have how many coordinates that are not 0."""
    filled = [sum(1 for part in vector if part) for vector in vectors]
    bars = [filled.count(count) for count in range(1, DIMENSIONS + 1)]
    return {"series": [{"name": "vectors by filled coordinates", "x": list(range(1, 12)), "y": bars, "kind": "bars"}]}


def is_whole(part):
    return isinstance(part, int) and not isinstance(part, bool) and abs(part) <= LARGEST
