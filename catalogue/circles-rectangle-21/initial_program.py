"""21 circles in a rectangle of perimeter 4: centres, relaxed a little, then circles as large as they fit.

Only what stands between the two markers may change.
"""

import math


def pack():
    """The width, and entries [x, y, radius]."""
    width = min(max(float(WIDTH), 0.1), 1.9)
    return [width, fitted(layout()[:21], width, 2.0 - width - 1e-15)]


# EVOLVE-BLOCK-START
STEPS = 0  # at most 100 are made
PUSH = 0.02
WIDTH = 1.2  # of the rectangle; its height is 2 - WIDTH

CENTRES = [
    (0.1, 0.1), (0.3, 0.1), (0.5, 0.1), (0.7, 0.1), (0.9, 0.1), (1.1, 0.1), (0.1, 0.3), (0.3, 0.3), (0.5, 0.3),
    (0.7, 0.3), (0.9, 0.3), (1.1, 0.3), (0.1, 0.5), (0.3, 0.5), (0.5, 0.5), (0.7, 0.5), (0.9, 0.5), (1.1, 0.5),
    (0.1, 0.7), (0.3, 0.7), (0.5, 0.7),
]  # fmt: skip
