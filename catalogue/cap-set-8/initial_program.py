"""A cap set in eight dimensions: vectors are taken by priority, as long as no three are on a line.

Only what stands between the two markers may change. `cap_set` below them takes every vector that still fits, so any
priority is valid.
"""

import itertools

import numpy as np

# EVOLVE-BLOCK-START
DIGIT = [0.0, 0.3, 0.2]  # what a digit adds, by its value
PLACE = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]  # times what its place is worth
FILLED = [0.0, 0.1, 0.2, 0.3, 0.7, 0.4, 0.5, 0.6, 0.3]  # by the number of digits that are not 0
NEXT = [0.1, 0.0, 0.0]  # for two neighbours, by their sum modulo 3
APART = [0.0, 0.1, 0.0]  # and for digits that stand four places apart


def priority(vector):
    """How early a vector is tried."""
    worth = sum(DIGIT[digit] * place for digit, place in zip(vector, PLACE, strict=True))
    worth += FILLED[8 - vector.count(0)]
    worth += sum(NEXT[(one + two) % 3] for one, two in itertools.pairwise(vector))
    return worth + sum(APART[(vector[place] + vector[place + 4]) % 3] for place in range(4))


# EVOLVE-BLOCK-END


def cap_set():
    """The vectors taken, each a list of eight digits."""
    vectors = list(itertools.product(range(3), repeat=8))
    digits, powers = np.array(vectors), 3 ** np.arange(7, -1, -1)
    order = sorted(range(len(vectors)), key=lambda place: -float(priority(vectors[place])))
    free, taken = np.ones(len(vectors), dtype=bool), []
    for place in order:
        if free[place]:
            if taken:
                free[(-(digits[place] + digits[taken]) % 3) @ powers] = False
            taken.append(place)
    return [list(vectors[place]) for place in taken]
