"""A set of numbers whose digits, in some base, come from a small set of digits.

Only what stands between the two markers may change.
"""

import itertools

# EVOLVE-BLOCK-START
DIGITS = [0, 1, 3]
BASE = 7  # at least twice the largest digit and one more keeps sums apart
PLACES = 3
MAX_SUM = 9  # of the digits of a number


def chosen():
    """The numbers."""
    kept = [digits for digits in itertools.product(DIGITS, repeat=min(int(PLACES), 5)) if sum(digits) <= MAX_SUM]
    return [sum(digit * int(BASE) ** place for place, digit in enumerate(digits)) for digits in kept]


# EVOLVE-BLOCK-END


def numbers():
    """Different numbers from 0 on."""
    found = sorted({int(number) for number in chosen()})[:2003]
    return [number - found[0] for number in found]
