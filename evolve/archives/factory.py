"""Which archive a configuration asks for."""

from typing import Protocol

from evolve.archives.archive import Archive
from evolve.archives.dominated_novelty import DominatedNoveltyArchive
from evolve.archives.guarded import GuardedArchive
from evolve.archives.map_elites import CellArchive
from evolve.archives.pareto import ParetoArchive
from evolve.archives.partition import CvtPartition, GridPartition, Partition
from evolve.archives.top import TopArchive
from evolve.configuration import ArchiveConfig
from evolve.extensions import ExtensionKind, Extensions, guarded
from evolve.problem import Measure, Problem

# What archives over measures take where a problem declares none.
DEFAULT_MEASURES = (Measure(name="complexity"), Measure(name="novelty"))
_BUILT_IN = Extensions()


class ArchiveFactory(Protocol):
    """Makes an empty archive for an island; a class whose constructor takes these is one."""

    def __call__(self, problem: Problem, config: ArchiveConfig, seed: int, /) -> Archive:
        """Make it; all that is random in it derives from `seed`, the seed of the run."""


def open_archive(problem: Problem, config: ArchiveConfig, seed: int, extensions: Extensions = _BUILT_IN) -> Archive:
    """The archive a configuration asks for, empty.

    Args:
        problem: that is searched on.
        config: the archive's; its `kind` is a name of the registry.
        seed: of the run; the centroids of a tessellation derive from it.
        extensions: resolves the name.

    Raises:
        MissingExtensionError, ExtensionError: it names an extension that is not there, or cannot be made.
    """
    extension, make = extensions.resolve(ExtensionKind.ARCHIVE, config.kind)
    if extension.built_in:
        archive: Archive = make(problem, config, seed)
        return archive
    with guarded(extension, "could not be made"):
        made = make(problem, config, seed)
    return GuardedArchive(extension, made)


def open_fitting(problem: Problem, config: ArchiveConfig, seed: int) -> Archive:
    """The archive that fits a problem: a grid over its measures, a Pareto archive with several objectives, or top-k."""
    if problem.measures:
        return open_grid(problem, config, seed)
    return open_pareto(problem, config, seed) if len(problem.objective_names) > 1 else open_top(problem, config, seed)


def open_grid(problem: Problem, config: ArchiveConfig, seed: int) -> Archive:
    """MAP-Elites over a grid."""
    del seed
    return _cells(problem, config, GridPartition(_measures(problem)))


def open_tessellation(problem: Problem, config: ArchiveConfig, seed: int) -> Archive:
    """MAP-Elites over a centroidal Voronoi tessellation."""
    return _cells(problem, config, CvtPartition(_measures(problem), config.size, seed))


def open_dominated_novelty(problem: Problem, config: ArchiveConfig, seed: int) -> Archive:
    """Dominated novelty over the measures."""
    del seed
    width = len(problem.objective_names)
    return DominatedNoveltyArchive(width, _measures(problem), config.size, config.neighbours)


def open_pareto(problem: Problem, config: ArchiveConfig, seed: int) -> Archive:
    """A bounded Pareto archive."""
    del seed
    return ParetoArchive(len(problem.objective_names), config.size, config.truncation)


def open_top(problem: Problem, config: ArchiveConfig, seed: int) -> Archive:
    """The k fittest."""
    del seed
    return TopArchive(len(problem.objective_names), config.size)


def _cells(problem: Problem, config: ArchiveConfig, partition: Partition) -> Archive:
    return CellArchive(len(problem.objective_names), partition, config.front, config.truncation)


def _measures(problem: Problem) -> tuple[Measure, ...]:
    return problem.measures or DEFAULT_MEASURES
