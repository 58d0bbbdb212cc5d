"""Works out the energy by other means: the signs are bits, and differing pairs are counted."""


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    signs = outputs[0]["value"]
    if sorted(set(signs)) not in ([-1], [1], [-1, 1]) or len(signs) != 60:
        return {"error": "the sequence must have 60 signs"}
    bits = sum(1 << place for place, sign in enumerate(signs) if sign > 0)
    total = 0
    for shift in range(1, 60):
        differ = ((bits ^ (bits >> shift)) & ((1 << (60 - shift)) - 1)).bit_count()
        total += (60 - shift - 2 * differ) ** 2
    return {"energy": total}
