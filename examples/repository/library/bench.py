"""The time of a hundred questions to an index; prints the shortest of three rounds."""

import random
import time

from nearby import Index


def main():
    """Build an index and ask it."""
    rng = random.Random(7)
    points = [(rng.random(), rng.random()) for _ in range(2000)]
    asked = [(rng.random(), rng.random()) for _ in range(100)]
    index = Index(points)
    rounds = []
    for _ in range(3):
        began = time.perf_counter()
        for place in asked:
            index.nearest(place)
        rounds.append(time.perf_counter() - began)
    print(f"milliseconds: {1000 * min(rounds):.3f}")


if __name__ == "__main__":
    main()
