"""The third autocorrelation inequality.

Only what stands between the two markers may change.
"""

import math


def steps():
    """The values of the steps."""
    count = min(max(int(STEPS), 1), 600)
    return [float(value((place + 0.5) / count)) for place in range(count)]


# EVOLVE-BLOCK-START
STEPS = 60  # at most 600
