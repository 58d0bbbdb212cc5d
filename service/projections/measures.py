"""The measures of a run, and the cells into which they are parted."""

from collections.abc import Iterator

from evolve.archives import DEFAULT_MEASURES, CvtPartition, GridPartition, Partition
from evolve.configuration import MEASURED, ArchiveConfig
from evolve.problem import Measure
from service.ports import RunRecord


def measures_of(run: RunRecord) -> tuple[Measure, ...]:
    """The measures of a run, else those that archives over measures take on their own; else none."""
    names = ("name", "bins", "low", "high")
    measures = tuple(Measure(**{key: entry[key] for key in names if key in entry}) for entry in run.measures)
    return measures or (() if MEASURED.isdisjoint(_kinds(run)) else DEFAULT_MEASURES)


def partition_of(run: RunRecord) -> Partition | None:
    """The cells of a run: those of a tessellation where its archive is one, else those of a grid; None: no measures.

    Islands may differ: what is told of the run is told in the cells of `archive`, not of a variant.
    """
    measures = measures_of(run)
    if not measures:
        return None
    archive = run.config.get("archive") or {}
    if archive.get("kind") != "cvt":
        return GridPartition(measures)
    return CvtPartition(measures, int(archive.get("size", ArchiveConfig().size)), int(run.config.get("seed", 0)))


def _kinds(run: RunRecord) -> Iterator[str]:
    """The kinds of the archives of all islands, as they are configured."""
    for part in (run.config, *(run.config.get("variants") or ())):
        yield (part.get("archive") or {}).get("kind", "auto")
