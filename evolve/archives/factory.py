"""Which archive a configuration asks for."""

from evolve.archives.archive import Archive
from evolve.archives.dominated_novelty import DominatedNoveltyArchive
from evolve.archives.map_elites import CellArchive
from evolve.archives.pareto import ParetoArchive
from evolve.archives.partition import CvtPartition, GridPartition, Partition
from evolve.archives.top import TopArchive
from evolve.configuration import MEASURED, ArchiveConfig
from evolve.problem import Measure, Problem

# What archives over measures take where a problem declares none.
DEFAULT_MEASURES = (Measure(name="complexity"), Measure(name="novelty"))


def open_archive(problem: Problem, config: ArchiveConfig, seed: int) -> Archive:
    """The archive a configuration asks for; `auto` fits the problem: grid, Pareto or top-k.

    Args:
        seed: of the run; the centroids of a tessellation derive from it.
    """
    width = len(problem.objective_names)
    kind = config.kind
    if kind == "auto":
        kind = "grid" if problem.measures else "pareto" if width > 1 else "top"
    if kind in MEASURED:
        measures = problem.measures or DEFAULT_MEASURES
        if kind == "dominated_novelty":
            return DominatedNoveltyArchive(width, measures, config.size, config.neighbours)
        grid = kind == "grid"
        partition: Partition = GridPartition(measures) if grid else CvtPartition(measures, config.size, seed)
        return CellArchive(width, partition, config.front, config.truncation)
    if kind == "pareto":
        return ParetoArchive(width, config.size, config.truncation)
    return TopArchive(width, config.size)
