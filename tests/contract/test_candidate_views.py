"""Views of candidates are kept with the evaluation that drew them, and go with their run."""

from sqlalchemy import text

from evolve.events import EventKind
from evolve.views.candidate_view import PNG, SVG, CandidateView
from service.db.deletion import remove
from service.db.engine import Database
from service.db.intents import SqlRunIntents
from service.ports import DEFAULT_TENANT, RunLog, RunReader
from tests.contract.story import RUN, FixedClock, Story, new_run

CIRCLE = CandidateView(media_type=SVG, content='<svg xmlns="http://www.w3.org/2000/svg"/>')
OTHER = CandidateView(media_type=PNG, content="iVBORw0KGgo=")
BAD = CandidateView(reason="The view has 300 KB: up to 256 KB are kept.")


def tell(log: RunLog, story: Story) -> None:
    log.create(new_run())
    fence = log.take(RUN, "a", 0)
    told = [story.create(0), story.evaluate(story.id(0), 1.0, view=CIRCLE), story.create(0, 1)]
    told += [story.evaluate(story.id(0, 1), None, view=BAD), story.create(0, 2), story.evaluate(story.id(0, 2), 2.0)]
    log.append(RUN, fence, told)
    log.append(RUN, fence, [story.reevaluate(story.individual(story.id(0), 1.5, view=OTHER), 2)])


def test_a_view_is_that_of_the_evaluation_that_counts(log: RunLog, reader: RunReader, story: Story) -> None:
    tell(log, story)
    assert reader.view(story.id(0)) == CIRCLE
    assert reader.view(story.id(0, 1)) == BAD
    assert reader.view(story.id(0, 2)) is None


def test_lists_say_which_candidates_have_a_view_without_reading_it(
    log: RunLog, reader: RunReader, story: Story
) -> None:
    tell(log, story)
    shown = [(one.view_type, one.view_reason) for one in reader.candidates(RUN)]
    assert shown == [(SVG, ""), ("", BAD.reason), (None, "")]


def test_a_search_that_goes_on_holds_no_views(log: RunLog, story: Story) -> None:
    tell(log, story)
    assert [one.evaluation.view for one in log.individuals(RUN, [story.id(0)])] == [None]
    assert story.individual(story.id(0), 1.0, view=CIRCLE).without_view() == story.individual(story.id(0), 1.0)


def test_views_go_with_their_run(log: RunLog, database: Database, clock: FixedClock, story: Story) -> None:
    tell(log, story)
    log.append(RUN, log.take(RUN, "a", 0), [story.tell(EventKind.RUN_FINISHED, reason="evaluations")])
    SqlRunIntents(database, DEFAULT_TENANT, clock).delete(RUN)
    for _ in remove(database, RUN):
        pass
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM candidate_views")).scalar() == 0
