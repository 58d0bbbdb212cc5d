"""The time of an index as a share of the time of a look at every point; prints it as share."""

import math
import random
import time

from nearby import Index


def seconds(answer, asked):
    """How long some questions take."""
    began = time.perf_counter()
    for place in asked:
        answer(place)
    return time.perf_counter() - began


def main():
    """Build an index, and ask it and every point in turns."""
    rng = random.Random(7)
    points = [(rng.random(), rng.random()) for _ in range(2000)]
    asked = [(rng.random(), rng.random()) for _ in range(40)]
    index = Index(points)
    plain, indexed = [], []
    for _ in range(7):
        plain.append(seconds(lambda place: min(points, key=lambda point: math.dist(place, point)), asked))
        indexed.append(seconds(index.nearest, asked))
    print(f"share: {min(indexed) / min(plain):.5f}")


if __name__ == "__main__":
    main()
