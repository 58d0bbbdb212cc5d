"""Runs that nobody drives are paused, cancelled, told to wait or given up, and evaluated again, by events alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.events import EventKind
from evolve.program import Program
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.errors import ConflictError, LeaseLostError
from service.ports import CANCELLED, PAUSED, Intent, LoggedEvent, RunRecord
from service.runner.desired_state import RunOrders
from service.runner.reevaluate import Reevaluation, reevaluate
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.runner.undriven_runs import give_up, settle, tell_waiting
from service.timestamps import SystemClock
from tests.contract.story import RUN
from tests.integration.runner.scene import Notes, SilentPolicy, ToyEvaluator, job, play
from tests.patience import PATIENCE_SECONDS

CLOCK = SystemClock()
CANCEL = Intent(desired_state=CANCELLED, by="key_a")
PAUSE = Intent(desired_state=PAUSED, by="key_b")


@pytest.fixture
def reader(database: Database) -> SqlRunReader:
    return SqlRunReader(database)


def written(log: SqlRunLog, before: int) -> list[LoggedEvent]:
    return list(log.events(RUN, after=before))


def leave_in_the_midst(log: SqlRunLog) -> RunStatus:
    """A run that is left with proposals and candidates under way."""

    async def scene() -> RunStatus:
        work, orders = job(log, SilentPolicy(concurrency=3)), RunOrders()

        def react(events: Sequence[LoggedEvent]) -> None:
            if any(entry.event.kind is EventKind.PROPOSAL_CREATED for entry in events):
                orders.leave()

        async with asyncio.timeout(PATIENCE_SECONDS):
            return await drive(work, observer=Notes(react=react), orders=orders)

    return asyncio.run(scene())


@pytest.mark.parametrize(("intent", "kind"), [(CANCEL, EventKind.RUN_CANCELLED), (PAUSE, EventKind.RUN_PAUSED)])
async def test_a_queued_run_is_settled_with_one_event(
    log: SqlRunLog, reader: SqlRunReader, intent: Intent, kind: EventKind
) -> None:
    assert await settle(log, CLOCK, reader.run(RUN), intent, "runner") == intent.desired_state
    [entry] = written(log, 1)
    assert (entry.event.kind, entry.event.payload) == (kind, {"by": intent.by})
    assert reader.run(RUN).state == intent.desired_state


def test_a_run_that_was_left_is_cancelled_with_what_was_under_way(log: SqlRunLog, reader: SqlRunReader) -> None:
    leave_in_the_midst(log)
    record = reader.run(RUN)
    assert record.state == "running"
    assert asyncio.run(settle(log, CLOCK, record, CANCEL, "runner")) == CANCELLED
    kinds = [entry.event.kind for entry in written(log, record.sequence)]
    assert kinds == [EventKind.PROPOSAL_FAILED] * 3 + [EventKind.RUN_CANCELLED]
    assert [proposal.state for proposal in reader.proposals(RUN)] == ["failed"] * 3


def test_a_settled_run_is_one_that_a_search_can_replay(log: SqlRunLog, reader: SqlRunReader) -> None:
    leave_in_the_midst(log)
    asyncio.run(settle(log, CLOCK, reader.run(RUN), PAUSE, "runner"))
    assert play(job(log), Notes()).counters.evaluations == 30


async def test_a_candidate_that_awaits_its_evaluation_is_cancelled(log: SqlRunLog, reader: SqlRunReader) -> None:
    orders = RunOrders()
    work = job(log)
    assert isinstance(work.evaluator, ToyEvaluator)
    work.evaluator.before = orders.leave
    # The seed is taken up and its score is told; what follows from it is left.
    await drive(work, observer=Notes(), orders=orders)
    fence = log.take(RUN, "somebody", 60)
    with pytest.raises(ConflictError):
        await settle(log, CLOCK, reader.run(RUN), CANCEL, "runner")
    log.release(RUN, fence)
    await settle(log, CLOCK, reader.run(RUN), CANCEL, "runner")
    statuses = {candidate.status for candidate in reader.candidates(RUN)}
    assert "pending" not in statuses


async def test_what_is_settled_already_is_left_alone(log: SqlRunLog, reader: SqlRunReader) -> None:
    await settle(log, CLOCK, reader.run(RUN), PAUSE, "runner")
    before = reader.run(RUN).sequence
    assert await settle(log, CLOCK, reader.run(RUN), PAUSE, "runner") == PAUSED
    assert await settle(log, CLOCK, reader.run(RUN), Intent(), "runner") == PAUSED
    assert reader.run(RUN).sequence == before
    await settle(log, CLOCK, reader.run(RUN), CANCEL, "runner")
    assert await settle(log, CLOCK, reader.run(RUN), PAUSE, "runner") == CANCELLED


async def test_a_run_that_cannot_be_opened_now_says_why_once(log: SqlRunLog, reader: SqlRunReader) -> None:
    for reason in ("the policy is away", "the policy is away", "the policy is busy"):
        await tell_waiting(log, CLOCK, reader.run(RUN), "runner", reason)
    waits = [entry.event.payload for entry in written(log, 1)]
    assert [wait["reason"] for wait in waits] == ["the policy is away", "the policy is busy"]
    assert waits[0]["since"] == waits[1]["since"]
    assert (reader.run(RUN).state, (reader.run(RUN).waiting or {})["reason"]) == ("queued", "the policy is busy")


def test_a_run_that_waited_to_be_opened_waits_no_longer_when_it_is_driven(log: SqlRunLog, reader: SqlRunReader) -> None:
    asyncio.run(tell_waiting(log, CLOCK, reader.run(RUN), "runner", "the policy is away"))
    assert play(job(log), Notes()).state == "succeeded"
    assert reader.run(RUN).waiting is None


def test_a_run_that_can_never_be_opened_fails_with_the_sentence(log: SqlRunLog, reader: SqlRunReader) -> None:
    leave_in_the_midst(log)
    record = reader.run(RUN)
    asyncio.run(give_up(log, CLOCK, record.id, "runner", "the model is no more"))
    last = written(log, record.sequence)[-1].event
    assert last.kind is EventKind.RUN_FINISHED
    assert last.payload == {
        "reason": "error",
        "candidate_id": record.best_candidate_id,
        "fitness": record.best_fitness,
        "detail": "the model is no more",
    }
    assert reader.run(RUN).state == "failed"
    asyncio.run(give_up(log, CLOCK, record.id, "runner", "again"))
    assert written(log, record.sequence)[-1].event == last


class AnotherEvaluator(ToyEvaluator):
    """Has another opinion: everything is worth 7."""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        self.scored.append(evaluation_id)
        await asyncio.sleep(0)
        return Evaluation(outcome=Outcome.OK, scores={"closeness": 7.0}, worker="another")


def reevaluation(log: SqlRunLog, reader: SqlRunReader) -> Reevaluation:
    work = job(log)
    return Reevaluation(
        run_id=RUN,
        problem=work.problem,
        config=work.config,
        evaluator=AnotherEvaluator(work.problem),
        log=log,
        reader=reader,
        clock=CLOCK,
        owner="runner",
    )


def chosen(reader: SqlRunReader) -> list[str]:
    return [candidate.id for candidate in reader.candidates(RUN) if candidate.status == "evaluated"][:3]


def unchanging(record: RunRecord) -> RunRecord:
    return replace(record, sequence=0)


def test_candidates_are_evaluated_again_beside_what_they_were_worth(log: SqlRunLog, reader: SqlRunReader) -> None:
    play(job(log), Notes())
    ids, before = chosen(reader), reader.run(RUN)
    candidates, members = reader.candidates(RUN), reader.memberships(RUN)
    again = reevaluation(log, reader)
    asyncio.run(reevaluate(again, [*ids, ids[0]]))
    asyncio.run(reevaluate(again, ids[:1]))
    events = written(log, before.sequence)
    assert {entry.event.kind for entry in events} == {EventKind.CANDIDATE_REEVALUATED}
    told = sorted((entry.event.payload["candidate_id"], entry.event.payload["attempt"]) for entry in events)
    assert told == sorted([(ids[0], 2), (ids[1], 2), (ids[2], 2), (ids[0], 3)])
    assert [e.attempt for e in reader.evaluations(ids[0])] == [1, 2, 3]
    assert reader.evaluations(ids[0])[1].worker == "another"
    assert unchanging(reader.run(RUN)) == unchanging(before)
    assert (reader.candidates(RUN), reader.memberships(RUN)) == (candidates, members)
    assert isinstance(again.evaluator, AnotherEvaluator)
    assert len(set(again.evaluator.scored)) == 4, "each attempt has an id of its own"


def test_a_paused_run_goes_on_as_if_nothing_had_been_evaluated_again(log: SqlRunLog, reader: SqlRunReader) -> None:
    work, orders = job(log), RunOrders()
    assert isinstance(work.evaluator, ToyEvaluator)
    scored = work.evaluator.scored
    work.evaluator.before = lambda: orders.pause("tester") if len(scored) > 9 else None
    assert play(work, Notes(), orders).state == "paused"
    best = reader.run(RUN).best_fitness
    pending = [candidate.id for candidate in reader.candidates(RUN) if candidate.status == "pending"]
    asyncio.run(reevaluate(reevaluation(log, reader), [*chosen(reader), *pending]))
    assert not any(reader.evaluations(candidate) for candidate in pending), "the run itself evaluates these"
    assert reader.run(RUN).best_fitness == best
    assert play(job(log), Notes()).counters.evaluations == 30


def test_a_run_at_work_is_not_evaluated_again(log: SqlRunLog, reader: SqlRunReader) -> None:
    leave_in_the_midst(log)
    with pytest.raises(ConflictError, match="running"):
        asyncio.run(reevaluate(reevaluation(log, reader), chosen(reader)))


def test_a_run_that_is_taken_away_is_evaluated_no_further(log: SqlRunLog, reader: SqlRunReader) -> None:
    play(job(log), Notes())
    again = reevaluation(log, reader)

    class Thief(AnotherEvaluator):
        async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
            log.take(RUN, "thief", 60, lambda _: True)
            return await super().evaluate(program, evaluation_id, scoring)

    before = reader.run(RUN).sequence
    with pytest.raises(LeaseLostError):
        asyncio.run(reevaluate(replace(again, evaluator=Thief(again.problem)), chosen(reader)))
    assert reader.run(RUN).sequence == before
