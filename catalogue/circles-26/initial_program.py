"""26 circles in the unit square: centres, relaxed a little, then circles as large as they fit.

Only what stands between the two markers may change.
"""

import math


def pack():
    """Entries [x, y, radius]."""
    return fitted(layout()[:26], 1.0, 1.0)


# EVOLVE-BLOCK-START
STEPS = 0  # at most 100 are made
PUSH = 0.02

CENTRES = [
    (0.1, 0.1), (0.3, 0.1), (0.5, 0.1), (0.7, 0.1), (0.9, 0.1), (0.1, 0.3), (0.3, 0.3), (0.5, 0.3), (0.7, 0.3),
    (0.9, 0.3), (0.1, 0.5), (0.3, 0.5), (0.5, 0.5), (0.7, 0.5), (0.9, 0.5), (0.1, 0.7), (0.3, 0.7), (0.5, 0.7),
    (0.7, 0.7), (0.9, 0.7), (0.1, 0.9), (0.3, 0.9), (0.5, 0.9), (0.7, 0.9), (0.9, 0.9), (0.2, 0.2),
]  # fmt: skip
