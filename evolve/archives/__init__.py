"""Archives: what an island keeps. `offer` decides about an individual, `apply` does it."""

from evolve.archives.archive import Archive, Insertion, Status, add
from evolve.archives.axis import Axis
from evolve.archives.dominated_novelty import DominatedNoveltyArchive
from evolve.archives.factory import DEFAULT_MEASURES, ArchiveFactory, open_archive
from evolve.archives.map_elites import CellArchive
from evolve.archives.pareto import ParetoArchive
from evolve.archives.partition import CvtPartition, GridPartition, Partition
from evolve.archives.top import TopArchive

__all__ = [
    "DEFAULT_MEASURES",
    "Archive",
    "ArchiveFactory",
    "Axis",
    "CellArchive",
    "CvtPartition",
    "DominatedNoveltyArchive",
    "GridPartition",
    "Insertion",
    "ParetoArchive",
    "Partition",
    "Status",
    "TopArchive",
    "add",
    "open_archive",
]
