"""What workers did and are to do is told of every tenant, the latest first, and under way by the ids of the queue."""

from datetime import timedelta

from evolve.events import EventKind
from evolve.identity import evaluation_id
from service.db.engine import Database
from service.db.evaluated import SqlEvaluationRecords
from service.db.intents import SqlRunIntents
from service.ports import RunLog
from tests.contract.story import RUN, START, FixedClock, Story
from tests.contract.test_run_log import begin


def test_the_latest_comes_first_and_what_nobody_did_is_left_out(database: Database, log: RunLog, story: Story) -> None:
    fence = begin(log, story)
    for number, worker in ((1, "worker-1"), (2, ""), (3, "worker-2")):
        log.append(RUN, fence, story.child(number, story.id(0), worker=worker))
    records = SqlEvaluationRecords(database)
    done = records.done(START, 10)
    assert [one.candidate_id for one in done] == [story.id(3), story.id(1), story.id(0)]
    assert (done[0].tenant, done[0].run_id, done[0].worker, done[0].outcome) == ("default", RUN, "worker-2", "ok")
    assert (done[0].seconds, done[0].attempt, done[0].ended_at) == (0.25, 1, story.at)
    assert [one.candidate_id for one in records.done(START, 1)] == [story.id(3)]
    assert records.done(story.at + timedelta(seconds=1), 10) == []


def test_what_is_under_way_is_found_by_the_id_that_the_queue_knows(
    database: Database, log: RunLog, story: Story, clock: FixedClock
) -> None:
    fence = begin(log, story)
    log.append(RUN, fence, [story.propose(1, story.id(0)), story.create(1), story.create(1, 1)])
    records, under_way = SqlEvaluationRecords(database), evaluation_id(story.id(1, 1), 1)
    found = records.wanted({under_way, evaluation_id(story.id(0), 1), evaluation_id(story.id(0), 2), "evl_x"})
    assert {id_: one.candidate_id for id_, one in found.items()} == {under_way: story.id(1, 1)}
    log.append(RUN, fence, [story.tell(EventKind.RUN_PAUSED, by="me")])
    SqlRunIntents(database, "default", clock).reevaluate(RUN, [story.id(0)], "me", START)
    again = records.wanted({evaluation_id(story.id(0), 2)})
    assert [(one.candidate_id, one.attempt) for one in again.values()] == [(story.id(0), 2)]
