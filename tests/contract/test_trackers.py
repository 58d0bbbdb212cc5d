"""The suite of trackers accepts one that keeps the contract, and refuses one that does not."""

import pytest

from evolve.testing import TRACKER_RULES
from evolve.testing.trackers import TrackerRule, takes_a_run
from tests.fakes.tracker import ForgetfulTracker, KeepingTracker


@pytest.mark.parametrize("rule", TRACKER_RULES)
def test_a_tracker_that_keeps_what_it_is_sent_is_one(rule: TrackerRule) -> None:
    rule(lambda: KeepingTracker(rule.__name__))


def test_a_tracker_that_tells_of_points_of_a_new_run_is_refused() -> None:
    with pytest.raises(AssertionError, match="points of a run that is new"):
        takes_a_run(lambda: ForgetfulTracker("forgetful"))
