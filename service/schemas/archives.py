"""What a run keeps, on the wire: islands, migrations, the front, the grid, the best under weights."""

from pydantic import Field

from service.schemas.foreign import Foreign
from service.schemas.programs import Program
from service.schemas.types import Count, Moment, Page, Reply


class Island(Reply):
    """One island of a run."""

    number: Count
    members: Count
    best_candidate_id: str | None
    best_fitness: float | None
    mean_fitness: float | None
    filled: Count | None = Field(description="Cells that its members fill; null: the run has no measures")
    cells: Count | None = Field(description="How many cells there are")


class IslandPage(Page):
    """The islands of a run."""

    items: list[Island]


class Member(Reply):
    """A program in the archive of an island."""

    since: Count = Field(description="Sequence number of the event that brought it there")
    program: Program


class MemberPage(Page):
    """Members of an island, the fittest first."""

    items: list[Member]


class Migration(Reply):
    """Programs that came from one island to another."""

    sequence: Count
    at: Moment
    from_island: int
    to_island: int
    candidate_ids: list[str]


class MigrationPage(Page):
    """Migrations of a run, in order."""

    items: list[Migration]


class FrontPage(Page):
    """Programs that no other dominates, the fittest first."""

    items: list[Program]
    size: Count = Field(description="Of the whole front")
    hypervolume: float | None = Field(description="In rewards; null: objectives lack bounds, or there is but one")
    exact: bool = Field(description="Whether the hypervolume is computed, not sampled")


class GridAxis(Foreign):
    """One axis of the grid."""

    name: str
    bins: Count
    low: float | None = Field(description="Null: nothing was seen yet")
    high: float | None
    running: bool = Field(description="Whether the range is that of what was seen, and grows")


class GridCell(Reply):
    """A cell that is filled."""

    bins: list[Count] = Field(description="On each axis; of a tessellation the number of the region alone")
    centre: list[float] | None = Field(description="Of the region of a tessellation; null: a cell of a grid")
    values: list[float]
    candidate_id: str
    fitness: float
    candidates: Count = Field(description="How many fell into it")
    place: Count = Field(description="Of the program's evaluation in the run, from 0")


class Grid(Reply):
    """The fittest program of each cell over the measures, of all islands together."""

    run_id: str
    axes: list[GridAxis]
    cells: list[GridCell] = Field(description="The fittest first; at most 10,000")
    filled: Count = Field(description="Filled cells in all")
    size: Count = Field(description="Cells there are, filled or not")
    tessellation: bool = Field(description="Whether cells are regions around centroids (`archive.kind` = `cvt`)")


class Best(Foreign):
    """The best program of a run."""

    program: Program
    weights: dict[str, float]
    value: float | None = Field(description="Weighted mean of normalised scores; null: by fitness")
