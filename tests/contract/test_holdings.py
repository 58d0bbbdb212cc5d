"""What is told to be past its time is what a prune removes, for each tenant apart."""

from datetime import timedelta

from evolve.events import EventKind
from service.db.engine import Database
from service.db.maintenance import prune
from service.db.tenant_usage import SqlHoldings
from service.ports import RetentionPolicy, RunLog, TenantStorage
from tests.contract.story import RUN, START, FixedClock, Story, new_run
from tests.contract.test_run_log import begin

OPEN = "run_0190aaaa000000000000000000000009"


def test_holdings_are_those_that_a_prune_removes(
    database: Database, log: RunLog, story: Story, clock: FixedClock
) -> None:
    fence = begin(log, story)
    log.append(RUN, fence, story.child(1, story.id(0)))
    log.append(RUN, fence, [story.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=None, fitness=None)])
    log.release(RUN, fence)
    log.create(new_run(OPEN))
    clock.advance(86400 * 10)
    holdings = SqlHoldings(database, clock)

    def due(days: int) -> tuple[int, int]:
        [held] = holdings.by_tenant(clock.now() - timedelta(days=days))
        return held.due_runs, prune(database, clock, RetentionPolicy(runs=timedelta(days=days)), dry_run=True)["runs"]

    assert [due(days) for days in (1, 9, 11)] == [(1, 1), (1, 1), (0, 0)]
    [held] = holdings.by_tenant(None)
    assert held == TenantStorage(tenant="default", runs=2, ended=1, answers=1, evaluations=2, due_runs=0, due_answers=0)
    [held] = holdings.by_tenant(clock.now())
    assert (held.due_runs, held.due_answers) == (1, 1)
    prune(database, clock, RetentionPolicy(runs=timedelta(days=1)))
    [held] = holdings.by_tenant(START)
    assert (held.runs, held.ended, held.answers) == (1, 0, 0)
    assert holdings.size_bytes() > 0
