"""The axes of a run's grid."""

from evolve.problem import Measure
from service.ports import RunRecord


def measures_of(run: RunRecord) -> tuple[Measure, ...]:
    """The axes of a run's grid: its measures, else those that a grid archive takes on its own; else none."""
    names = ("name", "bins", "low", "high")
    measures = tuple(Measure(**{key: entry[key] for key in names if key in entry}) for entry in run.measures)
    if measures or run.config.get("archive", {}).get("kind") != "grid":
        return measures
    return Measure(name="complexity"), Measure(name="novelty")
