"""60 signs: a chirp cut to signs, then flips that lower the energy most.

Only what stands between the two markers may change.
"""

import math

LENGTH = 60

# EVOLVE-BLOCK-START
SWEEP = 0.0065  # how fast the chirp's frequency rises
TONE = 0.05
PHASE = 0.25
RIPPLE = 0.0
FLIPS = 4  # at most 40 are tried


def start(index):
    """Above 0 where the sequence begins with +1."""
    turns = SWEEP * index * index + TONE * index + PHASE
    return math.cos(2 * math.pi * turns) + RIPPLE * math.sin(0.7 * index)


def improve(bits):
    """Flip the sign that lowers the energy most."""
    return min([bits, *(bits ^ 1 << index for index in range(LENGTH))], key=energy)


# EVOLVE-BLOCK-END


def energy(bits):
    """Sum of the squared sidelobes of signs that are the bits of a whole number."""
    total = 0
    for shift in range(1, LENGTH):
        differ = ((bits ^ bits >> shift) & ((1 << LENGTH - shift) - 1)).bit_count()
        total += (LENGTH - shift - 2 * differ) ** 2
    return total


def sequence():
    """60 signs, each 1 or -1."""
    bits = sum(1 << index for index in range(LENGTH) if start(index) > 0)
    for _ in range(min(int(FLIPS), 40)):
        bits = improve(bits)
    return [1 if bits >> index & 1 else -1 for index in range(LENGTH)]
