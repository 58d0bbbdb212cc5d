"""Which archive an island keeps."""

from dataclasses import dataclass

from evolve.configuration.checks import at_least, one_of, registered, within
from evolve.errors import ConfigurationError
from evolve.extensions import ExtensionKind, built_in_names

ARCHIVES = built_in_names(ExtensionKind.ARCHIVE)
TRUNCATIONS = ("crowding", "hypervolume")
MEASURED = frozenset({"grid", "cvt", "dominated_novelty"})  # archives over measures
# Far beyond any use: what is larger is a slip, and would fill the memory before the first candidate.
MAX_CELLS = 10_000  # of a tessellation, and members among which each looks for its neighbours
MAX_NEIGHBOURS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveConfig:
    """Which archive an island keeps.

    Attributes:
        kind: `auto` is a grid when the problem has measures, a Pareto archive with several objectives, else top-k.
        size: most individuals an island keeps; of a tessellation (`cvt`) the number of its cells. A grid's size is its
            number of cells.
        front: most individuals that a cell of a grid or a tessellation keeps, none of which dominates another; 1: its
            fittest.
        truncation: who leaves a front that is full, of a Pareto archive or in a cell: the most crowded, or who
            contributes least to the `hypervolume`. Replays insert again what was inserted: runs whose record lacks the
            key went by crowding, so that it stays the default of this class.
        neighbours: how many of those that are fitter dominated novelty looks at.
    """

    kind: str = "auto"
    size: int = 200
    front: int = 1
    truncation: str = "crowding"
    neighbours: int = 3

    def __post_init__(self) -> None:
        registered("archive.kind", self.kind, ExtensionKind.ARCHIVE)
        at_least("archive.size", self.size, 1)
        if self.kind in {"cvt", "dominated_novelty"} and self.size > MAX_CELLS:
            raise ConfigurationError(f"archive.size must be at most {MAX_CELLS} with archive.kind = {self.kind!r}")
        within("archive.front", self.front, 1, MAX_CELLS)
        one_of("archive.truncation", self.truncation, TRUNCATIONS)
        within("archive.neighbours", self.neighbours, 1, MAX_NEIGHBOURS)
