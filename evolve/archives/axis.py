"""Axes of the measures: a declared range, or the running range of what was seen."""

import math
from copy import copy

import numpy as np
from numpy.typing import NDArray

from evolve.multiobjective.scalarization import Floats
from evolve.problem import Measure


class Axis:
    """One axis of a measure space: a fixed range, or the running range of what was seen, doubled as it grows."""

    def __init__(self, measure: Measure) -> None:
        self.name = measure.name
        self._bins = measure.bins
        self._fixed = measure.low is not None
        self._low = measure.low
        self._high = measure.high

    @property
    def range(self) -> tuple[float, float] | None:
        """What the axis spans now; None: nothing was seen, and no range is declared."""
        return None if self._low is None or self._high is None else (self._low, self._high)

    @property
    def span(self) -> float:
        """How wide the range is; 0: it has none yet."""
        return 0.0 if self._low is None or self._high is None else self._high - self._low

    def share(self, value: float) -> float:
        """Where in the range a value lies, from 0 to 1; what lies outside counts as on the border."""
        if self._low is None or self._high is None or self._low == self._high:
            return 0.0
        return min(1.0, max(0.0, (value - self._low) / (self._high - self._low)))

    def shares(self, values: Floats) -> Floats:
        """Where many values lie, (n,), each as `share` gives it."""
        if self._low is None or self._high is None or self._low == self._high:
            return np.zeros(len(values))
        with np.errstate(over="ignore", invalid="ignore"):  # a range may be wider than the largest number
            share = (values - self._low) / (self._high - self._low)
        return np.asarray(np.clip(np.nan_to_num(share), 0.0, 1.0))

    def value(self, share: float) -> float:
        """The value at a share of the range; 0 where there is none."""
        return 0.0 if self._low is None else self._low + self.span * share

    def bin(self, value: float) -> int:
        """Bin of a value; what lies outside the range falls into the outermost bin.

        A border belongs to the bin above it. The product comes before the division: a share of the range is rounded,
        and its product with the number of bins may then lie just below the border (29 / 50 * 50 < 29).
        """
        if self._low is None or self._high is None or self._low == self._high:
            return 0
        place = (value - self._low) * self._bins / (self._high - self._low)
        return math.floor(max(0.0, min(place, self._bins - 1.0))) if not math.isnan(place) else 0

    def bins(self, values: Floats) -> NDArray[np.intp]:
        """Bins of many values, (n,), each as `bin` gives it."""
        if self._low is None or self._high is None or self._low == self._high:
            return np.zeros(len(values), dtype=np.intp)
        with np.errstate(over="ignore", invalid="ignore"):  # a range may be wider than the largest number
            place = (values - self._low) * self._bins / (self._high - self._low)
        return np.floor(np.clip(np.nan_to_num(place), 0.0, self._bins - 1.0)).astype(np.intp)

    def cover(self, value: float) -> bool:
        """Grow a running range to hold a value; whether it grew.

        The range at least doubles each time, so that members are placed anew a logarithmic number of times.
        """
        if self._low is None or self._high is None:
            self._low = self._high = value
            return True
        if self._fixed or self._low <= value <= self._high:
            return False
        span = self._high - self._low
        if value > self._high:
            self._high = max(value, self._high + span)
        else:
            self._low = min(value, self._low - span)
        return True

    def covering(self, value: float) -> "Axis":
        """The axis with its range grown to hold a value; itself where it does."""
        if self._low is not None and self._high is not None and (self._fixed or self._low <= value <= self._high):
            return self
        grown = copy(self)
        grown.cover(value)
        return grown

    def cover_all(self, values: Floats) -> None:
        """Grow a running range to hold values, one after the other."""
        place = 0
        while place < len(values):
            self.cover(float(values[place]))
            if self._fixed or self._low is None or self._high is None:
                return
            rest = values[place:]
            outside = (rest < self._low) | (rest > self._high)
            if not outside.any():
                return
            place += int(outside.argmax())
