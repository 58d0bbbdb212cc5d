"""Insights of a run while it is driven: written from its own record, or by an analyst whose errors stop nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from evolve.change_events import InsightsWritten, RequestedChange
from evolve.configuration import DeterministicConfig, InsightsConfig
from evolve.errors import ConfigurationError, PolicyError, PolicyRefused, PolicyUnavailable
from evolve.event_types import CandidateEvaluated, ProposalAnswered, ProposalCreated, ProposalFailed
from evolve.money import FREE
from evolve.ports import Policy
from evolve.prompt import AnalystRequest
from evolve.proposal import Charge, CompletedReply, Proposal, Reply, Usage
from evolve.search.insights import ANALYST, FACTS, PERSON
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import Analyst, Intent, LoggedEvent, NewRun
from service.problems.description import measures_as_json, objectives_as_json
from service.projections.insights import stored_facts
from service.runner.desired_state import RunOrders
from service.runner.undriven_runs import settle
from service.timestamps import SystemClock
from tests.contract.story import RUN, new_run
from tests.databases import sqlite_file
from tests.fakes.world import toy_problem
from tests.integration.runner.scene import Notes, ToyPolicy, job, play

IN_ORDER = DeterministicConfig(window=4)


@dataclass
class ToyAnalyst:
    """Writes a text, or raises an error, and takes ten tokens each time."""

    text: str = "- rings worked"
    trouble: PolicyError | None = None
    name: str = "ann"
    requests: list[AnalystRequest] = field(default_factory=list)

    async def write(self, request: AnalystRequest, proposal: Proposal, charges: list[Charge]) -> str:
        self.requests.append(request)
        charges.append(Charge(policy=self.name, purpose="insights", usage=Usage(input=8, output=2), cost=FREE))
        if self.trouble:
            raise self.trouble
        return self.text


def stored_run() -> NewRun:
    """The run of the toy world."""
    problem = toy_problem()
    return replace(new_run(), objectives=objectives_as_json(problem), measures=measures_as_json(problem))


@dataclass
class Played:
    """What is stored of a run."""

    logged: list[LoggedEvent]
    tokens: int

    @property
    def written(self) -> list[InsightsWritten]:
        return [one.event.data for one in self.logged if isinstance(one.event.data, InsightsWritten)]

    def proposals(self) -> list[ProposalCreated]:
        return [one.event.data for one in self.logged if isinstance(one.event.data, ProposalCreated)]


def driven(
    folder: Path,
    *,
    analyst: Analyst | None = None,
    insights: InsightsConfig | None = None,
    window: int = 4,
    pauses: Sequence[int] = (),
    evaluations: int = 30,
    orders: RunOrders | None = None,
) -> Played:
    """A run with insights every 8 candidates; left and taken up again after some numbers of evaluations."""
    folder.mkdir(exist_ok=True)
    database = open_database(sqlite_file(folder / "runs.db"))
    try:
        log = SqlRunLog(database, SystemClock())
        log.create(stored_run())
        work = replace(
            job(
                log,
                ToyPolicy(concurrency=1),
                evaluations=evaluations,
                deterministic=DeterministicConfig(window=window),
                insights=insights or InsightsConfig(every=8),
            ),
            facts=partial(stored_facts, SqlRunReader(database), RUN),
            analyst=analyst,
        )
        for pause in pauses:
            leaving, notes = RunOrders(), Notes()

            def leave(events: Sequence[LoggedEvent], pause: int = pause, leaving: RunOrders = leaving) -> None:
                count = sum(isinstance(one.event.data, CandidateEvaluated) for one in log.events(RUN))
                if count >= pause:
                    leaving.leave()

            notes.react = leave
            play(work, notes, leaving)
        assert play(work, Notes(), orders or RunOrders()).state == "succeeded"
        counters = SqlRunReader(database).run(RUN).counters
        return Played(list(log.events(RUN)), counters.tokens_input + counters.tokens_output)
    finally:
        database.close()


def test_the_facts_are_written_every_so_many_candidates_and_enter_later_prompts(tmp_path: Path) -> None:
    played = driven(tmp_path, window=0, evaluations=300)
    assert len(played.written) >= 2
    assert {one.source for one in played.written} == {FACTS}
    counts = [one.evaluations for one in played.written]
    assert all(after // 8 > before // 8 for before, after in zip([0, *counts], counts, strict=False))
    stored = [int(one.text.split()[2]) for one in played.written]
    assert stored == sorted(stored)  # read beside the search, they may be older or newer than the count
    known, standing = set[str](), ""
    for one in played.logged:
        data = one.event.data
        if isinstance(data, InsightsWritten):
            standing = data.change_id
            known.add(standing)
        if isinstance(data, ProposalCreated):
            assert data.insights == standing
            subject = one.event.subject
            assert subject is None or isinstance(subject, Proposal)
    assert len(known) == len(played.written)


def _plain(logged: Sequence[LoggedEvent]) -> list[object]:
    """The events that say what the search decided, without times."""
    kinds = (InsightsWritten, ProposalCreated, CandidateEvaluated)
    return [
        replace(data, seconds=0.0) if isinstance(data, CandidateEvaluated) else data
        for data in (one.event.data for one in logged)
        if isinstance(data, kinds)
    ]


def test_a_run_in_a_fixed_order_writes_the_same_insights_at_the_same_places(tmp_path: Path) -> None:
    first, second = driven(tmp_path / "a", analyst=ToyAnalyst()), driven(tmp_path / "b", analyst=ToyAnalyst())
    assert len(first.written) >= 3
    assert _plain(first.logged) == _plain(second.logged)
    assert [one.evaluations for one in first.written] == sorted({one.evaluations for one in first.written})


def test_a_run_that_is_taken_up_again_goes_on_as_the_unbroken_one(tmp_path: Path) -> None:
    whole = driven(tmp_path / "whole")
    broken = driven(tmp_path / "broken", pauses=(8, 13, 16, 20))
    assert len(whole.written) >= 3
    assert _plain(broken.logged) == _plain(whole.logged)


@pytest.mark.parametrize("trouble", [PolicyUnavailable("is down"), PolicyRefused("too long")])
def test_errors_of_the_analyst_leave_the_facts(tmp_path: Path, trouble: PolicyError) -> None:
    played = driven(tmp_path, analyst=ToyAnalyst(trouble=trouble))
    assert {one.source for one in played.written} == {FACTS}
    assert {one.reason for one in played.written} == {str(trouble)}
    assert all(one.policy == "ann" and one.text.startswith("Facts from ") for one in played.written)


def test_the_analyst_is_shown_the_facts_and_what_stands_and_its_text_stands_then(tmp_path: Path) -> None:
    analyst = ToyAnalyst()
    played = driven(tmp_path, analyst=analyst)
    assert {(one.source, one.text) for one in played.written} == {(ANALYST, "- rings worked")}
    assert analyst.requests[0].before == ""
    assert {request.before for request in analyst.requests[1:]} == {"- rings worked"}
    assert all(request.facts.startswith("Facts from ") for request in analyst.requests)


def test_what_the_analyst_takes_is_paid_with_the_next_completion(tmp_path: Path) -> None:
    played = driven(tmp_path, analyst=ToyAnalyst())
    charges = [
        charge
        for one in played.logged
        if isinstance(one.event.data, ProposalAnswered)
        for charge in one.event.data.charges
    ]
    assert {charge.policy for charge in charges} == {"ann"}
    assert len(charges) >= len(played.written) - 1
    assert played.tokens == 10 * len(charges)


@dataclass
class SlowAnalyst(ToyAnalyst):
    """Takes its ten tokens, says so, and does not answer before it is cut off."""

    asked: Callable[[], None] = lambda: None

    async def write(self, request: AnalystRequest, proposal: Proposal, charges: list[Charge]) -> str:
        await super().write(request, proposal, charges)
        self.asked()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets the event")


WANTED = Intent(desired_state="cancelled", by="ada")


def cancelled(folder: Path, policy: Policy, *, undriven: bool = False) -> tuple[Played, str]:
    """A run that is cancelled while its analyst answers; or is left with its first insights, and cancelled then."""
    database = open_database(sqlite_file(folder / "runs.db"))
    try:
        log, reader = SqlRunLog(database, SystemClock()), SqlRunReader(database)
        log.create(stored_run())
        orders, notes = RunOrders(), Notes()
        work = replace(
            job(log, policy, evaluations=2000, insights=InsightsConfig(every=8)),
            facts=partial(stored_facts, reader, RUN),
            analyst=ToyAnalyst() if undriven else SlowAnalyst(asked=lambda: orders.want(WANTED)),
        )

        def leave(seen: Sequence[LoggedEvent]) -> None:
            if any(isinstance(one.event.data, InsightsWritten) for one in seen):
                orders.leave()

        notes.react = leave if undriven else notes.react
        play(work, notes, orders)
        if undriven:
            asyncio.run(settle(log, SystemClock(), reader.run(RUN), WANTED, "test"))
        run = reader.run(RUN)
        return Played(list(log.events(RUN)), run.counters.tokens_input + run.counters.tokens_output), run.state
    finally:
        database.close()


def charged(played: Played) -> list[tuple[int, Charge]]:
    """What was paid beside completions, with the numbers of their proposals."""
    ends = [one.event.data for one in played.logged if isinstance(one.event.data, ProposalAnswered | ProposalFailed)]
    return [(data.proposal_number, charge) for data in ends for charge in data.charges]


@dataclass
class CutPolicy(ToyPolicy):
    """Answers five proposals; of later ones it has written `tokens` when it is cut off."""

    tokens: int = 0

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if proposal.number <= 5:
            async for reply in super().propose(proposal):
                yield reply
            return
        try:
            await asyncio.Event().wait()
        finally:
            if self.tokens:
                yield CompletedReply(completions=("half",), usage=Usage(output=self.tokens), cost=FREE)


@pytest.mark.parametrize("policy", [CutPolicy(), CutPolicy(tokens=1)], ids=["unwritten", "half written"])
def test_what_the_analyst_took_when_the_run_ended_is_paid_with_the_first_completion_cut_off(
    tmp_path: Path, policy: CutPolicy
) -> None:
    played, state = cancelled(tmp_path, policy)
    assert state == "cancelled"
    [(payer, charge)] = charged(played)
    assert (charge.policy, charge.usage.total) == ("ann", 10)
    failed = [one.event.data for one in played.logged if isinstance(one.event.data, ProposalFailed)]
    cut = [data.proposal_number for data in failed if data.tokens and data.tokens.total]
    assert payer == (cut or [data.proposal_number for data in failed])[0]
    assert played.tokens == 10 + len(cut)
    [written] = played.written
    assert (written.text, written.evaluations, written.charges) == ("", 0, (charge,))
    assert "ended before" in written.reason


def test_what_the_analyst_took_of_a_run_that_nobody_drives_any_more_is_paid_when_it_is_cancelled(
    tmp_path: Path,
) -> None:
    played, state = cancelled(tmp_path, CutPolicy(), undriven=True)
    assert state == "cancelled"
    assert len(charged(played)) == len(played.written) == 1
    assert played.tokens == 10


def test_the_text_of_an_earlier_run_is_the_first_version_and_is_kept(tmp_path: Path) -> None:
    played = driven(tmp_path, insights=InsightsConfig(every=8, text="- squares failed"))
    assert played.written[0].text == "- squares failed"
    assert played.proposals()[0].insights == played.written[0].change_id
    assert all(one.text.startswith("- squares failed\n") for one in played.written[1:])
    assert len(played.written) > 2


def test_a_version_of_a_person_stands_and_what_it_adds_stays(tmp_path: Path) -> None:
    database = open_database(sqlite_file(tmp_path / "runs.db"))
    try:
        log = SqlRunLog(database, SystemClock())
        log.create(stored_run())
        work = replace(
            job(log, ToyPolicy(concurrency=1), evaluations=1000, insights=InsightsConfig(every=8)),
            facts=partial(stored_facts, SqlRunReader(database), RUN),
        )
        orders, notes = RunOrders(), Notes()
        given: list[str] = []

        def edit(events: Sequence[LoggedEvent]) -> None:
            for one in events:
                data = one.event.data
                if isinstance(data, InsightsWritten) and not given:
                    given.append(data.text)
                    text = f"- avoid recursion\n{data.text}"
                    change = InsightsWritten(change_id="chg_mine", by="ada", text=text, source=PERSON, evaluations=0)
                    orders.want(Intent(changes=(RequestedChange(data=change),)))

        notes.react = edit
        play(work, notes, orders)
        written = [one.event.data for one in log.events(RUN) if isinstance(one.event.data, InsightsWritten)]
    finally:
        database.close()
    (mine,) = [place for place, one in enumerate(written) if one.source == PERSON]
    assert written[mine].by == "ada"
    later = written[mine + 1 :]
    assert later
    assert all(one.text.startswith("- avoid recursion\nFacts from ") for one in later)
    assert all(one.text.count("Facts from ") == 1 for one in later)


@dataclass
class OvertakenAnalyst(ToyAnalyst):
    """Whose first version is done in the moment in which a person writes one."""

    edit: Callable[[], None] = lambda: None

    async def write(self, request: AnalystRequest, proposal: Proposal, charges: list[Charge]) -> str:
        text = await super().write(request, proposal, charges)
        if len(self.requests) == 1:
            self.edit()
        return text


def test_a_version_keeps_what_a_person_wrote_while_it_was_written(tmp_path: Path) -> None:
    orders = RunOrders()
    mine = InsightsWritten(change_id="chg_mine", by="ada", text="- avoid recursion", source=PERSON, evaluations=0)
    want = Intent(changes=(RequestedChange(data=mine),))
    played = driven(tmp_path, orders=orders, analyst=OvertakenAnalyst(edit=lambda: orders.want(want)))
    assert [one.source for one in played.written[:2]] == [PERSON, ANALYST]
    assert played.written[1].text == "- avoid recursion\n- rings worked"


def test_insights_need_a_run_that_is_stored(tmp_path: Path) -> None:
    database = open_database(sqlite_file(tmp_path / "runs.db"))
    try:
        log = SqlRunLog(database, SystemClock())
        with pytest.raises(ConfigurationError, match=r"insights\.every"):
            play(job(log, insights=InsightsConfig(every=8)), Notes())
    finally:
        database.close()
