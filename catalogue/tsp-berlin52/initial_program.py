"""A round trip: nearest neighbours with a bias, then pieces turned round.

Only what stands between the two markers may change. `tour` below them makes any order a valid tour.
"""

import math

# EVOLVE-BLOCK-START
START = 0
PULL = 0.0  # towards the middle of all places
ROUNDS = 0  # of turning pieces round, at most 5


def order(places):
    """The order of the places."""
    left = set(range(len(places)))
    found = [START % len(places)]
    left.discard(found[0])
    middle = (870, 550)
    while left:
        here = places[found[-1]]
        following = min(
            left, key=lambda place: math.dist(here, places[place]) + PULL * math.dist(middle, places[place])
        )
        found.append(following)
        left.discard(following)
    for _ in range(min(int(ROUNDS), 5)):
        found = turned(found, places)
    return found


def turned(found, places):
    """One pass over all pairs of roads, of which each that crosses another way is turned round."""
    count = len(found)
    for one in range(count - 1):
        for two in range(one + 2, count - (one == 0)):
            a, b, c, d = (places[found[place % count]] for place in (one, one + 1, two, two + 1))
            if math.dist(a, c) + math.dist(b, d) < math.dist(a, b) + math.dist(c, d):
                found[one + 1 : two + 1] = found[one + 1 : two + 1][::-1]
    return found


# EVOLVE-BLOCK-END


def tour(places):
    """Every place once."""
    wanted = [int(place) for place in order(places) if 0 <= place < len(places)]
    return list(dict.fromkeys([*wanted, *range(len(places))]))
