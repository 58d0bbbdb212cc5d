"""What the page of the grid reads out of its address, and what of the grid it shows."""

from collections.abc import Mapping

import pytest

from service.dashboard.views.grid import EDGE, FAINTEST, HEIGHT, WIDTH, Slice, bin_range, dots_of, lately, read_slice
from service.schemas.archives import Grid, GridAxis, GridCell

AXES = tuple(
    GridAxis(name=name, bins=bins, low=low, high=high, running=False)
    for name, bins, low, high in (("depth", 4, 0.0, 8.0), ("size", 3, None, None), ("speed", 2, 0.0, 1.0))
)


def cell(fitness: float, *bins: int) -> GridCell:
    return GridCell(
        bins=list(bins), values=[0.0] * len(bins), candidate_id="c", fitness=fitness, candidates=1, place=0, centre=None
    )


CELLS = [cell(5.0, 0, 0, 1), cell(4.0, 0, 0, 0), cell(3.0, 1, 2, 0), cell(2.0, 1, 1, 0)]


@pytest.mark.parametrize(
    ("x", "y", "params", "expected"),
    [
        ("", "", {}, Slice(x=0, y=1, fixed={})),
        ("speed", "depth", {"at1": "2"}, Slice(x=2, y=0, fixed={1: 2})),
        ("size", "size", {"at1": "0", "at2": "1"}, Slice(x=1, y=0, fixed={2: 1})),
        ("nothing", "depth", {"at2": "2"}, Slice(x=1, y=0, fixed={})),
        ("", "", {"at2": "-1"}, Slice(x=0, y=1, fixed={})),
        ("", "", {"at2": "9" * 5000}, Slice(x=0, y=1, fixed={})),
    ],
)
def test_an_address_names_two_axes_and_bins_of_the_others(
    x: str, y: str, params: Mapping[str, str], expected: Slice
) -> None:
    assert read_slice(AXES, x, y, params) == expected


def test_a_single_axis_is_drawn_alone() -> None:
    assert read_slice(AXES[:1], "", "", {}) == Slice(x=0, y=None, fixed={})
    assert [one.fitness for one in Slice(x=0, y=None, fixed={}).cells(CELLS)] == [5.0, 3.0]


@pytest.mark.parametrize(("fixed", "fitness"), [({}, [5.0, 3.0, 2.0]), ({2: 0}, [4.0, 3.0, 2.0]), ({2: 1}, [5.0])])
def test_a_picture_shows_the_fittest_over_what_is_open(fixed: dict[int, int], fitness: list[float]) -> None:
    assert [one.fitness for one in Slice(x=0, y=1, fixed=fixed).cells(CELLS)] == fitness


def test_bins_divide_the_range_of_their_axis() -> None:
    assert [bin_range(AXES[0], place) for place in (0, 3)] == [(0.0, 2.0), (6.0, 8.0)]
    assert bin_range(AXES[1], 0) == (None, None)


def test_lately_is_the_last_tenth() -> None:
    assert [lately(evaluated) for evaluated in (0, 5, 100)] == [0, 4, 90]


def held(fitness: float, *values: float) -> GridCell:
    return cell(fitness, 0).model_copy(update={"values": list(values), "centre": [0.0] * len(values)})


def test_dots_stand_where_the_measures_of_programs_are_and_the_fittest_is_the_strongest() -> None:
    cells = [held(3.0, 8.0, 5.0, 1.0), held(2.0, 4.0, 5.0, 0.5), held(1.0, -9.0, 5.0, 0.0)]
    grid = Grid(run_id="run_1", axes=list(AXES), cells=cells, filled=3, evaluations=9, size=50, tessellation=True)
    best, middle, worst = dots_of(grid, Slice(x=0, y=2, fixed={}))
    assert [(dot.x, dot.y) for dot in (best, middle, worst)] == [
        (WIDTH - EDGE, EDGE),
        (WIDTH / 2, HEIGHT / 2),
        (EDGE, HEIGHT - EDGE),
    ]
    assert [dot.strength for dot in (best, worst)] == [1.0, FAINTEST]
    # An axis on which nothing was seen has no extent: all stand in its middle.
    assert [dot.x for dot in dots_of(grid, Slice(x=1, y=None, fixed={}))] == [WIDTH / 2] * 3
