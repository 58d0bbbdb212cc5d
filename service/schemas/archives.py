"""Archives in the API: islands, migrations, the front, the grid, the best under weights."""

from pydantic import Field

from service.schemas.candidates import Candidate
from service.schemas.types import Count, Moment, Page, Reply
from service.schemas.untrusted_text import Foreign


class Island(Reply):
    """An island of a run."""

    number: Count = Field(description="Number of the island, from 0")
    members: Count = Field(description="Number of programs in its archive")
    best_candidate_id: str | None = Field(description="Id of its best member. Null: none")
    best_fitness: float | None = Field(description="Fitness of its best member. Null: none")
    mean_fitness: float | None = Field(description="Mean fitness of its members. Null: none")
    filled: Count | None = Field(description="Cells that its members fill. Null: the run has no measures")
    cells: Count | None = Field(description="How many cells there are")


class IslandPage(Page):
    """The islands of a run."""

    items: list[Island] = Field(description="Islands, by number")


class Member(Reply):
    """A program in the archive of an island."""

    since: Count = Field(description="Sequence number of the event that brought it there")
    candidate: Candidate = Field(description="The program")


class MemberPage(Page):
    """Members of an island, fittest first."""

    items: list[Member] = Field(description="Members of the archive, fittest first")


class Migration(Reply):
    """Programs that migrated between islands."""

    sequence: Count = Field(description="Sequence number of its event")
    at: Moment = Field(description="When it happened")
    from_island: int = Field(description="Number of the island that the programs left")
    to_island: int = Field(description="Number of the island that they reached")
    candidate_ids: list[str] = Field(description="Ids of the candidates that migrated")


class MigrationPage(Page):
    """Migrations of a run, in order."""

    items: list[Migration] = Field(description="Migrations, in order")


class FrontPage(Page):
    """Programs that no other dominates, fittest first."""

    items: list[Candidate] = Field(description="Candidates of the front, fittest first")
    size: Count = Field(description="Size of the whole front")
    hypervolume: float | None = Field(description="In rewards. Null: no bounds, or a single objective")
    exact: bool = Field(description="Whether the hypervolume is computed, not sampled")


class GridAxis(Foreign):
    """An axis of the grid."""

    name: str = Field(description="Name of the measure")
    bins: Count = Field(description="Number of bins on the axis")
    low: float | None = Field(description="Null: nothing was seen yet")
    high: float | None = Field(description="Upper bound of the axis. Null: no value was seen yet")
    running: bool = Field(description="Whether the range grows with the values seen")


class GridCell(Reply):
    """A cell that is filled."""

    bins: list[Count] = Field(description="Position on each axis. In a tessellation: the number of the region")
    centre: list[float] | None = Field(description="Centroid of the region of a tessellation. Null: a cell of a grid")
    values: list[float] = Field(description="The program's value on each axis")
    candidate_id: str = Field(description="Id of the fittest candidate of the cell")
    fitness: float = Field(description="Fitness of that candidate")
    candidates: Count = Field(description="How many fell into it")
    place: Count = Field(description="Place of the program's evaluation in the run, from 0")
    view_type: str | None = Field(
        default=None,
        description="Media type of the view of that candidate. Empty: the view cannot be shown. "
        "Null: its evaluator drew nothing, or nothing yet, or the cell is not among the 200 fittest",
    )
    view_on_demand: bool = Field(
        default=False, description="Whether that view is drawn when somebody requests it, and is not drawn yet"
    )


class Grid(Reply):
    """The fittest program of each cell over the measures, of all islands together."""

    run_id: str = Field(description="Id of the run")
    axes: list[GridAxis] = Field(description="Axes of the grid, for each measure")
    cells: list[GridCell] = Field(description="Cells, fittest first, at most 10,000")
    filled: Count = Field(description="Filled cells in all")
    evaluations: Count = Field(description="Evaluations that the grid is of")
    size: Count = Field(description="Cells there are, filled or not")
    tessellation: bool = Field(description="Whether cells are regions around centroids (`archive.kind` = `cvt`)")


class Best(Foreign):
    """The best program of a run."""

    candidate: Candidate = Field(description="The best program")
    weights: dict[str, float] = Field(
        description="Weight by objective, as requested. Empty: the best by fitness",
    )
    value: float | None = Field(description="Weighted mean of normalised scores. Null: by fitness")
