"""Vectors of four coordinates +-1 in 11 dimensions, and of one coordinate +-2.

Only what stands between the two markers may change. `vectors` below them takes every place for four coordinates that
still fits, so any order is valid: two places may share two coordinates at most.
"""

import itertools

# EVOLVE-BLOCK-START
WEIGHTS = [0.0, 0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4, 0.5, 0.05]
SPREAD = 0.3  # for places that stand far apart
SUMS = [0.0, 0.2, 0.1, 0.0, 0.3, 0.0, 0.1, 0.0, 0.2, 0.0, 0.0]  # by the sum of the places modulo 11


def priority(places):
    """How early four places are tried."""
    worth = sum(WEIGHTS[place] for place in places) + SUMS[sum(places) % 11]
    return worth + SPREAD * (places[3] - places[0]) / 10


# EVOLVE-BLOCK-END


def vectors():
    """The vectors, each of squared length 4."""
    taken = []
    for places in sorted(itertools.combinations(range(11), 4), key=lambda places: -float(priority(places))):
        if all(len(set(places) & set(other)) <= 2 for other in taken):
            taken.append(places)
    found = [[sign * 2 if place == here else 0 for place in range(11)] for here in range(11) for sign in (1, -1)]
    for places in taken:
        for signs in itertools.product((1, -1), repeat=4):
            vector = [0] * 11
            for place, sign in zip(places, signs, strict=True):
                vector[place] = sign
            found.append(vector)
    return found
