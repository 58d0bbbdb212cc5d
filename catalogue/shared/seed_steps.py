LEVEL = 1.0
WAVES = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def value(x):
    """The function at x, from 0 to 1 over its whole range."""
    worth = LEVEL
    for number, height in enumerate(WAVES, start=1):
        worth += height * math.cos(2 * math.pi * number * (x - 0.5))
    return worth


# EVOLVE-BLOCK-END
