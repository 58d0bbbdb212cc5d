"""A tour, town by town, by the rules of the other file."""

from rules import first, preference


def solve(towns):
    # EVOLVE-BLOCK-START
    tour = [first(towns)]
    while len(tour) < len(towns):
        here = towns[tour[-1]]
        left = [town for town in range(len(towns)) if town not in tour]
        tour.append(max(left, key=lambda town: preference(here, towns[town])))
    # EVOLVE-BLOCK-END
    return tour
