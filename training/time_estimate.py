"""How long a training will take, measured on its own updates."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from training.adapter_files import Report

REPORTED = (1, 5)  # updates after which it is told: the first has the warm-up of kernels in it


@dataclass(slots=True)
class TimeEstimate:
    """Measures updates and tests, and reports the time that the rest will take.

    Attributes:
        report: gets `{"estimate_seconds", "updates_left", "update_seconds", "tests_left", "test_seconds"}`.
        test_every: updates between two tests. 0: none.
        clock: seconds that never go back.
    """

    report: Report
    test_every: int = 0
    clock: Callable[[], float] = time.monotonic
    _mark: float = 0.0
    _updates: list[float] = field(default_factory=list)
    _tests: list[float] = field(default_factory=list)

    def begin(self) -> None:
        """An update or a test begins, or is about to."""
        self._mark = self.clock()

    def test(self) -> None:
        """A test has ended."""
        self._tests.append(self.clock() - self._mark)
        self.begin()

    def update(self, step: int, steps: int) -> None:
        """An update has ended."""
        self._updates.append(self.clock() - self._mark)
        self.begin()
        if len(self._updates) in REPORTED and step < steps:
            self.report(self.estimate(step, steps))

    def estimate(self, step: int, steps: int) -> dict[str, float]:
        """The time left after an update, by the mean of those so far, without the first once there are others."""
        measured = self._updates[1:] or self._updates
        seconds = sum(measured) / len(measured)
        left = steps - step
        # One at every multiple, and one at the end.
        tests = -(-steps // self.test_every) - step // self.test_every if self.test_every else 0
        test = sum(self._tests) / len(self._tests) if self._tests else 0.0
        return {
            "estimate_seconds": left * seconds + tests * test, "updates_left": left, "update_seconds": seconds,
            "tests_left": tests, "test_seconds": test,
        }  # fmt: skip

    def callback(self) -> Any:
        """For a trainer of transformers."""
        measured, base = self, import_module("transformers").TrainerCallback

        class EstimateCallback(base):  # type: ignore[misc, valid-type] # known once transformers is there
            def on_train_begin(self, *_: Any, **__: Any) -> None:
                measured.begin()

            def on_step_begin(self, *_: Any, **__: Any) -> None:
                measured.begin()

            def on_step_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
                measured.update(state.global_step, state.max_steps)

            def on_evaluate(self, *_: Any, **__: Any) -> None:
                measured.test()

        return EstimateCallback()
