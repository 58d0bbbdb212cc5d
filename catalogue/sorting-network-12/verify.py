"""Checks a network by other means: each input of zeros and ones goes through it on its own."""


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    network = outputs[0]["value"]
    for number in range(4096):
        values = [number >> place & 1 for place in range(12)]
        for a, b in network:
            if values[a] > values[b]:
                values[a], values[b] = values[b], values[a]
        if values != sorted(values):
            return {"error": f"{number} is not sorted"}
    return {"comparators": len(network)}
