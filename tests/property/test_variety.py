"""How different evaluations were is what looking at them one by one, and at every pair, gives."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.projections.diversity import WINDOW, mean_distance
from service.projections.series import fold_series
from tests.property.test_columns import folded, row, run_of

REWARDS = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.just(0.0) | st.just(-0.0))


@given(st.lists(st.tuples(st.none() | REWARDS, st.integers(0, 3)), min_size=1, max_size=30), st.integers(1, 30))
def test_variety_is_that_of_every_pair_and_of_every_one(told: list[Any], points: int) -> None:
    check([(None if rewards is None else tuple(map(float, rewards)), island) for rewards, island in told], points)


def test_variety_is_that_of_the_last_ones_of_a_long_run() -> None:
    told = [
        ((float(place % 7), float(place % 3), place / 40) if place % 5 else None, place % 11) for place in range(260)
    ]
    assert len(told) > 2 * WINDOW
    check(told, 13)


def check(told: Sequence[tuple[tuple[float, ...] | None, int]], points: int) -> None:
    rows = [row(place, rewards)._replace(island=island) for place, (rewards, island) in enumerate(told)]
    *_, columns = folded(rows, run_of(3))
    moments = fold_series(columns, points).moments
    assert moments[-1].evaluations == len(told)
    for moment in moments:
        seen = told[: moment.evaluations]
        valid = [rewards for rewards, _ in seen if rewards is not None]
        pairs = [math.dist(a, b) for a, b in itertools.combinations(valid[-100:], 2)]
        variety = moment.variety
        assert variety.distinct == (pytest.approx(len(set(valid)) / len(valid)) if valid else None)
        assert variety.distance == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)
        assert variety.island_entropy == pytest.approx(bits([island for _, island in seen[-100:]]))
        assert variety.outcome_entropy == pytest.approx(bits([rewards is None for rewards, _ in seen[-100:]]))


def bits(values: list[Any]) -> float:
    """Bits that telling one of some values takes on average."""
    return math.fsum(count / len(values) * math.log2(len(values) / count) for count in Counter(values).values())


def test_what_is_too_far_apart_for_a_number_has_no_distance() -> None:
    rows = [row(place, (value,)) for place, value in enumerate((1.7e308, -1.7e308))]
    rows = [one._replace(fitness=0.0) for one in rows]
    *_, columns = folded(rows, run_of(1))
    assert [moment.variety.distance for moment in fold_series(columns, 2).moments] == [None, None]
    assert mean_distance(columns.rewards[:1]) is None
