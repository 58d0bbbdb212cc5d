"""Which runs a list shows: what is written into an address is read back from it, and nothing leads elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dashboard.session import FormData
from service.dashboard.views.runs_bulk import back_of
from service.dashboard.views.runs_filter import GROUPS, STATES, RunsFilter, read_labels, unknown_filters, write_labels
from service.errors import UsageError

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30).map(str.strip)
FILTERS = st.builds(
    RunsFilter,
    states=st.sets(st.sampled_from(STATES)).map(lambda chosen: tuple(state for state in STATES if state in chosen)),
    problem=TEXTS,
    labels=TEXTS,
    batch_id=TEXTS,
    created_by=TEXTS,
    group=st.sampled_from(["", *GROUPS]),
)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters=",="), min_size=1, max_size=12)


@given(FILTERS)
def test_a_filter_is_read_back_from_its_address(only: RunsFilter) -> None:
    path, _, query = only.address(cursor="abc").partition("?")
    assert path == "/runs"
    assert RunsFilter.read(query) == only


@given(st.dictionaries(WORDS, WORDS, max_size=4))
def test_labels_are_read_back_from_what_is_written(labels: dict[str, str]) -> None:
    assert read_labels(write_labels(labels)) == labels


def test_states_are_given_one_by_one_or_together_and_unknown_ones_left_out() -> None:
    assert RunsFilter.read("state=running,paused&state=failed&state=odd&group=odd").states == (
        "running",
        "paused",
        "failed",
    )
    assert not RunsFilter.read("state=odd&group=odd").narrows


@given(FILTERS)
def test_nothing_of_an_address_of_ours_is_left_out(only: RunsFilter) -> None:
    assert unknown_filters(only.query(cursor="abc")) == []
    assert unknown_filters("state=&problem=&labels=&group=&sort=-best&columns=best,age") == []


def test_what_is_left_out_of_an_address_is_told() -> None:
    told = unknown_filters("state=running,%20zzz&group=odd&sort=odd&created_after=2026-01-01&state=zzz")
    assert [sentence.partition(" was left out")[0] for sentence in told[:3]] == [
        "state: zzz",
        "group: odd",
        "sort: odd",
    ]
    assert all(state in told[0] for state in STATES)
    assert told[3].startswith("This list has no filter created_after, so it was left out.")
    assert len(told) == 4


def test_a_label_without_a_value_is_complained_of() -> None:
    with pytest.raises(UsageError, match="purpose is not a label: write key=value"):
        read_labels("team=a, purpose")


@pytest.mark.parametrize("back", ["", "https://elsewhere.example/", "//elsewhere", "/runs?a\nb", "/sign-out", "runs?x"])
def test_a_list_leads_back_to_a_list_alone(back: str) -> None:
    assert back_of(FormData.read(b"")) == "/runs"
    assert back_of(FormData({"back": back})) == "/runs"
    assert back_of(FormData({"back": "/runs?state=failed"})) == "/runs?state=failed"
