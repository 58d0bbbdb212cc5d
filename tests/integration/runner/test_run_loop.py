"""The runner over a real database: it waits without spending, overlaps, stops, and never writes after its lease."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.configuration import BudgetConfig, ConcurrencyConfig, DeterministicConfig, RunConfig
from evolve.errors import PolicyDenied, PolicyRefused, PolicyUnavailable
from evolve.events import EventKind
from evolve.money import Money
from evolve.proposal import Answer, CompletedReply, Proposal, Reply, Usage
from evolve.search.ensemble import EnsembleMember
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.errors import LeaseLostError, StorageError
from service.policy.opening import serve
from service.policy_settings.settings import PolicySettings
from service.ports import LoggedEvent
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.timestamps import SystemClock
from tests.contract.story import RUN, new_toy_run
from tests.fakes.openai_server import Reply as Scripted
from tests.fakes.openai_server import chain, openai_server
from tests.fakes.world import answers, toy_problem
from tests.integration.runner.scene import Notes, SilentPolicy, ToyEvaluator, ToyPolicy, job, play


@dataclass
class AwayPolicy(ToyPolicy):
    """Raises each of its troubles until the run says that it waits because of it."""

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if self.troubles:
            raise self.troubles[0]
        async for reply in super().propose(proposal):
            yield reply

    def hear(self, events: Sequence[LoggedEvent]) -> None:
        for entry in events:
            if self.troubles and entry.event.payload.get("reason") == str(self.troubles[0]):
                self.troubles = self.troubles[1:]


@dataclass
class LingeringPolicy(ToyPolicy):
    """Repeats the parent, and hangs up only when its answer is stored."""

    stored: dict[int, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        yield Answer(chain=0, index=0, text=proposal.parent.program.text)
        yield CompletedReply(completions=("the same",))
        await self.stored[proposal.number].wait()

    def hear(self, events: Sequence[LoggedEvent]) -> None:
        for entry in events:
            if entry.event.kind in (EventKind.CANDIDATE_CREATED, EventKind.CANDIDATE_REJECTED):
                self.stored[entry.event.payload["proposal_number"]].set()


@dataclass
class SpeechlessPolicy(ToyPolicy):
    """Hangs up without a last word."""

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if len(self.asked) == 0:
            self.asked.append(proposal.number)
            return
        async for reply in super().propose(proposal):
            yield reply


def play_served(log: SqlRunLog, url: str, evaluations: int, notes: Notes) -> RunStatus:
    """A run whose policy is behind a server."""
    settings = PolicySettings(base_url=url, model="fake", answers=2, samples=1, concurrency=1, adapt=())

    async def scene() -> RunStatus:
        policy = serve(settings, toy_problem(), RunConfig(), {})
        try:
            return await drive(job(log, policy, evaluations=evaluations), observer=notes, orders=RunOrders())
        finally:
            await policy.close()

    return asyncio.run(scene())


def test_a_run_ends_with_its_budget_and_everything_shown_is_stored(log: SqlRunLog, database: Database) -> None:
    notes = Notes()
    status = play(job(log), notes)
    assert (status.state, status.reason) == ("succeeded", "evaluations")
    stored = list(log.events(RUN))
    assert [entry.as_json() for entry in stored[1:]] == [entry.as_json() for entry in notes.events]
    record = SqlRunReader(database).run(RUN)
    assert record.counters == status.counters
    assert record.best_candidate_id == status.best_candidate_id
    assert status.counters.evaluations == 30


def test_a_policy_that_is_faster_than_the_search_is_not_asked_far_ahead(log: SqlRunLog) -> None:
    notes = Notes()
    play(job(log, ToyPolicy(concurrency=2), evaluations=100), notes)
    ahead, maximum = 0, 0
    for logged in notes.events:
        ahead += logged.event.kind is EventKind.PROPOSAL_CREATED
        ahead -= logged.event.kind is EventKind.PROPOSAL_ANSWERED
        maximum = max(maximum, ahead)
    assert 2 <= maximum <= 4


class FillingPolicy(ToyPolicy):
    """Takes six calls at once, and from its tenth on only two."""

    going, maximum = 0, 0

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        self.concurrency = 6 if len(self.asked) < 10 else 2
        self.going += 1
        if len(self.asked) >= 16:  # those that were under way when it became two are answered by then
            self.maximum = max(self.maximum, self.going)
        try:
            async for reply in super().propose(proposal):
                await asyncio.sleep(0.001)
                yield reply
        finally:
            self.going -= 1


def test_a_policy_that_fills_up_gets_no_more_calls_and_no_more_proposals_than_suit_it(log: SqlRunLog) -> None:
    notes = Notes()
    policy = FillingPolicy(concurrency=6)
    play(job(log, policy, evaluations=120), notes)
    ahead, maximum = 0, 0
    for logged in notes.events:
        ahead += logged.event.kind is EventKind.PROPOSAL_CREATED
        ahead -= logged.event.kind is EventKind.PROPOSAL_ANSWERED
        if logged.event.kind is EventKind.PROPOSAL_CREATED and logged.event.payload["proposal_number"] > 20:
            maximum = max(maximum, ahead)
    assert policy.maximum == 2
    assert 2 <= maximum <= 4


def test_a_policy_that_is_away_makes_the_run_wait_and_go_on_without_spending(log: SqlRunLog) -> None:
    policy = AwayPolicy(troubles=[PolicyUnavailable("the server is away", retry_after_seconds=0.01)])
    notes = Notes(react=policy.hear)
    status = play(job(log, policy), notes)
    kinds = notes.kinds()
    assert kinds.index(EventKind.RUN_WAITING) < kinds.index(EventKind.RUN_UNBLOCKED)
    waiting = next(entry for entry in notes.events if entry.event.kind is EventKind.RUN_WAITING)
    assert waiting.event.payload["reason"] == "the server is away"
    assert set(waiting.event.payload) == {"reason", "since", "retry_at"}
    assert EventKind.PROPOSAL_FAILED not in kinds
    assert status.counters.evaluations == 30
    assert status.waiting == ""


def test_a_run_that_waits_for_another_reason_has_waited_since_the_first(log: SqlRunLog) -> None:
    troubles = [PolicyUnavailable(reason, retry_after_seconds=0.01) for reason in ("it is away", "it is busy")]
    policy = AwayPolicy(troubles=troubles, concurrency=1)
    notes = Notes(react=policy.hear)
    play(job(log, policy), notes)
    waits = [entry.event.payload for entry in notes.events if entry.event.kind is EventKind.RUN_WAITING]
    assert [wait["reason"] for wait in waits] == ["it is away", "it is busy"]
    assert waits[0]["since"] == waits[1]["since"]
    assert waits[0]["retry_at"] < waits[1]["retry_at"]


def test_a_policy_that_refuses_is_there_again(log: SqlRunLog) -> None:
    away = PolicyUnavailable("it is away", retry_after_seconds=0.01)

    class Refusing(AwayPolicy):
        async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
            if not self.troubles:
                raise PolicyRefused("too long")
            async for reply in super().propose(proposal):
                yield reply

    policy = Refusing(troubles=[away])
    notes = Notes(react=policy.hear)
    status = play(job(log, policy), notes)
    assert (status.reason, status.waiting) == ("policy_refused", "")
    assert notes.kinds().count(EventKind.RUN_UNBLOCKED) == 1


def test_a_policy_without_a_last_word_fails_its_proposal_alone(log: SqlRunLog) -> None:
    notes = Notes()
    status = play(job(log, SpeechlessPolicy()), notes)
    failed = [entry.event.payload for entry in notes.events if entry.event.kind is EventKind.PROPOSAL_FAILED]
    assert [payload["proposal_number"] for payload in failed] == [1]
    assert "without" in failed[0]["reason"]
    assert status.counters.evaluations == 30


def test_proposals_that_are_owed_are_put_although_fewer_go_out_at_once(log: SqlRunLog) -> None:
    orders = RunOrders()

    def react(events: Sequence[LoggedEvent]) -> None:
        if any(entry.event.payload.get("proposal_number") == 4 for entry in events):
            orders.pause("tester")

    assert play(job(log, SilentPolicy(concurrency=4)), Notes(react=react), orders).counters.proposals == 4
    policy = LingeringPolicy(concurrency=1)
    notes = Notes(react=policy.hear)
    status = play(job(log, policy), notes)
    assert notes.kinds().count(EventKind.PROPOSAL_ANSWERED) >= 4
    assert status.reason == "no_new_programs"


def test_nothing_is_in_flight_where_a_run_ends_at_once(log: SqlRunLog) -> None:
    work = job(log, ToyPolicy(concurrency=4))
    work = replace(work, config=replace(work.config, budget=BudgetConfig(target=-8.0)))
    status = play(work, Notes())
    assert status.reason == "target"
    assert (status.evaluating, status.proposing) == (0, 0)


@dataclass
class PaidPolicy(ToyPolicy):
    """Writes on and on at the second proposal and those after, and tells of it when it is cancelled."""

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        paid = CompletedReply(
            completions=("toy",), usage=Usage(input=3, output=2), cost=Money(amount=Decimal("0.25"), currency="USD")
        )
        try:
            if proposal.number > 1:
                await asyncio.Event().wait()
            for answer in answers(proposal):
                yield answer
        except asyncio.CancelledError:
            yield paid
            raise
        yield paid


def test_what_was_being_written_when_a_run_ends_was_spent(log: SqlRunLog, database: Database) -> None:
    work = job(log)
    config = replace(work.config, budget=BudgetConfig(wall_seconds=2.0))
    work = replace(work, config=config, policies=[EnsembleMember(policy=PaidPolicy(concurrency=4), currency="USD")])
    notes = Notes()
    status = play(work, notes)
    assert status.reason == "wall_seconds"
    failed = [entry.event.payload for entry in notes.events if entry.event.kind is EventKind.PROPOSAL_FAILED]
    assert {(payload["cost"], payload["tokens"]["output"]) for payload in failed} == {("0.25 USD", 2)}
    proposals = 1 + len(failed)
    assert (status.counters.cost, status.counters.tokens_input) == (f"{proposals * 0.25:g} USD", 3 * proposals)
    assert [one.cost for one in SqlRunReader(database).proposals(RUN, limit=9)] == ["0.25 USD"] * proposals


def test_what_is_owed_goes_back_to_the_policy_that_it_was_put_to(log: SqlRunLog) -> None:
    orders = RunOrders()
    silent = [SilentPolicy(name=name, concurrency=3) for name in ("one", "two")]
    answering = [ToyPolicy(name=name, concurrency=3) for name in ("one", "two")]

    def react(events: Sequence[LoggedEvent]) -> None:
        if any(entry.event.payload.get("proposal_number") == 3 for entry in events):
            orders.pause("tester")

    def work(policies: Sequence[ToyPolicy]) -> RunJob:
        return replace(job(log), policies=[EnsembleMember(policy=policy) for policy in policies])

    play(work(silent), Notes(react=react), orders)
    assert play(work(answering), Notes()).state == "succeeded"
    told = [entry.event for entry in log.events(RUN)]
    drawn = {
        event.payload["proposal_number"]: event.payload["policy"]
        for event in told
        if event.kind is EventKind.PROPOSAL_CREATED
    }
    assert {drawn[number] for number in (1, 2, 3)} == {"one", "two"}
    assert {number: policy.name for policy in answering for number in policy.asked} == drawn


def test_a_proposal_that_is_refused_fails_alone(log: SqlRunLog) -> None:
    notes = Notes()
    status = play(job(log, ToyPolicy(troubles=[PolicyRefused("the prompt is too long")])), notes)
    failed = [entry.event.payload for entry in notes.events if entry.event.kind is EventKind.PROPOSAL_FAILED]
    assert [payload["reason"] for payload in failed] == ["the prompt is too long"]
    assert status.counters.evaluations == 30


def test_a_denied_run_waits_with_the_reason_until_it_is_stopped(log: SqlRunLog) -> None:
    async def scene() -> RunStatus:
        orders = RunOrders()

        def react(events: Sequence[LoggedEvent]) -> None:
            if any(entry.event.kind is EventKind.RUN_WAITING for entry in events):
                orders.pause("tester")

        policy = ToyPolicy(troubles=[PolicyDenied("the key is refused")] * 9)
        return await drive(job(log, policy), observer=Notes(react=react), orders=orders)

    status = asyncio.run(scene())
    assert status.state == "paused"
    assert status.waiting == "the key is refused"
    assert status.counters.evaluations == 1


def test_a_stopped_run_keeps_what_came_home_and_is_resumed(log: SqlRunLog) -> None:
    async def scene() -> RunStatus:
        work, orders = job(log), RunOrders()
        assert isinstance(work.evaluator, ToyEvaluator)
        scored = work.evaluator.scored
        work.evaluator.before = lambda: orders.pause("tester") if len(scored) > 10 else None
        return await drive(work, observer=Notes(), orders=orders)

    first = asyncio.run(scene())
    assert first.state == "paused"
    assert 0 < first.counters.evaluations < 30
    notes = Notes()
    work = job(log)
    second = play(work, notes)
    assert notes.kinds()[0] is EventKind.RUN_RESUMED
    assert second.counters.evaluations == 30
    assert isinstance(work.evaluator, ToyEvaluator)
    assert len(work.evaluator.scored) == 30 - first.counters.evaluations
    assert [entry.sequence for entry in log.events(RUN)] == list(range(1, second_sequence(log) + 1))


def second_sequence(log: SqlRunLog) -> int:
    return max(entry.sequence for entry in log.events(RUN))


def test_a_deterministic_run_is_equal_whatever_the_concurrency(tmp_path: Path) -> None:
    logs = []
    for calls in (1, 5):
        database = open_database(f"sqlite:///{tmp_path / f'{calls}.db'}")
        log = SqlRunLog(database, SystemClock())
        log.create(new_toy_run())
        concurrency = ConcurrencyConfig(policy=calls, evaluations=calls)
        play(job(log, deterministic=DeterministicConfig(window=6), concurrency=concurrency), Notes())
        logs.append([(entry.event.kind, untimed(entry.event.payload)) for entry in log.events(RUN)])
        database.close()
    assert logs[0] == logs[1]


def untimed(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in payload.items() if key not in ("seconds", "by")}


def test_an_answer_is_evaluated_while_the_next_is_being_written(log: SqlRunLog) -> None:
    release = threading.Event()
    seen: list[EventKind] = []
    with openai_server(lambda _: [chain("x = 1.0", "x = 2.0")], characters=10) as server:
        server.script(Scripted(hold_after=4, release=release))

        def react(events: Sequence[LoggedEvent]) -> None:
            seen.extend(entry.event.kind for entry in events)
            if seen.count(EventKind.CANDIDATE_EVALUATED) == 2:  # the seed, and the first answer of the held stream
                assert EventKind.PROPOSAL_ANSWERED not in seen
                release.set()

        status = play_served(log, server.url, 3, Notes(react=react))
    assert release.is_set()
    assert status.counters.evaluations == 3


def test_a_run_through_a_failing_server_loses_nothing(log: SqlRunLog) -> None:
    drawn = np.random.default_rng(1)
    texts = [chain(*(f"x = {drawn.integers(10**6)}.5" for _ in range(2))) for _ in range(40)]
    with openai_server(lambda _: [texts.pop()]) as server:
        server.script(Scripted(status=500), Scripted(cut_after=1), Scripted(status=503), Scripted())
        status = play_served(log, server.url, 9, Notes())
    assert status.counters.evaluations == 9
    assert status.counters.tokens_output > 0


def test_a_run_whose_lease_was_taken_stops_writing(log: SqlRunLog) -> None:
    def steal(events: Sequence[LoggedEvent]) -> None:
        if len(events) and not stolen:
            stolen.append(log.take(RUN, "another", 60, lambda _: True))

    stolen: list[int] = []
    with pytest.raises(LeaseLostError):
        play(job(log), Notes(react=steal))
    assert [entry.sequence for entry in log.events(RUN)] == list(range(1, second_sequence(log) + 1))


class LeavingPolicy(ToyPolicy):
    """Is away for every proposal but the first, whose answer it gives when the run already waits for the others."""

    left: asyncio.Event

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if proposal.number > 1:
            self.left.set()
            raise PolicyUnavailable("it is away")
        await self.left.wait()
        yield Answer(chain=0, index=0, text="x = 1.0")
        yield CompletedReply(completions=("x = 1.0",))


def test_a_run_that_is_over_waits_for_nothing(log: SqlRunLog, database: Database) -> None:
    async def scene() -> RunStatus:
        policy = LeavingPolicy()
        policy.left = asyncio.Event()
        work = job(log, policy)
        work = replace(work, config=replace(work.config, budget=BudgetConfig(target=-8.0)))
        return await drive(work, observer=Notes(), orders=RunOrders())

    status = asyncio.run(scene())
    assert (status.state, status.reason, status.waiting) == ("succeeded", "target", "")
    assert SqlRunReader(database).run(RUN).waiting is None
    assert list(log.events(RUN))[-1].event.kind is EventKind.RUN_FINISHED


class FullLog(SqlRunLog):
    """A disk that fills up after the first commit."""

    commits = 0

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        self.commits += 1
        if self.commits > 1:
            raise StorageError("the disk is full")
        super().append(run_id, fence, events)


def test_a_full_disk_ends_the_sitting_and_the_run_can_be_resumed(log: SqlRunLog, database: Database) -> None:
    notes = Notes()
    with pytest.raises(StorageError, match="disk is full"):
        play(job(FullLog(database, SystemClock())), notes)
    stored = list(log.events(RUN))
    assert [entry.as_json() for entry in stored[1:]] == [entry.as_json() for entry in notes.events]
    assert play(job(log), Notes()).counters.evaluations == 30


def test_an_error_that_no_evaluator_may_have_ends_the_run_loudly(log: SqlRunLog) -> None:
    def fail() -> None:
        raise AssertionError("a fault of the evaluator")

    work = job(log)
    assert isinstance(work.evaluator, ToyEvaluator)
    work.evaluator.before = fail
    with pytest.raises(AssertionError, match="fault of the evaluator"):
        play(work, Notes())
