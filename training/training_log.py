"""The journal of a training run, with a JSON line for each step."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.errors import TrainingError


class TrainingLog:
    """Lines of a file, `{"schema": 1, "stage", "step", ...figures}`, in the order of the steps."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, stage: str, step: int, figures: Mapping[str, float]) -> None:
        """Write a line. A figure that is not finite is null."""
        rounded = {name: round(value, 6) if math.isfinite(value) else None for name, value in figures.items()}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"schema": 1, "stage": stage, "step": step, **rounded}) + "\n")

    def go_on(self, stage: str, step: int) -> None:
        """Remove the lines after a step of a stage, because a run that continues there writes them again."""
        kept = [line for line in self.lines() if line["stage"] != stage or line["step"] <= step]
        started = self._path.with_name(f".{self._path.name}.part")
        started.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        started.replace(self._path)

    def lines(self) -> list[dict[str, Any]]:
        """All lines. A line cut off by a kill counts as not written.

        Raises:
            TrainingError: a line before the last is not a journal line.
        """
        if not self._path.exists():
            return []
        raw = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        found = []
        for number, line in enumerate(raw, start=1):
            value = _line(line)
            if value is not None:
                found.append(value)
            elif number < len(raw):
                raise TrainingError(f"line {number} of {self._path} is not a line of this training: remove it")
        return found


def _line(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    known = isinstance(value, dict) and isinstance(value.get("stage"), str) and isinstance(value.get("step"), int)
    return value if known else None
