"""What the runs of a batch have come to, for every front door."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from service.ports import ENDED, BatchRecord, RunRecord
from service.projections.batches import batch_reply, group_name
from service.projections.money import total
from service.schemas.batches import BatchSummary, GroupSummary


def summarize(batch: BatchRecord, runs: Sequence[RunRecord], titles: Mapping[str, str]) -> BatchSummary:
    """What the runs of a batch have come to, by problem and by what they differ in beside their seeds.

    Args:
        batch: as it is stored.
        runs: all of it.
        titles: `name@version` of each problem, by its id.
    """
    groups: dict[tuple[str, str], list[RunRecord]] = defaultdict(list)
    for run in runs:
        groups[titles[run.problem_id], group_name(run)].append(run)
    return BatchSummary(
        batch=batch_reply(batch), groups=[_summed(*key, alike) for key, alike in sorted(groups.items())]
    )


def _summed(problem: str, group: str, runs: list[RunRecord]) -> GroupSummary:
    found = [run.best_fitness for run in runs if run.best_fitness is not None]
    quartiles = [float(value) for value in np.quantile(found, [0.25, 0.5, 0.75])] if found else []
    return GroupSummary(
        problem=problem,
        group=group,
        objectives=list(runs[0].objectives),
        runs=len(runs),
        ended=sum(run.state in ENDED for run in runs),
        best=max(found, default=None),
        median=quartiles[1] if quartiles else None,
        quartiles=quartiles[::2],
        evaluations=sum(run.counters.evaluations for run in runs),
        tokens=sum(run.counters.tokens_input + run.counters.tokens_output for run in runs),
        cost=total(run.counters.cost for run in runs),
    )
