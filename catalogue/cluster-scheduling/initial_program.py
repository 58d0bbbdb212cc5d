"""Weights by which jobs wait for a cluster. The seed is first come, first served.

Only what stands between the two markers may change.
"""

# EVOLVE-BLOCK-START
# constant, wait, cores, duration, cores times duration, wait over duration
LOW = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
MIDDLE = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
HIGH = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]

# EVOLVE-BLOCK-END


def priority():
    """A row of six weights for low, middle and high load."""
    return [[float(weight) for weight in row] for row in (LOW, MIDDLE, HIGH)]
