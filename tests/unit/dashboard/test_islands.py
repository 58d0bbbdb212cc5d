"""Who went from one island to another, counted and drawn."""

from datetime import UTC, datetime, timedelta
from typing import Literal

from service.dashboard.views.islands import LANE, MAX_ARCS, MAX_IN_MATRIX, TINTS, matrix_of, strip_of
from service.schemas.archives import Migration
from service.schemas.series import RunMark

AT = datetime(2026, 3, 1, tzinfo=UTC)


def move(leave: int, reach: int, candidates: int = 1) -> Migration:
    return Migration(
        sequence=1, at=AT, from_island=leave, to_island=reach, candidate_ids=[f"cnd_{one}" for one in range(candidates)]
    )


def mark(
    place: int, leave: int | None, reach: int | None, kind: Literal["island.migrated", "island.reset"] | None = None
) -> RunMark:
    kind = kind or ("island.reset" if leave is None else "island.migrated")
    return RunMark(kind=kind, place=place, at=AT + timedelta(seconds=place), from_island=leave, to_island=reach)


def test_programs_are_counted_by_where_they_left_and_where_they_came() -> None:
    matrix = matrix_of([move(0, 2, 3), move(2, 0), move(0, 2, 2), move(5, 0)])
    assert list(matrix.islands) == [0, 2, 5]
    assert [[flow.candidates for flow in row] for row in matrix.rows] == [[0, 5, 0], [1, 0, 0], [1, 0, 0]]
    assert matrix.rows[0][1].tint == TINTS
    assert (matrix.rows[1][0].tint, matrix.rows[0][0].tint) == (1, 0)
    assert matrix.omitted == 0


def test_a_matrix_says_how_many_islands_it_leaves_out() -> None:
    matrix = matrix_of([move(island, island + 1) for island in range(40)])
    assert (len(matrix.rows), len(matrix.rows[0]), matrix.omitted) == (
        MAX_IN_MATRIX,
        MAX_IN_MATRIX,
        41 - MAX_IN_MATRIX,
    )


def test_nothing_is_drawn_where_nobody_moved() -> None:
    assert matrix_of([]).islands == []
    assert strip_of([], 100) is None


def test_moves_stand_at_their_evaluation_between_the_lanes_of_their_islands() -> None:
    strip = strip_of([mark(0, 1, 3), mark(50, 3, 1), mark(100, None, 3)], 100)
    assert strip
    assert [island for island, _ in strip.lanes] == [1, 3]
    low, high = (y for _, y in strip.lanes)
    assert high - low == LANE
    middle = (strip.left + strip.right) / 2
    assert strip.arcs.startswith(f"M{strip.left:.1f} {low}Q")
    assert f"M{middle:.1f} {high}Q" in strip.arcs
    assert strip.resets == [(strip.right, high)]


def test_of_many_moves_the_newest_are_drawn() -> None:
    strip = strip_of([mark(place, 0, 1) for place in range(MAX_ARCS + 7)], MAX_ARCS + 7)
    assert strip
    assert strip.arcs.count("M") == strip.ends.count("M") == MAX_ARCS
    assert strip.omitted == 7
