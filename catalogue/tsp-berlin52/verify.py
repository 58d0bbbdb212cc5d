"""Adds up the length of a tour by other means: TSPLIB's own text and rule, in decimals."""

from decimal import ROUND_HALF_UP, Decimal

# NODE_COORD_SECTION of berlin52.tsp in order, without the numbers.
SECTION = """
565 575, 25 185, 345 750, 945 685, 845 655, 880 660, 25 230, 525 1000, 580 1175, 650 1130, 1605 620, 1220 580,
1465 200, 1530 5, 845 680, 725 370, 145 665, 415 635, 510 875, 560 365, 300 465, 520 585, 480 415, 835 625,
975 580, 1215 245, 1320 315, 1250 400, 660 180, 410 250, 420 555, 575 665, 1150 1160, 700 580, 685 595,
685 610, 770 610, 795 645, 720 635, 760 650, 475 960, 95 260, 875 920, 700 500, 555 815, 830 485, 1170 65,
830 610, 605 625, 595 360, 1340 725, 1740 245
"""


def nodes():
    """x and y by TSPLIB's numbers, from 1 on."""
    pairs = (pair.split() for pair in SECTION.replace("\n", " ").split(","))
    return {number: tuple(map(Decimal, pair)) for number, pair in enumerate(pairs, start=1)}


def inputs():
    return [[[[int(x), int(y)] for x, y in nodes().values()]]]


def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    tour, left = [], set(nodes())
    for place in outputs[0]["value"]:
        if place + 1 not in left:
            return {"error": f"the tour has the place {place} twice, or it is not there"}
        left.remove(place + 1)
        tour.append(place + 1)
    if left:
        return {"error": f"the tour leaves out {len(left)} places"}
    total, here = Decimal(0), tour[-1]
    for following in tour:
        total += euc_2d(here, following)
        here = following
    return {"length": int(total)}


def euc_2d(one, two):
    """TSPLIB's EUC_2D: the distance, rounded to the nearest whole number."""
    (x, y), (u, v) = nodes()[one], nodes()[two]
    return ((x - u) * (x - u) + (y - v) * (y - v)).sqrt().to_integral_value(ROUND_HALF_UP)
