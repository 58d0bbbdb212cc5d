"""What came of migrants: whether what descends from them improved the islands that they reached."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from evolve.event_types import IslandMigrated
from evolve.events import EventKind
from service.ports import RunReader
from service.projections.columns import Columns
from service.schemas.statistics import MigrationGains

Arrival = tuple[int, int]  # which evaluation, and the island that it reached


def migration_gains(reader: RunReader, columns: Columns) -> MigrationGains:
    """Follow the line of first parents from each evaluation back to who came to its island.

    An island's best is that of all that was made there and of all that came there; a descendant gains where it is
    better than that was before. Who is built upon elsewhere without having migrated there, as the survivor of a reset
    is, counts as no migrant.
    """
    coming = _coming(reader, columns)
    fitness = [-math.inf if math.isnan(value) else value for value in columns.fitness.tolist()]
    best: dict[int, float] = defaultdict(lambda: -math.inf)
    arrived, origins = set[Arrival](), list[int]()  # of each evaluation the migrant that it descends from; -1: none
    descendants, gains, following = Counter[Arrival](), Counter[Arrival](), 0
    for place, island in enumerate(columns.islands):
        while following < len(coming) and coming[following][0] < columns.sequences[place]:
            _, migrant, reached = coming[following]
            arrived.add((migrant, reached))
            best[reached] = max(best[reached], fitness[migrant])
            following += 1
        origins.append(_origin(columns, origins, arrived, place))
        if origins[place] >= 0:
            descendants[origins[place], island] += 1
            gains[origins[place], island] += fitness[place] > best[island]
        best[island] = max(best[island], fitness[place])
    return MigrationGains(
        arrivals=len({(migrant, reached) for _, migrant, reached in coming}),
        used=len(descendants),
        gained=sum(count > 0 for count in gains.values()),
        improvements=gains.total(),
    )


def _origin(columns: Columns, origins: Sequence[int], arrived: set[Arrival], place: int) -> int:
    parent, island = columns.parents[place], columns.islands[place]
    if parent < 0:
        return -1
    if columns.islands[parent] == island:
        return origins[parent]
    return parent if (parent, island) in arrived else -1


def _coming(reader: RunReader, columns: Columns) -> list[tuple[int, int, int]]:
    """Sequence, evaluation and island of each arrival, in order."""
    places = {candidate_id: place for place, candidate_id in enumerate(columns.ids)}
    return [
        (logged.sequence, places[candidate_id], logged.event.data.to)
        for logged in reader.events(columns.run.id, kinds=(str(EventKind.ISLAND_MIGRATED),))
        if isinstance(logged.event.data, IslandMigrated)
        for candidate_id in logged.event.data.candidate_ids
        if candidate_id in places
    ]
