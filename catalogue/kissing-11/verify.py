"""Counts kissing vectors by other means: the differences themselves, with numbers of any size."""


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    vectors = outputs[0]["value"]
    if any(len(vector) != 11 or any(type(part) is not int for part in vector) for vector in vectors):
        return {"error": "a vector does not have 11 whole numbers"}
    reach = max(sum(part**2 for part in vector) for vector in vectors)
    for place, one in enumerate(vectors):
        for two in vectors[place + 1 :]:
            if sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) < reach:
                return {"error": f"vector {place} is too near to a later one"}
    return {"count": len(vectors)} if reach else {"error": "all vectors are zero"}
