"""What the name and the unit of a printed score say about it."""

import pytest

from service.usecases.observe_command import Observation


@pytest.mark.parametrize(
    ("name", "unit", "minimized", "slots"),
    [
        ("seconds", "", True, 1),
        ("wall_time", "", True, 1),
        ("p99 latency", "", True, 1),
        ("queens", "ms", True, 1),
        ("loss", "", True, 0),
        ("memory_mb", "", True, 0),
        ("accuracy", "", False, 0),
        ("persistence", "", False, 0),
        ("requests_per_second", "", False, 1),
        ("tokens/sec per s", "", False, 1),
        ("throughput", "", False, 1),
    ],
)
def test_times_and_rates_are_measured_one_at_a_time(name: str, unit: str, minimized: bool, slots: int) -> None:
    seen = Observation(name=name, unit=unit, form="label", scores=(1.0, 1.0), seconds=(0.1, 0.1))
    assert seen.looks_minimized is minimized
    assert seen.rules(minimize=minimized, goal=None, timed=False).slots == slots


def test_a_script_that_takes_time_is_measured_one_at_a_time_whatever_its_score_is_called() -> None:
    seen = Observation(name="score", unit="", form="label", scores=(1.0, 1.0), seconds=(0.1, 0.1))
    assert seen.rules(minimize=False, goal=None, timed=True).slots == 1
