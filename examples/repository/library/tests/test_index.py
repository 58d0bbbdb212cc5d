"""The index gives what a look at every point gives."""

import math
import random
import unittest
from itertools import repeat

from nearby import Index


def drawn(seed, count):
    """Some points of the unit square."""
    rng = random.Random(seed)
    return [(rng.random(), rng.random()) for _ in range(count)]


def places(seed, count):
    """Some places in the unit square and around it."""
    rng = random.Random(seed)
    return [(rng.uniform(-0.5, 1.5), rng.uniform(-0.5, 1.5)) for _ in range(count)]


class IndexTest(unittest.TestCase):
    def test_nearest_is_the_nearest_of_all_points(self):
        for count in (1, 2, 7, 150, 1200):
            points = drawn(count, count)
            index = Index(points)
            for place in places(count + 1, 120):
                shortest = min(math.dist(place, point) for point in points)
                self.assertAlmostEqual(math.dist(place, index.nearest(place)), shortest, places=12)

    def test_nearest_finds_a_point_among_clusters(self):
        points = [(x + dx / 100, x + dx / 90) for x in (0.0, 0.9, 5.0) for dx in range(40)]
        index = Index(points)
        for place in places(5, 100):
            shortest = min(math.dist(place, point) for point in points)
            self.assertAlmostEqual(math.dist(place, index.nearest(place)), shortest, places=12)

    def test_nearest_is_found_in_a_fine_grid(self):
        points = drawn(9, 10_000)
        index = Index(points)
        for place in places(10, 150):
            shortest = min(map(math.dist, repeat(place), points))
            self.assertAlmostEqual(math.dist(place, index.nearest(place)), shortest, places=12)

    def test_a_farther_point_in_a_nearer_cell_is_not_the_answer(self):
        corner, side = math.sqrt(0.5), 0.985
        shifts = [number * 1e-6 for number in range(5000)]
        points = [(x * corner + shift * x, y * corner) for x in (-1, 1) for y in (-1, 1) for shift in shifts]
        points += [(x * side + shift * x, shift) for x in (-1, 1) for shift in shifts]
        points += [(shift, y * side + shift * y) for y in (-1, 1) for shift in shifts]
        index = Index(points)
        for place in [(0.0, 0.0), (0.001, -0.002), (-0.003, 0.001)]:
            shortest = min(math.dist(place, point) for point in points)
            self.assertAlmostEqual(math.dist(place, index.nearest(place)), shortest, places=12)

    def test_within_gives_all_points_in_reach_in_order(self):
        points = drawn(3, 400)
        index = Index(points)
        for place in places(4, 30):
            for reach in (0.01, 0.2, 3.0):
                inside = [point for point in points if math.dist(place, point) <= reach]
                wanted = sorted(inside, key=lambda point: (math.dist(place, point), point))
                self.assertEqual(index.within(place, reach), wanted)

    def test_an_index_of_nothing_is_refused(self):
        with self.assertRaises(ValueError):
            Index([])


if __name__ == "__main__":
    unittest.main()
