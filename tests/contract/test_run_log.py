"""What every RunLog holds."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from evolve.evaluation import Outcome
from evolve.events import Event, EventKind
from evolve.program import Program
from evolve.proposal import Usage
from service.db.engine import Database
from service.errors import ConflictError, LeaseLostError, NotFoundError, StorageError
from service.ports import LoggedEvent, RunLog, RunReader
from tests.contract.story import RUN, START, FixedClock, Story, new_run

OTHER = "run_0190bbbb000000000000000000000002"


def begin(log: RunLog, story: Story) -> int:
    """A created run with its lease taken and its seed evaluated."""
    log.create(new_run(story.run_id))
    fence = log.take(story.run_id, "runner-1", 60)
    log.append(story.run_id, fence, story.seed())
    return fence


class TestCreation:
    def test_a_created_run_is_queued_with_its_first_event(self, log: RunLog, reader: RunReader) -> None:
        log.create(new_run())
        [first] = log.events(RUN)
        assert (first.sequence, first.event.kind, first.at) == (1, EventKind.RUN_CREATED, START)
        assert reader.run(RUN).state == "queued"

    def test_a_run_comes_back_as_it_went_in(self, log: RunLog, reader: RunReader) -> None:
        run = new_run(seed=2**80, source="caf\udce9/\x00", known_best=None)
        log.create(run)
        stored = reader.run(RUN)
        for name in ("config", "policies", "objectives", "seed", "source", "known_best", "created_at", "tenant"):
            assert getattr(stored, name) == getattr(run, name)
        assert log.bundle(RUN) == run.bundle

    def test_a_run_id_is_given_once(self, log: RunLog) -> None:
        log.create(new_run())
        with pytest.raises(ConflictError, match="exists already"):
            log.create(new_run(problem_name="another"))

    def test_a_run_of_an_unknown_tenant_is_refused(self, log: RunLog) -> None:
        with pytest.raises(NotFoundError, match="tenant"):
            log.create(new_run(tenant="nobody"))

    def test_a_number_that_json_cannot_say_is_refused(self, log: RunLog, reader: RunReader) -> None:
        with pytest.raises(StorageError, match="cannot hold"):
            log.create(new_run(config={"migration_rate": float("inf")}))
        assert reader.runs() == []

    def test_the_bundle_of_no_run_is_not_found(self, log: RunLog) -> None:
        with pytest.raises(NotFoundError):
            log.bundle(RUN)


class TestLease:
    def test_each_taking_gives_a_higher_fence(self, log: RunLog) -> None:
        log.create(new_run())
        first = log.take(RUN, "runner-1", 60)
        log.release(RUN, first)
        assert log.take(RUN, "runner-2", 60) > first

    def test_a_held_lease_is_not_taken(self, log: RunLog) -> None:
        log.create(new_run())
        log.take(RUN, "runner-1", 60)
        with pytest.raises(ConflictError, match="runner-1"):
            log.take(RUN, "runner-2", 60)

    def test_a_lease_whose_owner_is_gone_is_taken(self, log: RunLog) -> None:
        log.create(new_run())
        first = log.take(RUN, "runner-1", 60)
        assert log.take(RUN, "runner-2", 60, lambda owner: owner == "runner-1") > first

    def test_an_expired_lease_is_taken(self, log: RunLog, clock: FixedClock) -> None:
        log.create(new_run())
        first = log.take(RUN, "runner-1", 60)
        clock.advance(60)
        assert log.take(RUN, "runner-2", 60) > first

    def test_a_run_that_was_stored_with_an_owner_is_that_ones_for_a_moment(
        self, log: RunLog, clock: FixedClock
    ) -> None:
        log.create(new_run(owner="runner-1"))
        with pytest.raises(ConflictError):
            log.take(RUN, "runner-2", 60)
        first = log.take(RUN, "runner-1", 5)
        clock.advance(15)
        assert log.take(RUN, "runner-2", 60) > first

    def test_renewing_keeps_the_lease(self, log: RunLog, clock: FixedClock) -> None:
        log.create(new_run())
        fence = log.take(RUN, "runner-1", 60)
        clock.advance(50)
        assert log.renew(RUN, fence, 60) == "running"
        clock.advance(50)
        with pytest.raises(ConflictError):
            log.take(RUN, "runner-2", 60)

    def test_a_renewal_tells_how_the_policy_fares_and_the_next_forgets_it(
        self, log: RunLog, reader: RunReader, story: Story, clock: FixedClock
    ) -> None:
        fence = begin(log, story)
        seen = {"breaker": "open", "retry_seconds": 5.0, "reachable": False, "running": None, "waiting": None}
        log.renew(RUN, fence, 60, {"syntax": seen | {"calls": 4, "in_flight": 2}})
        [told] = reader.policy_health()
        assert (told.run_id, told.policy, told.at) == (RUN, "syntax", clock.now())
        assert (told.breaker, told.retry_seconds, told.reachable) == ("open", 5.0, False)
        assert (told.running, told.waiting, told.calls, told.in_flight) == (None, None, 4, 2)
        log.renew(RUN, fence, 60)
        assert reader.policy_health() == []

    def test_a_lost_lease_is_not_renewed(self, log: RunLog, clock: FixedClock) -> None:
        log.create(new_run())
        fence = log.take(RUN, "runner-1", 60)
        clock.advance(61)
        log.take(RUN, "runner-2", 60)
        with pytest.raises(LeaseLostError):
            log.renew(RUN, fence, 60)

    def test_a_released_lease_is_not_renewed(self, log: RunLog) -> None:
        log.create(new_run())
        fence = log.take(RUN, "runner-1", 60)
        log.release(RUN, fence)
        with pytest.raises(LeaseLostError):
            log.renew(RUN, fence, 60)

    def test_releasing_a_lost_lease_leaves_the_new_holder_alone(self, log: RunLog, clock: FixedClock) -> None:
        log.create(new_run())
        lost = log.take(RUN, "runner-1", 60)
        clock.advance(61)
        held = log.take(RUN, "runner-2", 60)
        log.release(RUN, lost)
        assert log.renew(RUN, held, 60) == "running"

    def test_no_run_no_lease(self, log: RunLog) -> None:
        with pytest.raises(NotFoundError):
            log.take(RUN, "runner-1", 60)


class TestAppend:
    def test_events_come_back_in_order_as_they_went_in(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        told = story.child(1, story.id(0))
        log.append(RUN, fence, told)
        assert list(log.events(RUN, after=told[0].sequence - 1)) == told

    def test_unknown_keys_of_a_payload_are_kept(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        told = story.tell(EventKind.RUN_PAUSING, by="me", note="\x00 \ud800 ü", later={"x": [1, None]})
        log.append(RUN, fence, [told])
        assert list(log.events(RUN))[-1].event.payload == told.event.payload

    def test_an_old_fence_writes_nothing(self, log: RunLog, story: Story, clock: FixedClock) -> None:
        fence = begin(log, story)
        clock.advance(61)
        newer = log.take(RUN, "runner-2", 60)
        told = story.child(1, story.id(0))
        with pytest.raises(LeaseLostError):
            log.append(RUN, fence, told)
        log.append(RUN, newer, told)
        assert list(log.events(RUN))[-4:] == told

    def test_a_gap_in_the_sequence_is_refused(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        before = list(log.events(RUN))
        story.sequence += 1
        with pytest.raises(ConflictError):
            log.append(RUN, fence, [story.tell(EventKind.RUN_PAUSING)])
        assert list(log.events(RUN)) == before

    def test_a_repeated_sequence_is_refused(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        told = story.child(1, story.id(0))
        log.append(RUN, fence, told)
        with pytest.raises(ConflictError):
            log.append(RUN, fence, told[:-1])
        with pytest.raises(ConflictError):
            log.append(RUN, fence, [*told[:-1], replace(told[-1], at=START)])

    def test_what_comes_again_because_nobody_heard_that_it_was_committed_changes_nothing(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        told = story.child(1, story.id(0))
        log.append(RUN, fence, told)
        before = (list(log.events(RUN)), reader.run(RUN))
        log.append(RUN, fence, told)
        assert (list(log.events(RUN)), reader.run(RUN)) == before

    def test_what_comes_again_is_refused_when_another_took_the_run(
        self, log: RunLog, story: Story, clock: FixedClock
    ) -> None:
        fence = begin(log, story)
        told = story.child(1, story.id(0))
        log.append(RUN, fence, told)
        clock.advance(61)
        log.take(RUN, "runner-2", 60)
        with pytest.raises(LeaseLostError):
            log.append(RUN, fence, told)

    def test_another_evaluation_changes_nothing_but_the_list_of_evaluations(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        seed = story.id(0)
        before = (reader.candidate(seed), reader.run(RUN).counters, reader.best(RUN), log.individuals(RUN, [seed]))
        again = story.individual(seed, 9.0, worker="worker-2")
        log.append(RUN, fence, [story.reevaluate(again, 2)])
        assert before == (
            reader.candidate(seed),
            reader.run(RUN).counters,
            reader.best(RUN),
            log.individuals(RUN, [seed]),
        )
        assert [(e.attempt, e.worker) for e in reader.evaluations(seed)] == [(1, "worker-1"), (2, "worker-2")]

    def test_a_gap_inside_a_batch_commits_nothing_of_it(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        before = list(log.events(RUN))
        told = [story.tell(EventKind.RUN_PAUSING), story.tell(EventKind.RUN_PAUSED)]
        with pytest.raises(ConflictError):
            log.append(RUN, fence, [told[0], replace(told[1], sequence=told[1].sequence + 1)])
        assert list(log.events(RUN)) == before

    def test_an_event_of_another_run_is_refused(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        with pytest.raises(ConflictError):
            log.append(RUN, fence, [replace(story.tell(EventKind.RUN_PAUSING), run_id=OTHER)])

    def test_no_events_are_no_work(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [])
        assert list(log.events(RUN))[-1].sequence == story.sequence

    def test_an_evaluation_of_no_candidate_commits_nothing(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        story.create(1)
        story.sequence -= 1
        with pytest.raises(ConflictError):
            log.append(RUN, fence, [story.evaluate(story.id(1))])
        assert list(log.events(RUN))[-1].sequence == story.sequence - 1

    def test_a_parent_that_is_not_there_commits_nothing(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        with pytest.raises(ConflictError):
            log.append(RUN, fence, [story.create(1, parents=[("cnd_nobody", "parent")])])
        assert [record.proposal_number for record in reader.candidates(RUN)] == [0]

    def test_an_event_without_its_subject_is_a_mistake_of_the_caller(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        created = story.create(1)
        with pytest.raises(TypeError, match=r"candidate\.created"):
            log.append(RUN, fence, [replace(created, event=Event(created.event.data))])

    def test_a_candidate_that_is_there_already_is_left_alone(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        parent = story.id(0)
        log.append(RUN, fence, [story.propose(1, parent), story.create(1, parents=[(parent, "parent")])])
        again = [story.create(1, parents=[(parent, "parent")]), story.evaluate(story.id(1), 3.0)]
        log.append(RUN, fence, again)
        found = reader.candidate(story.id(1))
        assert (found.status, found.fitness, len(found.parents)) == ("evaluated", 3.0, 1)

    def test_a_proposal_that_is_there_already_takes_its_answer(
        self, log: RunLog, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.propose(1, story.id(0))])
        log.append(RUN, fence, [story.propose(1, story.id(0)), story.answer(1, text="mine")])
        assert reader.proposal(RUN, 1).completions == ["mine"]

    def test_a_candidate_of_the_same_id_and_another_program_is_refused(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.create(1)])
        with pytest.raises(ConflictError, match="another content"):
            log.append(RUN, fence, [story.create(1, program=Program.of({"other.py": "z"}))])

    def test_a_number_beyond_every_column_commits_nothing(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        told = [story.propose(1, story.id(0)), story.answer(1, usage=Usage(input=2**70))]
        with pytest.raises(StorageError, match="too large"):
            log.append(RUN, fence, told)
        assert list(log.events(RUN))[-1].sequence == told[0].sequence - 1

    def test_a_run_that_is_not_there_takes_nothing(self, log: RunLog, story: Story) -> None:
        with pytest.raises(NotFoundError):
            log.append(RUN, 1, [story.tell(EventKind.RUN_STARTED)])

    def test_two_runs_do_not_touch(self, log: RunLog, reader: RunReader, story: Story) -> None:
        begin(log, story)
        other = Story(OTHER)
        begin(log, other)
        assert reader.run(RUN).counters == reader.run(OTHER).counters
        assert {record.run_id for record in reader.candidates(OTHER)} == {OTHER}


class TestReadingEvents:
    def test_reading_starts_after_and_ends_at_the_limit(self, log: RunLog, story: Story) -> None:
        begin(log, story)
        assert [logged.sequence for logged in log.events(RUN, after=2, limit=3)] == [3, 4, 5]

    def test_a_long_log_is_read_whole(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.tell(EventKind.RUN_PAUSING) for _ in range(2500)])
        assert [logged.sequence for logged in log.events(RUN)] == list(range(1, story.sequence + 1))
        assert len(list(log.events(RUN, limit=2001))) == 2001

    def test_appending_while_reading_is_no_obstacle(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, [story.tell(EventKind.RUN_PAUSING) for _ in range(1500)])
        stream = log.events(RUN)
        next(stream)
        last = story.tell(EventKind.RUN_PAUSED)
        log.append(RUN, fence, [last])
        assert list(stream)[-1] == last

    def test_times_are_aware_utc(self, log: RunLog, story: Story) -> None:
        begin(log, story)
        assert {logged.at.utcoffset() for logged in log.events(RUN)} == {timedelta(0)}


class TestRebuilding:
    def test_candidates_come_back_in_the_order_asked_for(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        parents = [(story.id(0), "parent"), (story.id(0), "inspiration")]
        told = story.create(1, 2, parents=parents, island=3)
        log.append(RUN, fence, [told])
        found = log.candidates(RUN, [story.id(1, 2), story.id(0), story.id(1, 2)])
        assert [candidate.proposal_number for candidate in found] == [1, 0, 1]
        assert found[0] == told.event.subject

    def test_individuals_come_back_as_they_were_told(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        told = story.child(1, story.id(0), 2.5, feedback="NUL \x00, surrogate \udc80, ü", rewards=(2.5, -1.0))
        log.append(RUN, fence, told)
        [found] = log.individuals(RUN, [story.id(1)])
        assert found == told[-1].event.subject

    def test_a_failed_individual_comes_back_as_it_was_told(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        told = story.child(1, story.id(0), None, outcome=Outcome.MEMORY, reason="over 1024 MB")
        log.append(RUN, fence, told)
        assert log.individuals(RUN, [story.id(1)]) == [told[-1].event.subject]

    def test_what_has_no_program_or_evaluation_is_no_individual(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        rejected = reject(story, 1, 0)
        log.append(RUN, fence, [rejected, story.create(1, 1)])
        ids = [story.id(1, 0), story.id(0), story.id(1, 1)]
        assert [individual.candidate_id for individual in log.individuals(RUN, ids)] == [story.id(0)]
        assert [candidate.id for candidate in log.candidates(RUN, ids)] == [story.id(0), story.id(1, 1)]

    def test_an_unknown_candidate_is_not_found(self, log: RunLog, story: Story) -> None:
        begin(log, story)
        with pytest.raises(NotFoundError):
            log.individuals(RUN, ["cnd_nobody"])
        with pytest.raises(NotFoundError):
            log.candidates(RUN, ["cnd_nobody"])

    def test_candidates_of_another_run_are_not_found(self, log: RunLog, story: Story) -> None:
        begin(log, story)
        log.create(new_run(OTHER))
        with pytest.raises(NotFoundError):
            log.individuals(OTHER, [story.id(0)])

    def test_more_candidates_than_a_statement_takes(self, log: RunLog, story: Story) -> None:
        fence = begin(log, story)
        log.append(
            RUN, fence, [event for n in range(1, 1200) for event in (story.create(n), story.evaluate(story.id(n)))]
        )
        ids = [story.id(n) for n in range(1199, -1, -1)]
        assert [individual.candidate_id for individual in log.individuals(RUN, ids)] == ids


def reject(story: Story, number: int, position: int) -> LoggedEvent:
    return story.tell(
        EventKind.CANDIDATE_REJECTED,
        candidate_id=story.id(number, position),
        proposal_number=number,
        position=position,
        island=0,
        parents=[[story.id(0), "parent"]],
        reason="the SEARCH block is not in the parent",
    )


class TestManyAtOnce:
    """Batches of many candidates, which PostgreSQL takes by COPY."""

    ODD = 'a\tb\nc\\N \\. \\ \r\x00 \udce9 caf\u00e9 "quoted"'

    def batch(self, story: Story, **changes: Any) -> list[LoggedEvent]:
        parents = [(story.id(0), "parent")]
        told = [story.propose(1, story.id(0))]
        told += [story.create(1, place, parents=parents) for place in range(8)]
        told += [story.evaluate(story.id(1, place), float(place), **changes) for place in range(8)]
        return told

    def test_they_come_back_as_they_went_in(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        told = self.batch(story, feedback=self.ODD, cases={self.ODD: 0.1 + 0.2}, answer=None)
        log.append(RUN, fence, told)
        assert list(log.events(RUN, after=told[0].sequence - 1)) == told
        found = log.individuals(RUN, [story.id(1, place) for place in range(8)])
        expected = [story.individual(story.id(1, place), float(place)) for place in range(8)]
        assert [one.fitness for one in found] == [one.fitness for one in expected]
        assert {one.evaluation.feedback for one in found} == {self.ODD}
        assert {one.evaluation.answer for one in found} == {None}
        assert [dict(one.evaluation.cases) for one in found] == [{self.ODD: 0.1 + 0.2}] * 8
        assert [one.program for one in found] == [one.program for one in expected]

    def test_those_that_are_there_already_are_left_alone(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, self.batch(story)[:-1])
        story.sequence -= 1
        log.append(RUN, fence, self.batch(story))
        assert reader.run(RUN).counters.evaluations == 1 + 7 + 8
        found = [reader.candidate(story.id(1, place)) for place in range(8)]
        assert [(one.fitness, one.status, len(one.parents)) for one in found] == [
            (float(place), "evaluated", 1) for place in range(8)
        ]

    def test_one_whose_parent_is_not_there_commits_nothing(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        told = [*self.batch(story), *(story.create(2, place, parents=[("cnd_nobody", "parent")]) for place in range(6))]
        with pytest.raises(ConflictError):
            log.append(RUN, fence, told)
        assert [record.proposal_number for record in reader.candidates(RUN)] == [0]
        assert list(log.events(RUN))[-1].sequence == told[0].sequence - 1

    def test_a_value_that_json_cannot_say_commits_nothing(self, log: RunLog, reader: RunReader, story: Story) -> None:
        fence = begin(log, story)
        told = self.batch(story, measures={"depth": float("nan")})
        with pytest.raises(StorageError, match="cannot hold"):
            log.append(RUN, fence, told)
        assert [record.proposal_number for record in reader.candidates(RUN)] == [0]

    def test_postgresql_copies_them(self, database: Database, log: RunLog, story: Story) -> None:
        fence, seen = begin(log, story), list[str]()
        event.listen(database.engine, "before_cursor_execute", lambda *words: seen.append(words[2]))
        log.append(RUN, fence, self.batch(story))
        copied = {statement.split()[1] for statement in seen if statement.startswith("COPY ")}
        postgres = database.engine.dialect.name == "postgresql"
        assert copied == ({"events", "candidates", "parents", "evaluations"} if postgres else set())
