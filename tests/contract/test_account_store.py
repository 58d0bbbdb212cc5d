"""What every Accounts holds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from evolve.evaluation import Outcome
from evolve.events import EventKind
from evolve.proposal import Charge, Usage
from service.db.accounts import SqlAccounts
from service.db.engine import Database
from service.db.intents import SqlRunIntents
from service.db.keys import SqlKeyStore
from service.db.models import Tenant
from service.errors import NotFoundError
from service.ports import KeyRecord, Quotas, RunLog, TenantAccounts, UsageRecord
from tests.contract.story import RUN, START, FixedClock, Story, new_run

OTHER = "run_0190bbbb000000000000000000000002"
DAY = timedelta(days=1)
NOTHING = dict.fromkeys(
    ("runs", "active_runs", "proposals", "answers", "evaluations", "tokens_input", "tokens_cached", "tokens_output"), 0
)


@pytest.fixture
def accounts(database: Database) -> TenantAccounts:
    SqlKeyStore(database).add(
        KeyRecord(id="key_1", tenant="lab", name="", shown="", scopes=(), created_at=START, created_by=""), "hash"
    )
    return SqlAccounts(database)


def used(seconds: float = 0.0, **counts: int) -> dict[str, Any]:
    return NOTHING | counts | {"evaluation_seconds": seconds}


def told(usage: UsageRecord) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in (*NOTHING, "evaluation_seconds")}


class TestQuotas:
    def test_a_new_tenant_has_no_limits(self, accounts: TenantAccounts) -> None:
        assert accounts.quotas("lab") == Quotas()

    def test_limits_are_those_that_were_set(self, accounts: TenantAccounts) -> None:
        accounts.set_quotas("lab", Quotas(active_runs=0, tokens_per_day=2**53))
        assert accounts.quotas("lab") == Quotas(active_runs=0, tokens_per_day=2**53)
        assert accounts.quotas("default") == Quotas()
        accounts.set_quotas("lab", Quotas())
        assert accounts.quotas("lab") == Quotas()

    @pytest.mark.parametrize("tenant", ["nobody", "", "lab\x00"])
    def test_an_unknown_tenant_is_not_found(self, accounts: TenantAccounts, tenant: str) -> None:
        with pytest.raises(NotFoundError, match="no tenant"):
            accounts.quotas(tenant)
        with pytest.raises(NotFoundError, match="no tenant"):
            accounts.set_quotas(tenant, Quotas())

    def test_a_limit_of_a_newer_version_is_left_out(self, accounts: TenantAccounts, database: Database) -> None:
        with database.write() as connection:
            connection.execute(update(Tenant).where(Tenant.id == "lab").values(quotas={"active_runs": 2, "moons": 1}))
        assert accounts.quotas("lab") == Quotas(active_runs=2)


class TestUsage:
    @pytest.fixture
    def busy(self, log: RunLog) -> Story:
        """A run: a seed and two children, one of which ran out of time, then one answer that was rejected."""
        log.create(new_run())
        story = Story()
        seed = story.id(0)
        fence = log.take(RUN, "runner-1", 60)
        log.append(RUN, fence, story.seed())
        log.append(RUN, fence, story.child(1, seed) + story.child(2, seed, None))
        rejected: dict[str, Any] = {
            "candidate_id": story.id(2, 1),
            "proposal_number": 2,
            "position": 1,
            "island": 0,
            "reason": "empty",
        }
        log.append(RUN, fence, [story.tell(EventKind.CANDIDATE_REJECTED, **rejected)])
        return story

    def test_nothing_was_used_by_who_did_nothing(self, accounts: TenantAccounts, busy: Story) -> None:
        assert told(accounts.usage("lab", START, START + DAY)) == used()
        assert told(accounts.usage("nobody", START, START + DAY)) == used()

    def test_all_of_a_span_is_counted(self, accounts: TenantAccounts, busy: Story) -> None:
        usage = accounts.usage("default", START, START + DAY)
        assert (usage.tenant, usage.since, usage.until) == ("default", START, START + DAY)
        assert usage == accounts.usage("default", START + timedelta(minutes=59), START + DAY - timedelta(minutes=59))
        assert told(usage) == used(
            0.75,  # three evaluations of a quarter of a second each
            runs=1,
            active_runs=1,
            proposals=2,
            answers=3,
            evaluations=3,
            tokens_input=200,
            tokens_cached=120,
            tokens_output=80,
        )
        assert all(isinstance(value, int) for name, value in told(usage).items() if name in NOTHING)

    def test_two_spans_that_meet_count_everything_once(self, accounts: TenantAccounts, busy: Story) -> None:
        whole = told(accounts.usage("default", START, START + DAY))
        for hours in range(25):
            middle = START + timedelta(hours=hours)
            parts = [told(accounts.usage("default", *span)) for span in ((START, middle), (middle, START + DAY))]
            total = {name: parts[0][name] + parts[1][name] for name in whole if name != "active_runs"}
            assert total | {"active_runs": 1} == whole

    def test_a_cancelled_evaluation_was_not_used(self, accounts: TenantAccounts, log: RunLog) -> None:
        log.create(new_run())
        story, fence = Story(), log.take(RUN, "runner-1", 60)
        log.append(RUN, fence, [story.create(0), story.evaluate(story.id(0), None, outcome=Outcome.CANCELLED)])
        assert told(accounts.usage("default", START, START + DAY)) == used(runs=1, active_runs=1)

    def test_tokens_do_not_run_over(self, accounts: TenantAccounts, log: RunLog) -> None:
        log.create(new_run())
        story, fence = Story(), log.take(RUN, "runner-1", 60)
        log.append(RUN, fence, story.seed())
        many = Usage(input=2**62, cached=0, output=1)
        log.append(RUN, fence, [story.propose(1, story.id(0)), story.answer(1, usage=many)])
        assert accounts.usage("default", START, START + DAY).tokens_input == 2**62

    def test_charges_are_tokens_that_were_used(self, accounts: TenantAccounts, log: RunLog) -> None:
        log.create(new_run())
        story, fence = Story(), log.take(RUN, "runner-1", 60)
        log.append(RUN, fence, story.seed())
        charge = Charge(policy="judge", purpose="review", usage=Usage(input=7, cached=2, output=3))
        log.append(RUN, fence, [story.propose(1, story.id(0)), story.answer(1, charges=[charge, charge])])
        usage = accounts.usage("default", START, START + DAY)
        assert (usage.tokens_input, usage.tokens_cached, usage.tokens_output) == (100 + 14, 60 + 4, 40 + 6)

    def test_what_is_used_across_the_hour_counts_in_the_hour_of_each(
        self, accounts: TenantAccounts, log: RunLog
    ) -> None:
        log.create(new_run())
        story, fence = Story(), log.take(RUN, "runner-1", 60)
        log.append(RUN, fence, story.seed())
        asked, answered = story.propose(1, story.id(0)), story.answer(1)
        later = replace(answered, at=START + timedelta(hours=1))
        log.append(RUN, fence, [asked, later])
        first = accounts.usage("default", START, START + timedelta(hours=1))
        second = accounts.usage("default", START + timedelta(hours=1), START + timedelta(hours=2))
        assert (first.proposals, first.tokens_input, second.proposals, second.tokens_input) == (1, 0, 0, 100)

    def test_the_last_hour_that_there_is_can_be_asked_for(self, accounts: TenantAccounts, busy: Story) -> None:
        last = datetime.max.replace(tzinfo=UTC)
        assert told(accounts.usage("default", last - DAY, last)) == used(active_runs=1)

    def test_a_deleted_run_was_used_all_the_same(
        self, accounts: TenantAccounts, busy: Story, log: RunLog, database: Database, clock: FixedClock
    ) -> None:
        log.append(RUN, log.take(RUN, "runner-1", 0), [busy.tell(EventKind.RUN_FINISHED, reason="evaluations")])
        before = told(accounts.usage("default", START, START + DAY))
        SqlRunIntents(database, "default", clock).delete(RUN)
        assert told(accounts.usage("default", START, START + DAY)) == before
        assert before["evaluations"] == 3

    def test_an_ended_run_is_active_no_more(self, accounts: TenantAccounts, busy: Story, log: RunLog) -> None:
        log.create(new_run(OTHER))
        fence = log.take(RUN, "runner-1", 60)
        log.append(RUN, fence, [busy.tell(EventKind.RUN_FINISHED, reason="evaluations")])
        usage = accounts.usage("default", START, START + DAY)
        assert (usage.runs, usage.active_runs) == (2, 1)
        later = accounts.usage("default", START + DAY, START + 2 * DAY)
        assert (later.runs, later.active_runs, later.evaluations) == (0, 1, 0)
