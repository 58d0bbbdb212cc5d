"""26 circles in the unit square: centres on three rings, moved apart step by step, then as large as they fit.

Only what stands between the two markers may change. `pack` below them makes any layout a valid packing.
"""

import numpy as np

# EVOLVE-BLOCK-START
STEPS = 10  # at most 60 are made
GROWTH = 0.02
PUSH = 0.1
YIELD = 0.05

CENTRES = [
    (0.500, 0.500),
    (0.719, 0.517),
    (0.643, 0.667),
    (0.483, 0.719),
    (0.333, 0.643),
    (0.281, 0.483),
    (0.357, 0.333),
    (0.517, 0.281),
    (0.667, 0.357),
    (0.939, 0.532),
    (0.897, 0.689),
    (0.802, 0.820),
    (0.667, 0.907),
    (0.508, 0.940),
    (0.349, 0.913),
    (0.210, 0.831),
    (0.110, 0.703),
    (0.063, 0.549),
    (0.075, 0.387),
    (0.144, 0.241),
    (0.261, 0.130),
    (0.411, 0.069),
    (0.573, 0.066),
    (0.725, 0.122),
    (0.846, 0.228),
    (0.921, 0.372),
]


def start():
    """The first guess: 26 centres and radii."""
    return np.array(CENTRES), np.full(26, 0.08)


def move(centres, radii):
    """One step: circles grow, those that overlap push one another away and yield."""
    radii = radii * (1.0 + GROWTH)
    apart = centres[:, None] - centres[None, :]
    distance = np.hypot(apart[..., 0], apart[..., 1]) + np.eye(26)
    overlap = np.maximum(0.0, radii[:, None] + radii[None, :] - distance) * (1.0 - np.eye(26))
    low = np.maximum(0.0, radii[:, None] - centres)
    high = np.maximum(0.0, centres + radii[:, None] - 1.0)
    push = (apart * (overlap / distance)[..., None]).sum(axis=1) + 2.0 * (low - high)
    pressure = overlap.sum(axis=1) + (low + high).sum(axis=1)
    return centres + PUSH * push, radii - YIELD * pressure


# EVOLVE-BLOCK-END


def pack():
    """26 entries [x, y, radius]."""
    centres, radii = start()
    for _ in range(min(int(STEPS), 60)):
        centres, radii = move(centres, radii)
    centres = np.clip(centres, 0.0, 1.0)
    return [[*centre, radius] for centre, radius in zip(centres.tolist(), fit(centres, radii).tolist(), strict=True)]


def fit(centres, radii):
    """The radii made valid: shrunk where circles overlap, then grown in turn up to the next one.

    Radii that are valid and cannot grow stay as they are, but for a hair against rounding.
    """
    walls = np.minimum(centres, 1.0 - centres).min(axis=1)
    apart = centres[:, None] - centres[None, :]
    distance = np.hypot(apart[..., 0], apart[..., 1]) + np.diag(np.full(26, np.inf))
    radii = np.clip(radii, 1e-9, np.maximum(walls, 1e-9))
    radii = radii * np.minimum(1.0, (distance / (radii[:, None] + radii[None, :])).min(axis=1))
    for index in range(26):
        radii[index] = min(walls[index], (distance[index] - radii).min())
    return np.maximum(radii - 1e-12, 0.0)
