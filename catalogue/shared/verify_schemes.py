"""A second check of schemes, written apart from the first: matrices are multiplied by them, and compared.

The entries are powers of a number that is larger than all that can come of the terms, so equal products of these
matrices mean equal schemes: no two different polynomials of so small coefficients agree there.
"""


def score(outputs, sizes):
    """Count the multiplications of a scheme."""
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    rows, inner, columns = sizes
    terms = outputs[0]["value"]
    weights = [weight for term in terms for part in term for weight in part] if type(terms) is list else [None]
    if {*map(type, weights)} - {int}:
        return {"error": "the terms are not lists of whole numbers"}
    base = 2**40
    one = [base**place for place in range(rows * inner)]
    two = [base ** (rows * inner * place) for place in range(inner * columns)]
    left = 0
    for entry in range(rows * columns):
        row, column = divmod(entry, columns)
        wanted = sum(one[row * inner + j] * two[j * columns + column] for j in range(inner))
        reached = sum(w[entry] * _dot(u, one) * _dot(v, two) for u, v, w in terms)
        left += _digits(wanted - reached, base)
    return {"multiplications": len(terms) + left}


def _dot(weights, entries):
    return sum(weight * entry for weight, entry in zip(weights, entries, strict=True))


def _digits(number, base):
    """How many balanced digits of a number are not 0: the entries of the tensor that are left."""
    count = 0
    while number:
        digit = (number + base // 2) % base - base // 2
        count += bool(digit)
        number = (number - digit) // base
    return count
