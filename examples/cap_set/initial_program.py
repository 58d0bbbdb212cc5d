"""A cap set in six dimensions over {0, 1, 2}: vectors are taken by priority, as long as no three stand in one line.

Only what stands between the two markers may change. `cap_set` below them takes every vector that still fits, so that
any priority gives a valid set.
"""

import itertools

# EVOLVE-BLOCK-START
DIGIT = [0.0, 0.3, 0.2]  # what a digit adds, by its value
PLACE = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]  # times what its place is worth
FILLED = [0.0, 0.1, 0.2, 0.7, 0.4, 0.5, 0.6]  # by the number of digits that are not 0
TWOS = [0.2, 0.0, 0.1, 0.0, 0.2, 0.0, 0.1]  # by the number of digits that are 2
NEXT = [0.1, 0.0, 0.0]  # for two neighbours, by their sum modulo 3
APART = [0.0, 0.1, 0.0]  # and for digits that stand three places apart


def priority(vector):
    """How early a vector is tried."""
    worth = sum(DIGIT[digit] * place for digit, place in zip(vector, PLACE, strict=True))
    worth += FILLED[6 - vector.count(0)] + TWOS[vector.count(2)]
    worth += sum(NEXT[(one + two) % 3] for one, two in itertools.pairwise(vector))
    return worth + sum(APART[(vector[place] + vector[place + 3]) % 3] for place in range(3))


# EVOLVE-BLOCK-END


def cap_set():
    """The vectors taken, each a list of six digits."""
    vectors = list(itertools.product(range(3), repeat=6))
    order = sorted(vectors, key=lambda vector: -float(priority(vector)))
    free, taken = set(vectors), []
    for vector in order:
        if vector in free:
            free.discard(vector)
            for other in taken:
                free.discard(tuple(-(one + two) % 3 for one, two in zip(vector, other, strict=True)))
            taken.append(vector)
    return [list(vector) for vector in taken]
