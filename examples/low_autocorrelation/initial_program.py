"""55 signs that agree as little as possible with themselves, moved along: a chirp cut to signs, then a few flips.

Only what stands between the two markers may change.
"""

import math

LENGTH = 55

# EVOLVE-BLOCK-START
SWEEP = 0.0071  # how fast the chirp's frequency rises
TONE = 0.05  # and where it begins
PHASE = 0.25
RIPPLE = 0.0
FLIPS = 4  # at most 40 are tried


def start(index):
    """Above 0 where the sequence begins with +1."""
    turns = SWEEP * index * index + TONE * index + PHASE
    return math.cos(2 * math.pi * turns) + RIPPLE * math.sin(0.7 * index)


def energy(bits):
    """Sum of the squared sidelobes; the signs are the bits of a whole number, and two that differ count -1."""
    total = 0
    for shift in range(1, LENGTH):
        pairs = LENGTH - shift
        differ = ((bits ^ bits >> shift) & ((1 << pairs) - 1)).bit_count()
        total += (pairs - 2 * differ) ** 2
    return total


def improve(bits):
    """Flip the sign that lowers the energy most."""
    return min([bits, *(bits ^ 1 << index for index in range(LENGTH))], key=energy)


# EVOLVE-BLOCK-END


def sequence():
    """55 signs, each 1 or -1."""
    bits = sum(1 << index for index in range(LENGTH) if start(index) > 0)
    for _ in range(min(int(FLIPS), 40)):
        bits = improve(bits)
    return [1 if bits >> index & 1 else -1 for index in range(LENGTH)]
