"""A grid of square cells, each with the points that lie in it."""

import math

# Points that a cell holds on average.
POINTS_A_CELL = 90.0


class Grid:
    """The cells of some points."""

    def __init__(self, points):
        xs = [x for x, _ in points]
        ys = [y for _, y in points]
        self.left, self.bottom = min(xs), min(ys)
        width = max(max(xs) - self.left, max(ys) - self.bottom, 1e-9)
        self.side = width * math.sqrt(POINTS_A_CELL / len(points))
        self.last = int(width / self.side)
        self.cells = {}
        for point in points:
            self.cells.setdefault(self.cell(point), []).append(point)

    def cell(self, point):
        """Column and row of the cell that a place lies in, or is nearest to."""
        column = int((point[0] - self.left) // self.side)
        row = int((point[1] - self.bottom) // self.side)
        return min(max(column, 0), self.last), min(max(row, 0), self.last)

    def ring(self, cell, radius):
        """The points of all cells whose columns and rows are at most so far away, and one of them exactly."""
        found = []
        for column in range(cell[0] - radius, cell[0] + radius + 1):
            for row in range(cell[1] - radius, cell[1] + radius + 1):
                if max(abs(column - cell[0]), abs(row - cell[1])) == radius:
                    found.extend(self.cells.get((column, row), []))
        return found
