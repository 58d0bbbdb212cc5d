"""A search for the lowest point of a bumpy landscape over the square [-1, 1] x [-1, 1].

Only what stands between the two markers may change. `solve` below them says where the search ended; what it believes to
have found there counts for nothing.
"""

import math


def height(x, y):
    """The landscape, as the scorer knows it, in the processor's own arithmetic."""
    bumps = math.exp(math.sin(50 * x)) + math.sin(60 * math.exp(y)) + math.sin(70 * math.sin(x))
    return bumps + math.sin(math.sin(80 * y)) - math.sin(10 * (x + y)) + (x * x + y * y) / 4


# EVOLVE-BLOCK-START
START = (0.6, 0.5)
STEP = 0.02
SHRINK = 0.8
ROUNDS = 12


def search():
    """Walk downhill along the axes; where no step leads down, take shorter ones."""
    x, y = START
    step = STEP
    best = height(x, y)
    for _ in range(ROUNDS):
        moved = False
        for dx, dy in ((step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)):
            there = height(x + dx, y + dy)
            if there < best:
                x, y, best, moved = x + dx, y + dy, there, True
        if not moved:
            step *= SHRINK
    return x, y


# EVOLVE-BLOCK-END


def solve():
    """The point [x, y] where the search ended, in the square."""
    return [min(1.0, max(-1.0, float(part))) for part in search()]
