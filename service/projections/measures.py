"""The axes of a run's grid."""

from evolve.archives import DEFAULT_MEASURES
from evolve.configuration import MEASURED
from evolve.problem import Measure
from service.ports import RunRecord


def measures_of(run: RunRecord) -> tuple[Measure, ...]:
    """The axes of a run's grid: its measures, else those that archives over measures take on their own; else none."""
    names = ("name", "bins", "low", "high")
    measures = tuple(Measure(**{key: entry[key] for key in names if key in entry}) for entry in run.measures)
    if measures or run.config.get("archive", {}).get("kind") not in MEASURED:
        return measures
    return DEFAULT_MEASURES
