"""Online bin packing: how much a bin is preferred for the item at hand. The seed is best fit: the tightest bin first.

Only what stands between the two markers may change. `table` below them asks for every item and every room there can be.
"""

CAPACITY = 150

# EVOLVE-BLOCK-START
TIGHT = [0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0, -10.0, -11.0, -12.0, -13.0, -14.0, -15.0]
LOOSE = -1.0  # for each unit of room that is left beyond those in the list
FRESH = 0.0  # added for a bin that is still empty


def priority(item, room):
    """How much a bin with so much room is wanted for an item of this size. The largest wins."""
    left = room - item
    worth = TIGHT[left] if left < len(TIGHT) else LOOSE * left
    if room == CAPACITY:
        worth += FRESH
    return worth


# EVOLVE-BLOCK-END


def table():
    """Row by row for items of size 20 to 100: the priority of bins with room for it."""
    return [[float(priority(item, room)) for room in range(item, CAPACITY + 1)] for item in range(20, 101)]
