"""Runs of a database side by side, in the form in which a service tells of them."""

from collections.abc import Sequence

from service.api.serializers.comparison import shown
from service.errors import UsageError
from service.ports import RunReader
from service.projections.columns import columns_of
from service.projections.comparison import Order, compare
from service.projections.progress_curve import trail_of
from service.schemas.series import MAX_COMPARED, RunComparison


def compare_stored(reader: RunReader, run_ids: Sequence[str], order: Order) -> RunComparison:
    """Set runs side by side.

    Raises:
        UsageError: there are too many of them, or they cannot be grouped so.
    """
    if len(run_ids) > MAX_COMPARED:
        raise UsageError(f"{len(run_ids)} runs are too many to compare: name {MAX_COMPARED} at most")
    runs = [reader.run(run_id) for run_id in run_ids]
    return shown(compare([trail_of(columns_of(reader, run), run) for run in runs], order))
