"""The index: the point nearest to a place, and the points within a distance of it."""

from nearby.distance import distance
from nearby.grid import Grid

# Rings that are looked at beyond those that may hold a nearer point.
SPARE_RINGS = 2


class Index:
    """Points that are asked for by places."""

    def __init__(self, points):
        if not points:
            raise ValueError("an index needs at least one point")
        self.points = list(points)
        self.grid = Grid(self.points)

    def nearest(self, place):
        """The point that is nearest to a place."""
        cell = self.grid.cell(place)
        best, shortest = None, float("inf")
        spare = SPARE_RINGS
        for radius in range(self.grid.last + 1):
            for point in self.grid.ring(cell, radius):
                if distance(place, point) < shortest:
                    best, shortest = point, distance(place, point)
            if best is not None and shortest <= radius * self.grid.side - self.outside(place):
                if spare <= 0:
                    break
                spare -= 1
        return best

    def within(self, place, reach):
        """The points at most so far from a place, the nearest first."""
        found = [point for point in self.points if distance(place, point) <= reach]
        return sorted(found, key=lambda point: (distance(place, point), point))

    def outside(self, place):
        """How far a place is from the cell that it is taken to lie in."""
        column, row = self.grid.cell(place)
        left = self.grid.left + column * self.grid.side
        bottom = self.grid.bottom + row * self.grid.side
        across = max(left - place[0], place[0] - left, 0.0)
        along = max(bottom - place[1], place[1] - bottom, 0.0)
        return max(across, along)
