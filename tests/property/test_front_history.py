"""The front of a run after each of its evaluations."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.projections import front_history
from service.projections.front_history import FrontHistory

SCORES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, float("nan")]), min_size=width, max_size=width), max_size=40
    )
)


def dominates(one: list[float], other: list[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


@given(SCORES, st.lists(st.integers(0, 40), max_size=3))
def test_the_spans_are_those_that_the_definition_gives(scores: list[list[float]], cuts: list[int]) -> None:
    valid = [place for place, row in enumerate(scores) if not any(np.isnan(row))]
    expected = {}
    for place in valid:
        if not any(dominates(scores[other], scores[place]) for other in valid if other < place):
            later = [other for other in valid if other > place and dominates(scores[other], scores[place])]
            expected[place] = later[0] if later else -1
    width = len(scores[0]) if scores else 1
    history = FrontHistory()
    spans = history.catch_up(np.zeros((0, width)))
    for cut in [*sorted(cuts), len(scores)]:
        spans = history.catch_up(np.array(scores[: min(cut, len(scores))]).reshape(-1, width))
    assert dict(zip(spans.places.tolist(), spans.until.tolist(), strict=True)) == expected


def test_blocks_make_no_difference() -> None:
    scores = np.random.default_rng(7).random((3 * front_history.BLOCK + 5, 3))
    whole, piecewise = FrontHistory().catch_up(scores), FrontHistory()
    for end in range(0, len(scores), 501):
        piecewise.catch_up(scores[:end])
    spans = piecewise.catch_up(scores)
    assert (whole.places.tolist(), whole.until.tolist()) == (spans.places.tolist(), spans.until.tolist())
