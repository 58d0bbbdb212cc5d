"""Failures grouped by reason, and the lines that tell of them."""

import pytest

from evolve.credit.yields import kind
from service.cli.failures import failure_rows
from service.ports import OutcomeCount
from service.projections.failures import MAX_GROUPS, group_failures


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ValueError: 3 is no radius", "ValueError: -4.5e-3 is no radius", True),
        ("NameError: name 'pack' is not defined", "NameError: name 'r' is not defined", True),
        ("operands with shapes (26,2) (26,26)", "operands  with shapes\n(2,2) (3,3)", True),
        ("IndexError: out of range", "KeyError: out of range", False),
    ],
)
def test_reasons_are_alike_but_for_what_they_say_of_a_program(one: str, other: str, same: bool) -> None:
    assert (kind(one) == kind(other)) is same


def test_a_group_has_its_most_frequent_reason_and_its_share_of_the_time() -> None:
    counts = [
        OutcomeCount("ok", "", 10, 3.0),
        OutcomeCount("error", "shape (2,2)", 3, 1.0),
        OutcomeCount("timeout", "it ran longer than 20 s", 2, 5.0),
        OutcomeCount("error", "shape (3,2)", 1, 1.0),
        OutcomeCount("duplicate", "", 1, 0.0),
    ]
    found = group_failures("run_1", counts)
    assert [(group.outcome, group.reason, group.count, group.seconds_share) for group in found.items] == [
        ("error", "shape (2,2)", 4, 0.2),
        ("timeout", "it ran longer than 20 s", 2, 0.5),
        ("duplicate", "the same program as an earlier candidate", 1, 0.0),
    ]
    assert (found.count, found.seconds, found.seconds_share) == (7, 7.0, 0.7)
    assert failure_rows(found) == [
        (
            "failures",
            "4 error, 20.0 % of the time: shape (2,2)\n2 timeout, 50.0 % of the time: it ran longer than 20 s",
        )
    ]


def test_of_many_reasons_the_first_are_told_and_the_others_counted() -> None:
    counts = [OutcomeCount("error", f"reason {chr(97 + i // 26)}{chr(97 + i % 26)}", 1, 0.1) for i in range(60)]
    found = group_failures("run_1", counts)
    assert (len(found.items), found.omitted, found.count) == (MAX_GROUPS, 10, 60)
    assert failure_rows(found)[0][1].splitlines()[-1] == "55 for other reasons"


def test_a_run_without_failures_has_no_row() -> None:
    found = group_failures("run_1", [OutcomeCount("ok", "", 3, 0.0)])
    assert (found.items, found.seconds_share, failure_rows(found), failure_rows(None)) == ([], None, [], [])


def test_control_characters_of_a_reason_do_not_reach_the_terminal() -> None:
    found = group_failures("run_1", [OutcomeCount("error", "\x1b[2Jgone \x07", 1, 0.0)])
    assert "\x1b" not in failure_rows(found)[0][1]
