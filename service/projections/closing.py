"""The closing assessment of a run, beside what its programs were worth to the search."""

from evolve.event_types import RunClosing
from evolve.search.assessment import EXAMINING, Assessment, SearchScore, assess, examined
from service.ports import RunReader, RunRecord
from service.projections.candidates import objectives_of

_KINDS = tuple(map(str, EXAMINING))


def assessment_of(reader: RunReader, run: RunRecord) -> Assessment | None:
    """What came of the examinations of a run so far; None where it has none, or has not come to them."""
    events = [logged.event for logged in reader.events(run.id, kinds=_KINDS)]
    ids = [one for event in events if isinstance(event.data, RunClosing) for one in examined(event.data)]
    worths = {one.id: SearchScore(fitness=one.fitness, scores=one.scores) for one in reader.named(ids)}
    return assess(events, worths, objectives_of(run))
