"""What every Webhooks holds, and what the log of runs puts into its outbox."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import event as sqlalchemy_event

from evolve.events import EventKind
from service.db.batches import SqlBatchStore
from service.db.engine import Database
from service.db.keys import SqlKeyStore
from service.db.webhooks import SqlWebhooks
from service.errors import ConflictError, NotFoundError
from service.identifiers import new_id
from service.ports import WEBHOOK_TYPES, BatchRecord, Delivery, KeyRecord, RunLog, Webhook, Webhooks
from tests.contract.story import RUN, START, Story, new_run

MINUTE = timedelta(minutes=1)


@pytest.fixture
def webhooks(database: Database) -> Webhooks:
    SqlKeyStore(database).add(
        KeyRecord(id="key_1", tenant="lab", name="", shown="", scopes=(), created_at=START, created_by=""), "hash"
    )
    return SqlWebhooks(database)


def webhook(number: int = 1, **changes: Any) -> Webhook:
    fields: dict[str, Any] = {
        "id": f"whk_{number}",
        "tenant": "default",
        "url": "https://example.org/hook\x00",
        "types": list(WEBHOOK_TYPES),
        "secrets": ["whsec_bmV3", "whsec_b2xk"],
        "disabled": "",
        "created_at": START,
    }
    return Webhook(**(fields | changes))


def ping(number: int = 1, webhook_id: str = "whk_1", **changes: Any) -> Delivery:
    fields: dict[str, Any] = {
        "id": f"dlv_{number}",
        "webhook_id": webhook_id,
        "type": "ping",
        "payload": {"type": "ping", "data": {}},
        "state": "pending",
        "attempts": 0,
        "next_at": START,
        "status": None,
        "error": "",
        "created_at": START,
    }
    return Delivery(**(fields | changes))


class TestWebhooks:
    def test_a_webhook_comes_back_as_it_went_in(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook())
        assert webhooks.get("default", "whk_1") == webhook()

    def test_webhooks_of_a_tenant_come_by_age_a_page_at_a_time(self, webhooks: Webhooks) -> None:
        for number in (3, 1, 2):
            webhooks.add(webhook(number))
        webhooks.add(webhook(4, tenant="lab"))
        assert [found.id for found in webhooks.webhooks("default", limit=2)] == ["whk_1", "whk_2"]
        assert [found.id for found in webhooks.webhooks("default", after="whk_2")] == ["whk_3"]

    def test_what_is_changed_is_kept(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook())
        changed = webhook(url="https://example.org/b", types=["run.failed"], secrets=["whsec_eA=="], disabled="gone")
        assert webhooks.change("default", "whk_1", lambda _: changed) == changed
        assert webhooks.get("default", "whk_1") == changed

    def test_changes_at_once_are_all_kept(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook(url="https://example.org/"))
        together = Barrier(4)

        def change(_: int) -> None:
            together.wait()
            webhooks.change("default", "whk_1", lambda found: replace(found, url=f"{found.url}x"))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(change, range(20)))
        assert webhooks.get("default", "whk_1").url == f"https://example.org/{'x' * 20}"

    @pytest.mark.parametrize(("tenant", "webhook_id"), [("lab", "whk_1"), ("default", "whk_2"), ("default", "\x00")])
    def test_a_webhook_of_another_tenant_is_not_there(self, webhooks: Webhooks, tenant: str, webhook_id: str) -> None:
        webhooks.add(webhook())
        webhooks.deliver(ping())
        for act in (webhooks.get, webhooks.remove, webhooks.deliveries):
            with pytest.raises(NotFoundError):
                act(tenant, webhook_id)
        with pytest.raises(NotFoundError):
            webhooks.change(tenant, webhook_id, lambda found: replace(found, disabled="x"))
        assert webhooks.get("default", "whk_1") == webhook()
        assert webhooks.deliveries("default", "whk_1") == [ping()]

    def test_a_webhook_goes_with_its_deliveries(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook())
        webhooks.deliver(ping())
        webhooks.remove("default", "whk_1")
        assert webhooks.webhooks("default") == []
        assert webhooks.due(START, 60, 10) == []
        with pytest.raises(NotFoundError):
            webhooks.deliver(ping(2))


class TestDeliveries:
    def test_deliveries_come_newest_first_a_page_at_a_time(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook(1))
        webhooks.add(webhook(2))
        for number in range(5):
            webhooks.deliver(ping(number))
        webhooks.deliver(ping(9, "whk_2"))
        assert [found.id for found in webhooks.deliveries("default", "whk_1", limit=2)] == ["dlv_4", "dlv_3"]
        assert [found.id for found in webhooks.deliveries("default", "whk_1", before="dlv_1")] == ["dlv_0"]

    def test_what_is_due_is_held_for_a_while(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook())
        webhooks.deliver(ping(1, next_at=START + MINUTE))
        assert webhooks.due(START, 30, 10) == []
        held = START + 1.5 * MINUTE
        assert webhooks.due(START + MINUTE, 30, 10) == [(webhook(), ping(1, next_at=held))]
        assert webhooks.due(held - timedelta(seconds=1), 30, 10) == []
        assert [delivery.id for _, delivery in webhooks.due(held, 30, 10)] == ["dlv_1"]

    def test_what_waited_longest_comes_first(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook())
        for number, minutes in enumerate((2, 0, 1)):
            webhooks.deliver(ping(number, next_at=START + minutes * MINUTE))
        found = webhooks.due(START + 5 * MINUTE, 30, 2)
        assert [delivery.id for _, delivery in found] == ["dlv_1", "dlv_2"]

    def test_nothing_is_due_for_a_disabled_webhook(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook(disabled="it answered 410"))
        webhooks.deliver(ping())
        assert webhooks.due(START, 60, 10) == []
        webhooks.change("default", "whk_1", lambda found: replace(found, disabled=""))
        assert len(webhooks.due(START, 60, 10)) == 1

    @pytest.mark.parametrize(
        "went",
        [
            ping(state="delivered", attempts=1, next_at=None, status=204),
            ping(state="failed", attempts=10, next_at=None, status=500, error="Internal \x00"),
            ping(attempts=1, next_at=START + MINUTE, error="it does not answer"),
        ],
    )
    def test_how_an_attempt_went_is_kept(self, webhooks: Webhooks, went: Delivery) -> None:
        webhooks.add(webhook())
        webhooks.deliver(ping())
        webhooks.due(START, 60, 10)
        webhooks.attempted(went)
        assert webhooks.deliveries("default", "whk_1") == [went]
        again = [went.id] if went.state == "pending" else []
        assert [delivery.id for _, delivery in webhooks.due(START + MINUTE, 60, 10)] == again

    def test_an_attempt_for_a_webhook_that_was_removed_is_forgotten(self, webhooks: Webhooks) -> None:
        webhooks.attempted(ping(state="delivered"))
        assert webhooks.due(START, 60, 10) == []

    def test_of_many_who_ask_each_delivery_goes_to_one(self, webhooks: Webhooks) -> None:
        webhooks.add(webhook())
        for number in range(20):
            webhooks.deliver(ping(number))
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: webhooks.due(START, 60, 5), range(8)))
        taken = [delivery.id for found in answers for _, delivery in found]
        assert len(taken) == len(set(taken))
        rest = [delivery.id for _, delivery in webhooks.due(START, 60, 20)]  # whom all passed over while they were held
        assert sorted(taken + rest) == sorted(f"dlv_{number}" for number in range(20))


class TestOutbox:
    @pytest.fixture
    def fence(self, log: RunLog) -> int:
        log.create(new_run())
        return log.take(RUN, "runner-1", 60)

    def told(self, webhooks: Webhooks, webhook_id: str = "whk_1") -> list[str]:
        return [delivery.type for delivery in webhooks.deliveries("default", webhook_id)]

    @pytest.mark.parametrize(
        ("kind", "payload", "message"),
        [
            (EventKind.RUN_FINISHED, {"reason": "evaluations"}, "run.succeeded"),
            (EventKind.RUN_FINISHED, {"reason": "error"}, "run.failed"),
            (EventKind.RUN_CANCELLED, {"by": "key_1"}, "run.cancelled"),
            (EventKind.BEST_IMPROVED, {"candidate_id": "cnd_1", "fitness": 2.0, "objective": None}, "run.improved"),
            (EventKind.RUN_WAITING, {"reason": "no worker", "since": "2026-01-01T00:00:00Z"}, "run.waiting"),
            (EventKind.RUN_PAUSED, {"by": "ada"}, "run.paused"),
        ],
    )
    def test_what_becomes_of_a_run_is_told(
        self, webhooks: Webhooks, log: RunLog, fence: int, story: Story, kind: EventKind, payload: Any, message: str
    ) -> None:
        webhooks.add(webhook())
        told = story.tell(kind, **payload)
        log.append(RUN, fence, [told])
        [delivery] = webhooks.deliveries("default", "whk_1")
        stamp = told.at.isoformat().replace("+00:00", "Z")
        assert delivery == ping(
            id=delivery.id,
            type=message,
            payload={"type": message, "timestamp": stamp, "data": {"id": RUN}},
            next_at=told.at,
            created_at=told.at,
        )
        assert webhooks.due(told.at, 60, 10) == [(webhook(), replace(delivery, next_at=told.at + MINUTE))]

    def test_only_those_who_listen_are_told(self, webhooks: Webhooks, log: RunLog, fence: int, story: Story) -> None:
        webhooks.add(webhook(1))
        webhooks.add(webhook(2, types=["run.failed"]))
        webhooks.add(webhook(3, disabled="it answered 410"))
        webhooks.add(webhook(4, tenant="lab"))
        log.append(RUN, fence, [story.tell(EventKind.RUN_STARTED), story.tell(EventKind.RUN_FINISHED, reason="target")])
        assert self.told(webhooks, "whk_1") == ["run.succeeded"]
        assert self.told(webhooks, "whk_2") == []
        assert self.told(webhooks, "whk_3") == []
        assert webhooks.deliveries("lab", "whk_4") == []

    def test_many_improvements_of_one_batch_are_one_message(
        self, webhooks: Webhooks, log: RunLog, fence: int, story: Story
    ) -> None:
        webhooks.add(webhook())
        improvements = [story.improve(story.id(0), float(n)) for n in range(3)]
        log.append(RUN, fence, [*improvements, story.tell(EventKind.RUN_FINISHED, reason="target")])
        assert sorted(self.told(webhooks)) == ["run.improved", "run.succeeded"]

    def test_a_best_of_one_objective_is_no_message(
        self, webhooks: Webhooks, log: RunLog, fence: int, story: Story
    ) -> None:
        webhooks.add(webhook())
        log.append(
            RUN, fence, [story.tell(EventKind.BEST_IMPROVED, candidate_id="cnd_1", fitness=2.0, objective="sum_radii")]
        )
        assert self.told(webhooks) == []

    @pytest.mark.parametrize(
        ("ends", "state"),
        [
            (["target", "error", "cancelled"], "succeeded"),
            (["error", "cancelled", "error"], "failed"),
            (["cancelled"] * 3, "cancelled"),
        ],
    )
    def test_the_end_of_a_batch_is_told_once_with_its_last_run(
        self, webhooks: Webhooks, database: Database, log: RunLog, ends: list[str], state: str
    ) -> None:
        record = BatchRecord(id="bat_1", tenant="default", name="b", request={}, states={}, created_at=START)
        SqlBatchStore(database).add(record)
        webhooks.add(webhook(types=["batch.succeeded", "batch.failed", "batch.cancelled"]))
        webhooks.add(webhook(2))
        runs = [f"run_{number:032x}" for number in range(3)]
        for run in runs:
            log.create(new_run(run, batch_id="bat_1"))
        for run, end in zip(runs, ends, strict=True):
            assert self.told(webhooks) == []
            if end == "cancelled":
                told = Story(run).tell(EventKind.RUN_CANCELLED, by="ada")
            else:
                told = Story(run).tell(EventKind.RUN_FINISHED, reason=end)
            log.append(run, log.take(run, "runner-1", 60), [told])
        [delivery] = webhooks.deliveries("default", "whk_1")
        assert (delivery.type, delivery.payload["data"]) == (f"batch.{state}", {"id": "bat_1"})
        both = {f"batch.{state}", "run.cancelled" if ends[-1] == "cancelled" else "run.failed"}
        assert both <= set(self.told(webhooks, "whk_2"))

    def test_what_was_not_committed_is_not_told(
        self, webhooks: Webhooks, log: RunLog, fence: int, story: Story
    ) -> None:
        webhooks.add(webhook())
        gap = Story(sequence=7).tell(EventKind.RUN_FINISHED, reason="target")
        with pytest.raises(ConflictError):
            log.append(RUN, fence, [gap])
        assert self.told(webhooks) == []

    def test_messages_of_the_outbox_sort_by_age_among_all(
        self, webhooks: Webhooks, log: RunLog, fence: int, story: Story
    ) -> None:
        webhooks.add(webhook())
        for n in range(3):
            log.append(RUN, fence, [story.improve(story.id(0), float(n))])
        webhooks.deliver(ping(id=new_id("dlv", story.at + MINUTE)))
        found = webhooks.deliveries("default", "whk_1")
        assert [delivery.type for delivery in found] == ["ping"] + ["run.improved"] * 3
        assert [delivery.created_at for delivery in found[1:]] == [story.at - timedelta(seconds=n) for n in range(3)]
        assert {len(delivery.id) for delivery in found} == {len(new_id("dlv", START))}

    def test_a_batch_without_such_events_asks_for_no_webhook(
        self, database: Database, log: RunLog, fence: int, story: Story
    ) -> None:
        statements: list[str] = []
        note = lambda *args: statements.append(args[2])  # noqa: E731 -- the very function is taken off again
        sqlalchemy_event.listen(database.engine, "before_cursor_execute", note)
        log.append(RUN, fence, [event for event in story.seed() if event.event.kind is not EventKind.BEST_IMPROVED])
        sqlalchemy_event.remove(database.engine, "before_cursor_execute", note)
        assert statements
        assert not [statement for statement in statements if "webhook" in statement]

    def test_a_webhook_that_is_removed_meanwhile_holds_no_run_up(
        self, database: Database, webhooks: Webhooks, log: RunLog, fence: int, story: Story
    ) -> None:
        webhooks.add(webhook(1))
        webhooks.add(webhook(2))
        with ThreadPoolExecutor(1) as pool:
            with database.unit():
                webhooks.remove("default", "whk_1")
                committed = pool.submit(log.append, RUN, fence, [story.tell(EventKind.RUN_CANCELLED, by="key_1")])
            committed.result()
        assert self.told(webhooks, "whk_2") == ["run.cancelled"]
        assert webhooks.due(story.at, 60, 10)[0][0].id == "whk_2"
