"""What every RunIntents and every RunClaims holds."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, insert, select

from evolve.change_events import (
    CandidateBanned,
    ChangeRefused,
    HintGiven,
    ProgramInserted,
    RequestedChange,
    SettingsChanged,
)
from evolve.event_codec import encode
from evolve.events import EventKind
from evolve.program import Program
from service.db import deletion
from service.db.account_models import NoteRow, PinRow, SavedFilterRow, ShareRow
from service.db.changes import MAX_WAITING
from service.db.columns import Base
from service.db.deletion import SqlDeletions
from service.db.engine import Database
from service.db.intents import SqlRunClaims, SqlRunIntents
from service.db.models import Tenant
from service.db.problems import SqlProblemStore
from service.errors import ConflictError, LeaseLostError, NotFoundError, StaleError
from service.ports import CANCELLED, PAUSED, RUNNING, Intent, RunClaims, RunIntents, RunLog, RunReader
from tests.contract.story import RUN, START, FixedClock, Story, by_clock, new_run

OTHER = "run_0190bbbb000000000000000000000002"
LEASE_SECONDS = 60.0
KEPT = {"bundles", "programs", "texts", "problems", "tenants", "usage", "alembic_version"}


@pytest.fixture
def intents(database: Database, clock: FixedClock) -> RunIntents:
    return SqlRunIntents(database, "default", clock, by_clock)


@pytest.fixture
def claims(database: Database, clock: FixedClock) -> RunClaims:
    return SqlRunClaims(database, clock, by_clock)


def begin(log: RunLog, story: Story, *, released: bool = False) -> int:
    """A run at work."""
    log.create(new_run(story.run_id))
    fence = log.take(story.run_id, "runner-1", LEASE_SECONDS)
    log.append(story.run_id, fence, story.seed())
    if released:
        log.release(story.run_id, fence)
    return fence


def settle(log: RunLog, story: Story, kind: EventKind, **payload: Any) -> None:
    """A run that was at work and is no longer."""
    fence = begin(log, story)
    log.append(story.run_id, fence, [*story.child(1, story.id(0)), story.tell(kind, **payload)])
    log.release(story.run_id, fence)


def pause(log: RunLog, story: Story, intents: RunIntents) -> None:
    settle(log, story, EventKind.RUN_PAUSED, by="ada")
    intents.want(story.run_id, PAUSED, "ada")


def finish(log: RunLog, story: Story) -> None:
    settle(log, story, EventKind.RUN_FINISHED, reason="evaluations", candidate_id=None, fitness=None)


def remove_deleted(database: Database) -> None:
    deletions = SqlDeletions(database)
    while deletions.advance():
        pass


HINT = HintGiven(change_id="hnt_1", text="try rings", proposals=5, by="ada")


class TestContinuing:
    def test_an_ended_run_is_queued_again_with_its_larger_budget(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story
    ) -> None:
        finish(log, story)
        last = list(log.events(RUN))[-1].sequence
        run = intents.extend(RUN, {"evaluations": 300}, "ada")
        assert (run.state, run.reason, run.finished_at, run.desired_budget) == ("queued", "", None, {})
        assert run.config["budget"]["evaluations"] == 300
        told = [(one.sequence, one.event.kind, dict(one.event.payload)) for one in log.events(RUN, last)]
        assert told == [
            (last + 1, EventKind.RUN_CONTINUED, {"by": "ada", "after": "evaluations"}),
            (last + 2, EventKind.BUDGET_EXTENDED, {"key": "evaluations", "from": 200, "to": 300, "by": "ada"}),
        ]
        found = claims.claim("runner-1", LEASE_SECONDS, ())
        assert found is not None
        assert found.id == RUN

    @pytest.mark.parametrize(
        ("budget", "said"),
        [
            ({"evaluations": 2}, "budget.evaluations is used up"),
            ({"target": 0.5}, "budget.target is used up"),
            ({"answers": 1, "tokens": 9_000}, "budget.answers is used up"),
        ],
    )
    def test_a_run_that_would_end_at_once_is_not_continued(
        self, log: RunLog, intents: RunIntents, reader: RunReader, story: Story, budget: dict[str, Any], said: str
    ) -> None:
        finish(log, story)
        before = reader.run(RUN)
        with pytest.raises(ConflictError, match=said):
            intents.extend(RUN, budget, "ada")
        assert reader.run(RUN) == before

    def test_a_run_that_ends_before_its_runner_heard_of_a_larger_budget_is_continued_at_once(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        intents.extend(RUN, {"evaluations": 300}, "ada")
        last = [*story.child(1, story.id(0)), story.tell(EventKind.RUN_FINISHED, reason="evaluations")]
        for _ in range(2):  # a second time because the answer to the first was lost
            log.append(RUN, fence, last)
        log.release(RUN, fence)
        told = [(one.event.kind, dict(one.event.payload)) for one in log.events(RUN, last[-1].sequence)]
        assert told == [
            (EventKind.RUN_CONTINUED, {"by": "ada", "after": "evaluations"}),
            (EventKind.BUDGET_EXTENDED, {"key": "evaluations", "from": 200, "to": 300, "by": "ada"}),
        ]
        run = reader.run(RUN)
        assert (run.state, run.config["budget"]["evaluations"], run.desired_budget) == ("queued", 300, {})
        found = claims.claim("runner-2", LEASE_SECONDS, ())
        assert found is not None
        assert found.id == RUN

    @pytest.mark.parametrize(
        ("budget", "cancelled"), [({"target": 0.5}, False), ({"evaluations": 300}, True)], ids=["reached", "cancelled"]
    )
    def test_a_run_that_ends_with_a_budget_wanted_that_changes_nothing_has_ended(
        self, log: RunLog, intents: RunIntents, reader: RunReader, story: Story, budget: dict[str, Any], cancelled: bool
    ) -> None:
        fence = begin(log, story)
        intents.extend(RUN, budget, "ada")
        if cancelled:
            intents.want(RUN, CANCELLED, "ada")
        last = [*story.child(1, story.id(0)), story.tell(EventKind.RUN_FINISHED, reason="evaluations")]
        log.append(RUN, fence, last)
        assert (reader.run(RUN).state, reader.run(RUN).sequence) == ("succeeded", last[-1].sequence)

    def test_a_run_that_failed_may_try_again_after_the_cure(
        self, log: RunLog, intents: RunIntents, story: Story
    ) -> None:
        settle(
            log,
            story,
            EventKind.RUN_FINISHED,
            reason="policy_refused",
            candidate_id=None,
            fitness=None,
            detail="no key",
        )
        run = intents.want(RUN, RUNNING, "ada")
        assert (run.state, run.waiting) == ("queued", None)

    def test_a_cancelled_run_is_never_continued(self, log: RunLog, intents: RunIntents, story: Story) -> None:
        settle(log, story, EventKind.RUN_CANCELLED, by="ada")
        with pytest.raises(ConflictError, match="cancelled"):
            intents.extend(RUN, {"evaluations": 300}, "ada")

    def test_a_run_whose_seeds_could_not_be_scored_is_never_continued(
        self, log: RunLog, intents: RunIntents, story: Story
    ) -> None:
        log.create(new_run(story.run_id))
        fence = log.take(RUN, "runner-1", LEASE_SECONDS)
        log.append(
            RUN, fence, [story.tell(EventKind.RUN_STARTED, by="x"), story.tell(EventKind.RUN_FINISHED, reason="error")]
        )
        log.release(RUN, fence)
        with pytest.raises(ConflictError, match="mend the problem"):
            intents.extend(RUN, {"evaluations": 300}, "ada")

    def test_who_held_the_run_at_its_end_is_held_off(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story
    ) -> None:
        finish(log, story)
        stale = log.take(RUN, "runner-1", LEASE_SECONDS)
        intents.extend(RUN, {"evaluations": 300}, "ada")
        log.release(RUN, stale)
        with pytest.raises(LeaseLostError):
            log.append(RUN, stale, [story.tell(EventKind.RUN_RESUMED, by="runner-1")])
        found = claims.claim("runner-2", LEASE_SECONDS, ())
        assert found is not None


class TestWanting:
    def test_what_is_wanted_is_stored_with_who_wants_it(
        self, log: RunLog, intents: RunIntents, claims: RunClaims
    ) -> None:
        log.create(new_run())
        assert intents.want(RUN, PAUSED, "ada").desired_state == PAUSED
        assert claims.wanted([RUN]) == {RUN: Intent(desired_state=PAUSED, by="ada")}

    def test_wanting_never_changes_the_state(self, log: RunLog, intents: RunIntents, reader: RunReader) -> None:
        log.create(new_run())
        intents.want(RUN, CANCELLED, "ada")
        assert (reader.run(RUN).state, reader.run(RUN).sequence) == ("queued", 1)

    def test_wanting_the_same_again_changes_nothing(self, log: RunLog, intents: RunIntents, claims: RunClaims) -> None:
        log.create(new_run())
        first = intents.want(RUN, PAUSED, "ada")
        assert intents.want(RUN, PAUSED, "bob") == first
        assert claims.wanted([RUN])[RUN].by == "ada"

    def test_each_write_of_a_front_door_is_another_revision(self, log: RunLog, intents: RunIntents) -> None:
        log.create(new_run())
        seen = [
            intents.want(RUN, PAUSED, "ada").revision,
            intents.want(RUN, RUNNING, "ada").revision,
            intents.extend(RUN, {"evaluations": 300}, "ada").revision,
            intents.label(RUN, {"team": "blue"}, None).revision,
        ]
        assert seen == [1, 2, 3, 4]

    @pytest.mark.parametrize("wish", [PAUSED, CANCELLED])
    def test_an_ended_run_is_neither_paused_nor_cancelled(
        self, log: RunLog, intents: RunIntents, story: Story, wish: str
    ) -> None:
        finish(log, story)
        with pytest.raises(ConflictError, match="succeeded"):
            intents.want(RUN, wish, "ada")

    def test_cancelling_what_is_cancelled_changes_nothing(self, log: RunLog, intents: RunIntents, story: Story) -> None:
        settle(log, story, EventKind.RUN_CANCELLED, by="ada")
        assert intents.want(RUN, CANCELLED, "bob").revision == 0
        with pytest.raises(ConflictError, match="cancelled"):
            intents.want(RUN, RUNNING, "ada")

    def test_a_cancellation_is_not_taken_back(self, log: RunLog, intents: RunIntents) -> None:
        log.create(new_run())
        intents.want(RUN, CANCELLED, "ada")
        with pytest.raises(ConflictError, match="being cancelled"):
            intents.want(RUN, RUNNING, "ada")
        with pytest.raises(ConflictError, match="being cancelled"):
            intents.extend(RUN, {"tokens": 1}, "ada")

    def test_changes_wait_until_the_search_made_them(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        by = claims.wanted([RUN])[RUN].by
        before = reader.run(RUN).revision
        first, second = RequestedChange(data=HINT), RequestedChange(data=replace(HINT, change_id="hnt_2"))
        intents.change(RUN, first)
        assert intents.change(RUN, second).revision == before + 2
        assert claims.wanted([RUN])[RUN] == Intent(changes=(first, second), by=by)
        log.append(RUN, fence, [story.tell(EventKind.HINT_GIVEN, **encode(HINT))])
        assert intents.changes(RUN) == [second]
        log.append(RUN, fence, [story.tell(EventKind.HINT_GIVEN, **encode(second.data))])
        assert intents.changes(RUN) == []

    def test_bans_and_settings_wait_until_they_are_logged_as_made_or_refused(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story
    ) -> None:
        fence = begin(log, story)
        ban = CandidateBanned(change_id="chg_1", by="ada", candidate_id=story.id(0), descendants=True)
        settings = SettingsChanged(change_id="chg_2", by="ada", settings={"selection": {"puct": 1.0}, "reset_after": 5})
        wanted = tuple(RequestedChange(data=data) for data in (ban, settings))
        for change in wanted:
            intents.change(RUN, change)
        assert claims.wanted([RUN])[RUN].changes == wanted  # a runner that was killed before the event finds them again
        refused = ChangeRefused(change_id="chg_1", by="ada", requested="candidate.banned", reason="nothing is left")
        log.append(RUN, fence, [story.tell(EventKind.CHANGE_REFUSED, **encode(refused))])
        assert intents.changes(RUN) == [wanted[1]]
        log.append(RUN, fence, [story.tell(EventKind.SETTINGS_CHANGED, **encode(settings))])
        assert intents.changes(RUN) == []

    def test_a_program_waits_with_its_change(self, log: RunLog, intents: RunIntents, claims: RunClaims) -> None:
        log.create(new_run())
        program = Program.of({"a.py": "x = 1\n", "b/c.py": "y = 'é'\n"})
        data = ProgramInserted(change_id="chg_1", by="ada", program_id=program.id, parent="cnd_1", island=0)
        intents.change(RUN, RequestedChange(data=data, program=program))
        assert claims.wanted([RUN])[RUN].changes == (RequestedChange(data=data, program=program),)

    def test_so_many_changes_wait_and_no_more(self, log: RunLog, intents: RunIntents) -> None:
        log.create(new_run())
        for number in range(MAX_WAITING):
            intents.change(RUN, RequestedChange(data=replace(HINT, change_id=f"chg_{number}")))
        with pytest.raises(ConflictError, match="100 changes"):
            intents.change(RUN, RequestedChange(data=HINT))
        assert len(intents.changes(RUN)) == MAX_WAITING

    def test_changes_of_a_run_that_is_not_there_are_not_found(self, intents: RunIntents) -> None:
        for ask in (lambda: intents.changes(RUN), lambda: intents.change(RUN, RequestedChange(data=HINT))):
            with pytest.raises(NotFoundError):
                ask()

    def test_a_run_that_is_over_takes_no_change(self, log: RunLog, intents: RunIntents) -> None:
        log.create(new_run())
        intents.want(RUN, CANCELLED, "ada")
        with pytest.raises(ConflictError, match="being cancelled"):
            intents.change(RUN, RequestedChange(data=HINT))

    def test_wanted_budgets_add_up_by_key(self, log: RunLog, intents: RunIntents, claims: RunClaims) -> None:
        log.create(new_run())
        intents.extend(RUN, {"evaluations": 300, "tokens": 10}, "ada")
        assert intents.extend(RUN, {"evaluations": 400}, "bob").desired_budget == {"evaluations": 400, "tokens": 10}
        assert claims.wanted([RUN])[RUN] == Intent(budget={"evaluations": 400, "tokens": 10}, by="bob")

    @pytest.mark.parametrize("key", ["evaluations", "answers", "tokens", "wall_seconds"])
    def test_a_limit_below_what_is_used_is_refused(
        self, log: RunLog, intents: RunIntents, reader: RunReader, story: Story, key: str
    ) -> None:
        fence = begin(log, story)
        log.append(RUN, fence, story.child(1, story.id(0)))
        log.release(RUN, fence)
        run = reader.run(RUN)
        counters = run.counters
        used = {
            "evaluations": counters.evaluations,
            "answers": counters.answers,
            "tokens": counters.tokens_input + counters.tokens_output,
            "wall_seconds": run.active_seconds,
        }[key]
        assert used > 0
        with pytest.raises(ConflictError, match=rf"has used [0-9.]+ of budget.{key} already, and [0-9.]+ is less"):
            intents.extend(RUN, {key: used / 2, "patience": 1}, "ada")
        assert reader.run(RUN).desired_budget == {}
        assert intents.extend(RUN, {key: used, "patience": 1}, "ada").desired_budget == {key: used, "patience": 1}
        assert intents.extend(RUN, {key: None}, "ada").desired_budget[key] is None

    def test_a_budget_that_was_taken_up_is_wanted_no_more(
        self, log: RunLog, intents: RunIntents, reader: RunReader, story: Story
    ) -> None:
        fence = begin(log, story)
        intents.extend(RUN, {"evaluations": 300, "tokens": 10}, "ada")
        change: dict[str, Any] = {"key": "evaluations", "from": 200, "to": 300}
        log.append(RUN, fence, [story.tell(EventKind.BUDGET_EXTENDED, **change)])
        run = reader.run(RUN)
        assert (run.config["budget"]["evaluations"], run.desired_budget) == (300, {"tokens": 10})

    def test_wanting_the_same_budget_again_changes_nothing(self, log: RunLog, intents: RunIntents) -> None:
        log.create(new_run())
        first = intents.extend(RUN, {"evaluations": 300}, "ada")
        assert intents.extend(RUN, {"evaluations": 300}, "ada").revision == first.revision

    def test_the_run_of_another_tenant_is_not_there(
        self, database: Database, clock: FixedClock, log: RunLog, story: Story
    ) -> None:
        finish(log, story)
        foreign = SqlRunIntents(database, "another", clock)
        with pytest.raises(NotFoundError):
            foreign.want(RUN, PAUSED, "eve")
        with pytest.raises(NotFoundError):
            foreign.extend(RUN, {"evaluations": 1}, "eve")
        with pytest.raises(NotFoundError):
            foreign.label(RUN, {}, None)
        with pytest.raises(NotFoundError):
            foreign.delete(RUN)
        with pytest.raises(NotFoundError):
            foreign.reevaluate(RUN, [story.id(0)], "eve", START)

    def test_no_run_nothing_to_want(self, intents: RunIntents, claims: RunClaims) -> None:
        with pytest.raises(NotFoundError):
            intents.want(RUN, PAUSED, "ada")
        assert claims.wanted([RUN]) == {}


class TestLabels:
    def test_labels_are_replaced(self, log: RunLog, intents: RunIntents, reader: RunReader) -> None:
        log.create(new_run(labels={"team": "blue"}))
        intents.label(RUN, {"phase": "two\x00"}, None)
        assert reader.run(RUN).labels == {"phase": "two\x00"}

    def test_a_revision_that_was_passed_by_is_stale(self, log: RunLog, intents: RunIntents, reader: RunReader) -> None:
        log.create(new_run())
        seen = reader.run(RUN).revision
        intents.label(RUN, {"team": "blue"}, seen)
        with pytest.raises(StaleError):
            intents.label(RUN, {"team": "red"}, seen)
        assert reader.run(RUN).labels == {"team": "blue"}

    def test_events_make_no_revision_stale(
        self, log: RunLog, intents: RunIntents, reader: RunReader, story: Story
    ) -> None:
        log.create(new_run())
        seen = reader.run(RUN).revision
        log.append(RUN, log.take(RUN, "runner-1", 60), story.seed())
        assert intents.label(RUN, {"team": "blue"}, seen).labels == {"team": "blue"}

    def test_an_ended_run_may_be_labelled(self, log: RunLog, intents: RunIntents, story: Story) -> None:
        finish(log, story)
        assert intents.label(RUN, {"kept": "yes"}, 0).labels == {"kept": "yes"}


class TestDeleting:
    def test_everything_that_is_the_runs_own_goes(
        self, database: Database, log: RunLog, intents: RunIntents, story: Story
    ) -> None:
        finish(log, story)
        put_beside(database, RUN, story.id(1))
        intents.reevaluate(RUN, [story.id(1)], "ada", START)
        intents.delete(RUN)
        remove_deleted(database)
        left = {name: count for name, count in rows(database).items() if count and name not in KEPT}
        assert left == {}
        assert rows(database)["programs"] > 0

    def test_another_run_keeps_all_that_it_has(
        self, database: Database, log: RunLog, intents: RunIntents, reader: RunReader, story: Story
    ) -> None:
        other = Story(OTHER)
        finish(log, other)
        put_beside(database, OTHER, other.id(1))
        before = rows(database)
        finish(log, story)
        put_beside(database, RUN, story.id(1))
        intents.delete(RUN)
        remove_deleted(database)
        assert rows(database) | {"usage": before["usage"]} == before
        assert [run.id for run in reader.runs()] == [OTHER]

    def test_a_deleted_run_is_there_for_nobody_at_once(
        self, database: Database, log: RunLog, intents: RunIntents, reader: RunReader, claims: RunClaims, story: Story
    ) -> None:
        pause(log, story, intents)
        intents.want(RUN, RUNNING, "ada")
        put_beside(database, RUN, story.id(1))
        intents.reevaluate(RUN, [story.id(1)], "ada", START)
        intents.delete(RUN)
        assert claims.claim("runner-2", LEASE_SECONDS, []) is None
        assert (claims.wanted([RUN]), claims.reevaluations(RUN)) == ({}, [])
        assert (reader.runs(), reader.named([story.id(1)])) == ([], [])
        assert (reader.sequences([RUN]), reader.active()) == ({}, {})
        for read in (reader.run, reader.best):
            with pytest.raises(NotFoundError):
                read(RUN)
        with pytest.raises(NotFoundError):
            reader.candidate(story.id(1))
        with pytest.raises(NotFoundError):
            log.take(RUN, "runner-2", LEASE_SECONDS)

    def test_who_held_a_run_before_it_was_deleted_writes_no_more(
        self, log: RunLog, intents: RunIntents, story: Story, clock: FixedClock
    ) -> None:
        pause(log, story, intents)
        fence = log.take(RUN, "runner-1", LEASE_SECONDS)
        clock.advance(LEASE_SECONDS)
        intents.delete(RUN)
        with pytest.raises(LeaseLostError):
            log.append(RUN, fence, [story.tell(EventKind.RUN_RESUMED)])
        with pytest.raises(LeaseLostError):
            log.renew(RUN, fence, LEASE_SECONDS)

    @pytest.mark.parametrize("steps", range(1, 14))
    def test_removing_that_was_broken_off_is_begun_again(
        self,
        database: Database,
        log: RunLog,
        intents: RunIntents,
        story: Story,
        monkeypatch: pytest.MonkeyPatch,
        steps: int,
    ) -> None:
        monkeypatch.setattr(deletion, "CHUNK", 1)
        finish(log, story)
        put_beside(database, RUN, story.id(1))
        intents.delete(RUN)
        broken_off = SqlDeletions(database)
        assert [broken_off.advance() for _ in range(steps)] == [True] * steps
        remove_deleted(database)
        assert {name: count for name, count in rows(database).items() if count and name not in KEPT} == {}
        assert not broken_off.advance()

    def test_a_problem_can_be_deleted_when_its_deleted_runs_are_removed(
        self, database: Database, log: RunLog, intents: RunIntents, reader: RunReader, story: Story
    ) -> None:
        finish(log, story)
        problem, problems = reader.run(RUN).problem_id, SqlProblemStore(database)
        with pytest.raises(ConflictError, match="has runs: delete them first"):
            problems.delete("default", problem)
        intents.delete(RUN)
        with pytest.raises(ConflictError, match="are being deleted: try again"):
            problems.delete("default", problem)
        remove_deleted(database)
        problems.delete("default", problem)
        assert problems.problems("default") == []

    def test_a_run_at_work_is_not_deleted(self, log: RunLog, intents: RunIntents, story: Story) -> None:
        begin(log, story, released=True)
        with pytest.raises(ConflictError, match="running"):
            intents.delete(RUN)

    def test_a_run_that_a_runner_holds_is_not_deleted(
        self, log: RunLog, intents: RunIntents, story: Story, clock: FixedClock, reader: RunReader
    ) -> None:
        finish(log, story)
        log.take(RUN, "runner-2", LEASE_SECONDS)
        with pytest.raises(ConflictError, match="held"):
            intents.delete(RUN)
        clock.advance(LEASE_SECONDS)
        intents.delete(RUN)
        assert reader.runs() == []

    @pytest.mark.parametrize("begun", [True, False])
    def test_a_run_that_rests_is_deleted(
        self, log: RunLog, intents: RunIntents, reader: RunReader, story: Story, begun: bool
    ) -> None:
        if begun:
            pause(log, story, intents)
        else:
            log.create(new_run())
        intents.delete(RUN)
        assert reader.runs() == []
        with pytest.raises(NotFoundError):
            intents.delete(RUN)


class TestReevaluating:
    def test_candidates_are_wanted_once(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story
    ) -> None:
        finish(log, story)
        assert intents.reevaluate(RUN, [story.id(1), story.id(1)], "ada", START) == 1
        assert intents.reevaluate(RUN, [story.id(0), story.id(1)], "bob", START.replace(year=2027)) == 1
        assert claims.reevaluations(RUN) == [story.id(1), story.id(0)]

    def test_what_was_evaluated_again_is_wanted_no_more(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story
    ) -> None:
        finish(log, story)
        intents.reevaluate(RUN, [story.id(0), story.id(1)], "ada", START)
        claims.reevaluated(RUN, [story.id(0)])
        assert claims.reevaluations(RUN) == [story.id(1)]
        assert intents.reevaluate(RUN, [story.id(0)], "ada", START) == 1

    @pytest.mark.parametrize("candidate", ["cnd_nobody", "rejected"])
    def test_what_is_no_program_of_the_run_is_not_found(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story, candidate: str
    ) -> None:
        fence = begin(log, story)
        fields: dict[str, Any] = {
            "proposal_number": 1,
            "position": 0,
            "island": 0,
            "parents": [],
            "reason": "it does not parse",
        }
        rejected = story.tell(EventKind.CANDIDATE_REJECTED, candidate_id=story.id(1), **fields)
        log.append(RUN, fence, [rejected, story.tell(EventKind.RUN_PAUSED, by="ada")])
        wanted = [story.id(0), story.id(1) if candidate == "rejected" else candidate]
        with pytest.raises(NotFoundError):
            intents.reevaluate(RUN, wanted, "ada", START)
        assert claims.reevaluations(RUN) == []

    def test_candidates_of_a_run_at_work_are_not_evaluated_again(
        self, log: RunLog, intents: RunIntents, story: Story
    ) -> None:
        begin(log, story)
        with pytest.raises(ConflictError, match="running"):
            intents.reevaluate(RUN, [story.id(0)], "ada", START)


class TestClaiming:
    def claim(self, claims: RunClaims, *holding: str, gone: tuple[str, ...] = ()) -> str | None:
        found = claims.claim("runner-2", LEASE_SECONDS, holding, lambda owner: owner in gone)
        return found.id if found else None

    def test_the_oldest_queued_run_comes_first(self, log: RunLog, claims: RunClaims) -> None:
        log.create(new_run(OTHER, created_at=START.replace(year=2025)))
        log.create(new_run(RUN))
        assert self.claim(claims) == OTHER
        assert self.claim(claims, OTHER) == RUN
        assert self.claim(claims, OTHER, RUN) is None

    def test_a_run_that_its_maker_is_about_to_drive_is_not_found(
        self, log: RunLog, claims: RunClaims, clock: FixedClock
    ) -> None:
        log.create(new_run(owner="maker"))
        assert claims.claim("runner", 12, []) is None
        clock.advance(16)
        found = claims.claim("runner", 12, [])
        assert found is not None

    def test_the_runs_of_one_batch_are_found_alone(self, database: Database, log: RunLog, clock: FixedClock) -> None:
        log.create(new_run(OTHER, created_at=START.replace(year=2025)))
        log.create(new_run(RUN, batch_id="bat_1"))
        claims = SqlRunClaims(database, clock, by_clock, batch_id="bat_1")
        assert self.claim(claims) == RUN
        assert self.claim(claims, RUN) is None

    def test_reserved_runs_of_a_batch_are_found_by_their_owner_alone(
        self, database: Database, log: RunLog, claims: RunClaims, clock: FixedClock
    ) -> None:
        log.create(new_run(RUN, batch_id="bat_1"))
        batch = SqlRunClaims(database, clock, by_clock, batch_id="bat_1")
        batch.reserve("command", LEASE_SECONDS)
        assert claims.claim("runner-1", LEASE_SECONDS, []) is None
        found = batch.claim("command", LEASE_SECONDS, [])
        assert found is not None
        batch.reserve("another", LEASE_SECONDS)  # what is reserved stays whose it is
        assert claims.claim("another", LEASE_SECONDS, []) is None
        batch.reserve("another", LEASE_SECONDS, lambda owner: owner == "command")
        assert claims.claim("another", LEASE_SECONDS, []) is not None
        batch.give_back("another")
        assert claims.claim("runner-1", LEASE_SECONDS, []) is not None

    def test_runs_of_every_tenant_are_found(self, database: Database, log: RunLog, claims: RunClaims) -> None:
        with database.write() as connection:
            known = connection.execute(select(Tenant.id).where(Tenant.id == "another")).scalar()
            if known is None:
                connection.execute(insert(Tenant), [{"id": "another", "created_at": START}])
        log.create(new_run(tenant="another"))
        assert self.claim(claims) == RUN

    def test_claiming_takes_no_lease(self, log: RunLog, claims: RunClaims) -> None:
        log.create(new_run())
        assert self.claim(claims) == RUN
        assert log.take(RUN, "runner-3", LEASE_SECONDS) == 1

    def test_a_held_run_is_left_alone_until_its_lease_lapses(
        self, log: RunLog, claims: RunClaims, story: Story, clock: FixedClock
    ) -> None:
        begin(log, story)
        assert self.claim(claims) is None
        clock.advance(LEASE_SECONDS - 1)
        assert self.claim(claims) is None
        clock.advance(1)
        assert self.claim(claims) == RUN

    def test_a_run_whose_owner_is_gone_is_found_at_once(self, log: RunLog, claims: RunClaims, story: Story) -> None:
        begin(log, story)
        assert self.claim(claims, gone=("runner-1",)) == RUN
        assert self.claim(claims, RUN, gone=("runner-1",)) is None

    def test_a_run_that_its_runner_gave_back_is_found_at_once(
        self, log: RunLog, claims: RunClaims, story: Story
    ) -> None:
        begin(log, story, released=True)
        assert self.claim(claims) == RUN

    def test_an_owner_finds_what_it_lost_hold_of(self, log: RunLog, claims: RunClaims) -> None:
        log.create(new_run())
        log.take(RUN, "runner-2", LEASE_SECONDS)
        assert self.claim(claims) == RUN

    @pytest.mark.parametrize(("wish", "found"), [(PAUSED, None), (RUNNING, RUN), (CANCELLED, RUN)])
    def test_a_paused_run_is_found_when_it_shall_not_rest(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story, wish: str, found: str | None
    ) -> None:
        pause(log, story, intents)
        intents.want(RUN, wish, "ada")
        assert self.claim(claims) == found

    def test_a_run_that_its_own_process_paused_rests_until_somebody_wants_it(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story
    ) -> None:
        settle(log, story, EventKind.RUN_PAUSED, by="host:1")
        assert self.claim(claims) is None
        intents.want(RUN, RUNNING, "ada")
        assert self.claim(claims) == RUN

    @pytest.mark.parametrize("wish", [PAUSED, CANCELLED])
    def test_a_queued_run_is_found_whatever_is_wanted_of_it(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, wish: str
    ) -> None:
        log.create(new_run())
        intents.want(RUN, wish, "ada")
        assert self.claim(claims) == RUN

    def test_an_ended_run_is_found_only_for_what_shall_be_evaluated_again(
        self, log: RunLog, intents: RunIntents, claims: RunClaims, story: Story
    ) -> None:
        finish(log, story)
        assert self.claim(claims) is None
        intents.reevaluate(RUN, [story.id(0)], "ada", START)
        assert self.claim(claims) == RUN
        log.take(RUN, "runner-1", LEASE_SECONDS)
        assert self.claim(claims) is None

    def test_the_record_is_that_of_the_run(self, log: RunLog, claims: RunClaims, reader: RunReader) -> None:
        log.create(new_run(labels={"team": "blue"}))
        assert claims.claim("runner-2", LEASE_SECONDS, []) == reader.run(RUN)


def put_beside(database: Database, run_id: str, candidate_id: str) -> None:
    """Everything that people put beside a run."""
    made = {"run_id": run_id, "created_at": START}
    own = {"id": f"{run_id}-1", "tenant": "default"}
    with database.write() as connection:
        note = {"candidate_id": candidate_id, "body": "look", "author": "ada", "updated_at": START}
        connection.execute(insert(NoteRow), [made | note | {"id": own["id"]}])
        connection.execute(insert(PinRow), [made | {"candidate_id": candidate_id, "author": "ada"}])
        connection.execute(insert(SavedFilterRow), [made | own | {"name": "mine", "settings": {}}])
        connection.execute(insert(ShareRow), [made | own | {"hash": run_id, "created_by": "ada"}])


def rows(database: Database) -> dict[str, int]:
    with database.read() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in Base.metadata.tables.items()
        }
