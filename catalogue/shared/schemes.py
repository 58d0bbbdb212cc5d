"""Schemes of matrix multiplication with few multiplications, checked in whole numbers.

The product of an n x m and an m x p matrix is a tensor. A term (u, v, w) multiplies a combination u of the entries of
the first matrix by a combination v of those of the second, and adds the product to the result with the weights w. Terms
that leave a rest are completed: every entry of the rest that is not 0 takes one more multiplication. So any list of
terms is a scheme, and the empty list is the schoolbook's.
"""

LARGEST = 64
MAX_TERMS = 400


def score(outputs, sizes):
    """Count the multiplications of a scheme for matrices of these sizes."""
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    lengths = [sizes[0] * sizes[1], sizes[1] * sizes[2], sizes[0] * sizes[2]]
    terms, complaint = _read(outputs[0]["value"], lengths)
    if complaint:
        return {"error": complaint}
    left = rest(terms, sizes)
    return {
        "multiplications": len(terms) + len(left),
        "terms": len(terms),
        "feedback": f"{len(terms)} terms leave {len(left)} entries of the tensor, which take a multiplication each",
        "view": _drawn(left, sizes),
    }


def rest(terms, sizes):
    """What the terms leave of the tensor, by place."""
    rows, inner, columns = sizes
    found = {
        (i * inner + j, j * columns + k, i * columns + k): 1
        for i in range(rows)
        for j in range(inner)
        for k in range(columns)
    }
    for one, two, three in terms:
        for a, first in enumerate(one):
            for b, second in enumerate(two) if first else ():
                for c, third in enumerate(three) if second else ():
                    if third:
                        found[a, b, c] = found.get((a, b, c), 0) - first * second * third
    return {place: value for place, value in found.items() if value}


def _read(value, lengths):
    if not isinstance(value, list) or len(value) > MAX_TERMS:
        return [], f"the program must return a list of at most {MAX_TERMS} terms"
    for number, term in enumerate(value):
        if not isinstance(term, list) or len(term) != 3:
            return [], f"term {number} must be three lists [u, v, w]"
        for part, length in zip(term, lengths, strict=True):
            if not isinstance(part, list) or len(part) != length or not all(map(_is_whole, part)):
                return [], f"term {number}: each list must have {length} whole numbers of at most {LARGEST}"
    return value, ""


def _is_whole(part):
    return isinstance(part, int) and not isinstance(part, bool) and abs(part) <= LARGEST


def _drawn(left, sizes):
    """How many entries are left for each entry of the result."""
    count = sizes[0] * sizes[2]
    numbers = [sum(1 for _, _, entry in left if entry == place) for place in range(count)]
    return {"series": [{"name": "left, by entry of the result", "y": numbers, "kind": "bars"}]}
