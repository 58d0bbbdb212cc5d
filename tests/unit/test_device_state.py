"""How a device was found to be, in words, and whether its clocks are locked."""

import pytest

from service.ports import ClockLock, DeviceState


@pytest.mark.parametrize(
    ("readings", "most", "clocks"),
    [
        ([], 1980, ClockLock.UNKNOWN),
        ([1410], 1980, ClockLock.UNKNOWN),
        ([1410, 1410], 1980, ClockLock.LOCKED),
        ([1410, 1410, 1395], 1980, ClockLock.UNLOCKED),
        ([210, 210], 1980, ClockLock.UNKNOWN),
        ([210, 1980, 210], 1980, ClockLock.UNLOCKED),
        ([0, 1410, 0], 1980, ClockLock.UNKNOWN),
        ([495, 495], 1980, ClockLock.LOCKED),
        ([1410, 1410], 0, ClockLock.LOCKED),
    ],
)
def test_clocks_count_as_locked_if_every_reading_is_the_same_and_not_that_of_rest(
    readings: list[int], most: int, clocks: ClockLock
) -> None:
    state = DeviceState(name="nvidia0", max_clock_mhz=most)
    for reading in readings:
        state = state.with_clock(reading)
    assert state.clocks is clocks
    assert state.readings == len([reading for reading in readings if reading])


def test_a_device_of_which_nothing_is_known_is_named_by_its_file() -> None:
    assert str(DeviceState(name="renderD128")) == "renderD128, clocks unknown"
