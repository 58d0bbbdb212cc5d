"""The first autocorrelation inequality.

Only what stands between the two markers may change.
"""

import math

# EVOLVE-BLOCK-START
STEPS = 60  # at most 600
LEVEL = 1.0
WAVES = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def value(x):
    """The function at x, from 0 to 1 over its whole range."""
    worth = LEVEL
    for number, height in enumerate(WAVES, start=1):
        worth += height * math.cos(2 * math.pi * number * (x - 0.5))
    return worth


# EVOLVE-BLOCK-END


def steps():
    """The values of the steps."""
    count = min(max(int(STEPS), 1), 600)
    return [max(0.0, float(value((place + 0.5) / count))) for place in range(count)]
