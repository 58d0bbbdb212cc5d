def layout():
    """The centres."""
    centres = CENTRES
    for _ in range(min(int(STEPS), 100)):
        centres = [moved(place, centres) for place in range(len(centres))]
    return centres


def moved(place, centres):
    """A centre, pushed away from its nearest neighbour."""
    x, y = centres[place]
    others = [(math.hypot(x - far_x, y - far_y), far_x, far_y) for far_x, far_y in centres if (far_x, far_y) != (x, y)]
    distance, far_x, far_y = min(others)
    return (x + PUSH * (x - far_x) / distance, y + PUSH * (y - far_y) / distance)


# EVOLVE-BLOCK-END


def fitted(centres, width, height):
    """Radii by a simple rule: half the way to the nearest centre, then grown one after the other."""
    centres = [(min(max(float(x), 0.0), width), min(max(float(y), 0.0), height)) for x, y in centres]
    walls = [min(x, y, width - x, height - y) for x, y in centres]
    apart = [[math.hypot(x - far_x, y - far_y) for far_x, far_y in centres] for x, y in centres]
    count = range(len(centres))
    radii = [min([walls[one], *(apart[one][two] / 2 for two in count if two != one)]) for one in count]
    for one in sorted(count, key=lambda place: -walls[place]):
        radii[one] = min([walls[one], *(apart[one][two] - radii[two] for two in count if two != one)])
    return [[x, y, max(radius - 1e-12, 0.0)] for (x, y), radius in zip(centres, radii, strict=True)]
