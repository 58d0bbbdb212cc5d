def layout():
    """Centre and direction of each."""
    return PLACED


# EVOLVE-BLOCK-END


def scaled(placed, factor):
    return [[x * factor, y * factor, degrees] for x, y, degrees in placed]


def valid(placed):
    shapes = [corners(*one) for one in placed]
    return all(
        math.dist(placed[one][:2], placed[two][:2]) >= 2
        or divided(shapes[one], shapes[two])
        or divided(shapes[two], shapes[one])
        for one in range(len(placed))
        for two in range(one)
    )


def corners(x, y, degrees):
    angles = [math.radians(degrees + 60 * turn) for turn in range(6)]
    return [(x + math.cos(angle), y + math.sin(angle)) for angle in angles]


def divided(one, two):
    """Whether a side of one has the other beyond it, by a hair more than needed."""
    for place in range(6):
        (x, y), (next_x, next_y) = one[place], one[(place + 1) % 6]
        if all((next_x - x) * (b - y) - (next_y - y) * (a - x) <= -1e-12 for a, b in two):
            return True
    return False
