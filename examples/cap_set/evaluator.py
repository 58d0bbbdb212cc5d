"""Counts a cap set, after every pair of its vectors was checked in whole numbers.

Two different vectors a, b lie on a line with exactly one third, -(a + b) modulo 3. A set in which that third is never
present holds no line.
"""

DIMENSIONS = 6


def score(outputs, program):  # noqa: ARG001 - every scorer is given the program too
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    vectors, complaint = read(output["value"])
    complaint = complaint or line_in(vectors)
    if complaint:
        return {"error": complaint}
    whole = sum(1 for vector in vectors if 0 not in vector)
    return {"size": len(vectors), "without_zero": whole, "feedback": f"{whole} of the vectors hold no 0"}


def read(value):
    """Different vectors of six digits, or a complaint."""
    if not isinstance(value, list):
        return [], "cap_set() must return a list of vectors"
    for vector in value:
        if not isinstance(vector, list) or len(vector) != DIMENSIONS or not all(is_digit(part) for part in vector):
            return [], f"each vector must be a list of {DIMENSIONS} whole numbers, each 0, 1 or 2"
    vectors = [tuple(vector) for vector in value]
    return (vectors, "") if len(set(vectors)) == len(vectors) else ([], "a vector stands in the set twice")


def is_digit(part):
    return isinstance(part, int) and not isinstance(part, bool) and 0 <= part <= 2


def line_in(vectors):
    """The first line that is found, in words, or an empty text."""
    present = set(vectors)
    for number, one in enumerate(vectors):
        for two in vectors[:number]:
            third = tuple(-(a + b) % 3 for a, b in zip(one, two, strict=True))
            if third in present:
                return f"{list(two)}, {list(one)} and {list(third)} lie on a line"
    return ""
