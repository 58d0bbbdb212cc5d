"""Counts a cap set by other means: triples that add up to zero, by a Fourier transform over the eight places.

The sum over the transform's cubes is 3^8 times the number of ordered triples a + b + c = 0 modulo 3. A vector three
times is such a triple. Every further one is on a line, and adds 6.
"""

import numpy as np


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    vectors = outputs[0]["value"]
    if type(vectors) is not list or any(
        len(vector) != 8 or any(type(digit) is not int or digit not in range(3) for digit in vector)
        for vector in vectors
    ):
        return {"error": "a vector is not 8 digits of 0, 1 and 2"}
    present = np.zeros((3,) * 8)
    for vector in vectors:
        present[tuple(vector)] = 1.0
    count = int(present.sum())
    triples = (np.fft.fftn(present) ** 3).sum().real / 3**8
    if count != len(vectors) or abs(triples - count) > 0.5:
        return {"error": f"{count} different of {len(vectors)} vectors have {triples:.1f} triples that add up to zero"}
    return {"size": count}
