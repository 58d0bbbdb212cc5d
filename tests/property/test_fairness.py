"""Max-min fairness of the slots of a pool."""

from hypothesis import given
from hypothesis import strategies as st

from service.queue.fairness import CONGESTED_SECONDS, fair_share, may_submit

WANTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 40), min_size=1)


def taken(slots: int, wants: dict[str, int]) -> dict[str, int]:
    """What each uses of its share."""
    return {name: min(wanted, fair_share(slots, wants, name)) for name, wanted in wants.items()}


@given(slots=st.integers(1, 100), wants=WANTS)
def test_no_slot_is_idle_that_somebody_wants_and_none_is_given_twice(slots: int, wants: dict[str, int]) -> None:
    used = sum(taken(slots, wants).values())
    if slots >= len(wants):
        assert used == min(slots, sum(wants.values()))
    else:
        assert used == len(wants)


@given(slots=st.integers(1, 100), wants=WANTS)
def test_who_does_not_get_what_it_wants_has_no_less_than_any_other(slots: int, wants: dict[str, int]) -> None:
    """The definition of max-min fairness, but for what does not divide."""
    used = taken(slots, wants)
    assert all(used[name] + 1 >= max(used.values()) for name, wanted in wants.items() if used[name] < wanted)


@given(slots=st.integers(1, 100), wants=WANTS)
def test_nobody_gains_by_saying_less_or_more_than_it_wants(slots: int, wants: dict[str, int]) -> None:
    for name, wanted in wants.items():
        more = {**wants, name: wanted + 5}
        assert fair_share(slots, more, name) == fair_share(slots, wants, name)


@given(wants=WANTS)
def test_where_there_is_nothing_nobody_has_anything(wants: dict[str, int]) -> None:
    assert fair_share(0, wants, "a") == 0


@given(share=st.integers(0, 200), submitted=st.integers(0, 300), waiting=st.integers(0, 300))
def test_a_run_submits_its_share_and_an_eighth_more_while_the_pool_is_not_congested(
    share: int, submitted: int, waiting: int
) -> None:
    may = may_submit(share, submitted, waiting, CONGESTED_SECONDS / 2)
    assert may == (submitted < share + max(1, share // 8))


@given(share=st.integers(0, 200), submitted=st.integers(0, 300), waiting=st.integers(0, 300))
def test_in_a_congested_pool_a_run_has_no_more_than_its_share_and_an_eighth_of_it_waits(
    share: int, submitted: int, waiting: int
) -> None:
    may = may_submit(share, submitted, waiting, CONGESTED_SECONDS)
    assert may == (submitted < max(share, 1) and waiting < max(2, share // 8))
