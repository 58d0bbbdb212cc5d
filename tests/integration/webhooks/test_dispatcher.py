"""Deliveries reach a real receiver, signed, once their time has come; and nobody else."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from evolve.events import EventKind
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.webhooks import SqlWebhooks
from service.errors import StorageAwayError
from service.ports import Delivery, Webhook
from service.webhooks import SignatureError, new_secret, verify
from service.webhooks.deliver import WebhookDispatcher
from service.webhooks.schedule import DELAYS
from tests.contract.story import RUN, FixedClock, Story, new_run
from tests.databases import sqlite_file
from tests.integration.webhooks.receiver import Answer, Receiver, open_receiver
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with open_receiver() as opened:
        yield opened


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def webhooks(tmp_path: Path) -> Iterator[SqlWebhooks]:
    database = open_database(sqlite_file(tmp_path / "evolve.db"))
    yield SqlWebhooks(database)
    database.close()


class Outbox:
    """One webhook of the default tenant, and what it shall hear."""

    def __init__(self, webhooks: SqlWebhooks, clock: FixedClock, url: str, name: str = "whk_1") -> None:
        self.webhooks, self.clock = webhooks, clock
        self.webhook = Webhook(
            id=name, tenant="default", url=url, types=["run.succeeded"], secrets=[new_secret()], disabled="",
            created_at=clock.now(),
        )  # fmt: skip
        webhooks.add(self.webhook)

    def change(self, webhook: Webhook) -> None:
        self.webhooks.change("default", webhook.id, lambda _: webhook)

    def post(self, name: str = "dlv_1", **data: Any) -> None:
        at = self.clock.now()
        payload = {"type": "run.succeeded", "timestamp": at.isoformat(), "data": {"id": "run_1", **data}}
        self.webhooks.deliver(
            Delivery(
                id=name,
                webhook_id=self.webhook.id,
                type="run.succeeded",
                payload=payload,
                state="pending",
                attempts=0,
                next_at=at,
                status=None,
                error="",
                created_at=at,
            )
        )

    def stored(self) -> Delivery:
        (found,) = self.webhooks.deliveries("default", self.webhook.id)
        return found

    def state(self, name: str) -> str:
        return next(found.state for found in self.webhooks.deliveries("default", self.webhook.id) if found.id == name)

    def disabled(self) -> str:
        return self.webhooks.get("default", self.webhook.id).disabled


@pytest.fixture
def outbox(webhooks: SqlWebhooks, clock: FixedClock, receiver: Receiver) -> Outbox:
    return Outbox(webhooks, clock, f"{receiver.url}/hook?of=mine")


@asynccontextmanager
async def dispatching(outbox: Outbox, **words: Any) -> AsyncIterator[WebhookDispatcher]:
    words = {"draw": lambda: 0.0, "private": True, "try_seconds": 10.0, **words}
    dispatcher = WebhookDispatcher(words.pop("webhooks", outbox.webhooks), outbox.clock, **words)
    try:
        yield dispatcher
    finally:
        await dispatcher.close()


async def test_a_delivery_arrives_signed_and_is_made_once(outbox: Outbox, receiver: Receiver) -> None:
    outbox.post()
    async with dispatching(outbox) as dispatcher:
        assert await dispatcher.deliver_due() == 1
        assert await dispatcher.deliver_due() == 0
    (heard,) = receiver.heard
    verify(outbox.webhook.secrets, heard.headers, heard.body, outbox.clock.now())
    assert heard.path == "/hook?of=mine"
    assert heard.headers["content-type"] == "application/json"
    assert json.loads(heard.body)["data"] == {"id": "run_1"}
    stored = outbox.stored()
    assert (stored.state, stored.attempts, stored.status, stored.error, stored.next_at) == (
        "delivered",
        1,
        200,
        "",
        None,
    )


async def test_two_endpoints_of_a_tenant_each_hear_what_becomes_of_a_run_whatever_the_other_answers(
    tmp_path: Path, clock: FixedClock, receiver: Receiver
) -> None:
    database = open_database(sqlite_file(tmp_path / "evolve.db"))
    webhooks, log, story = SqlWebhooks(database), SqlRunLog(database, clock), Story()
    with open_receiver() as second:
        outboxes = [
            Outbox(webhooks, clock, f"{one.url}/hook", name) for one, name in ((receiver, "whk_1"), (second, "whk_2"))
        ]
        receiver.answers = [Answer(status=500), Answer()]
        log.create(new_run())
        log.append(
            RUN, log.take(RUN, "test", 60.0), [*story.seed(), story.tell(EventKind.RUN_FINISHED, reason="target")]
        )
        clock.advance(60)
        async with dispatching(outboxes[0]) as dispatcher:
            assert await dispatcher.deliver_due() == 2
            assert [outbox.stored().state for outbox in outboxes] == ["pending", "delivered"]
            clock.advance(DELAYS[0].total_seconds())
            assert await dispatcher.deliver_due() == 1
        assert [outbox.stored().state for outbox in outboxes] == ["delivered", "delivered"]
        assert (len(receiver.heard), len(second.heard)) == (2, 1)
        told = [json.loads(heard.body) for heard in (*receiver.heard, *second.heard)]
        assert {(one["type"], one["data"]["id"]) for one in told} == {("run.succeeded", RUN)}
        assert len({heard.headers["webhook-id"] for heard in receiver.heard}) == 1
        for heard, outbox, other in (
            (receiver.heard[1], outboxes[0], outboxes[1]),
            (second.heard[0], outboxes[1], outboxes[0]),
        ):
            verify(outbox.webhook.secrets, heard.headers, heard.body, clock.now())
            with pytest.raises(SignatureError):
                verify(other.webhook.secrets, heard.headers, heard.body, clock.now())
    database.close()


async def test_a_failing_receiver_is_tried_ten_times_with_one_id_and_then_given_up(
    outbox: Outbox, receiver: Receiver
) -> None:
    outbox.post()
    receiver.answers = [Answer(status=500, body=b"secret of the receiver")]
    async with dispatching(outbox) as dispatcher:
        for number, delay in enumerate(DELAYS, start=1):
            assert await dispatcher.deliver_due() == 1
            stored = outbox.stored()
            assert (stored.state, stored.attempts, stored.status) == ("pending", number, 500)
            assert stored.next_at == outbox.clock.now() + delay
            outbox.clock.advance(delay.total_seconds() - 1)
            assert await dispatcher.deliver_due() == 0
            outbox.clock.advance(1)
        assert await dispatcher.deliver_due() == 1
        outbox.clock.advance(timedelta(days=30).total_seconds())
        assert await dispatcher.deliver_due() == 0
    stored = outbox.stored()
    assert (stored.state, stored.attempts, stored.next_at) == ("failed", 10, None)
    assert stored.error == "it answers 500"
    heads = [heard.headers for heard in receiver.heard]
    assert {head["webhook-id"] for head in heads} == {"dlv_1"}
    assert len({head["webhook-timestamp"] for head in heads}) == 10
    assert outbox.disabled() == ""


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(outbox: Outbox, receiver: Receiver, status: int) -> None:
    outbox.post()
    receiver.answers = [Answer(status=status, headers={"location": f"{receiver.url}/elsewhere"})]
    async with dispatching(outbox) as dispatcher:
        await dispatcher.deliver_due()
    assert [heard.path for heard in receiver.heard] == ["/hook?of=mine"]
    assert outbox.stored().error == f"it answers {status}, and redirects are not followed"
    assert outbox.stored().state == "pending"


async def test_gone_disables_the_webhook_and_keeps_what_was_changed_meanwhile(
    outbox: Outbox, receiver: Receiver
) -> None:
    outbox.post()
    outbox.post("dlv_2")
    held = threading.Event()
    receiver.answers = [Answer(status=410, held=held)]
    async with dispatching(outbox, at_once=1) as dispatcher:
        going = asyncio.create_task(dispatcher.deliver_due())
        await until(lambda: bool(receiver.heard))
        rotated = replace(outbox.webhook, secrets=[new_secret(), *outbox.webhook.secrets])
        outbox.change(rotated)
        held.set()
        await going
        assert await dispatcher.deliver_due() == 0
    assert outbox.disabled() == "the receiver answers 410 Gone"
    assert outbox.webhooks.get("default", "whk_1").secrets == rotated.secrets
    first = next(found for found in outbox.webhooks.deliveries("default", "whk_1") if found.id == "dlv_1")
    assert (first.state, first.status) == ("failed", 410)
    assert len(receiver.heard) == 1


async def test_a_receiver_that_answers_too_late_is_tried_again(outbox: Outbox, receiver: Receiver) -> None:
    outbox.post()
    held = threading.Event()
    receiver.answers = [Answer(held=held), Answer()]
    async with dispatching(outbox, try_seconds=0.2) as dispatcher:
        await dispatcher.deliver_due()
        held.set()
        assert outbox.stored().error == "it did not answer within 0.2 seconds"
        assert outbox.stored().status is None
        outbox.clock.advance(5)
    async with dispatching(outbox) as dispatcher:
        await dispatcher.deliver_due()
    assert outbox.stored().state == "delivered"


async def test_the_body_of_an_answer_is_of_no_importance(outbox: Outbox, receiver: Receiver) -> None:
    dripping = threading.Event()
    outbox.post("dlv_1")
    outbox.post("dlv_2")
    large = Answer(body=b"x" * 5_000_000)
    receiver.answers = [large, Answer(dripping=dripping)]
    async with dispatching(outbox) as dispatcher:
        await dispatcher.deliver_due()
    dripping.set()
    assert {found.state for found in outbox.webhooks.deliveries("default", "whk_1")} == {"delivered"}


async def test_no_webhook_leads_behind_the_service_unless_that_is_permitted(outbox: Outbox, receiver: Receiver) -> None:
    outbox.post()
    async with dispatching(outbox, private=False) as dispatcher:
        await dispatcher.deliver_due()
    assert receiver.heard == []
    assert "127.0.0.1 may not be reached" in outbox.stored().error
    assert outbox.stored().state == "pending"


async def test_each_attempt_checks_where_the_name_leads(
    webhooks: SqlWebhooks, clock: FixedClock, receiver: Receiver
) -> None:
    answers = [["127.0.0.1"], ["169.254.169.254"]]
    outbox = Outbox(webhooks, clock, receiver.url.replace("127.0.0.1", "name.example"))
    outbox.post()
    receiver.answers = [Answer(status=503)]
    async with dispatching(outbox, resolve=lambda *_: answers.pop(0)) as dispatcher:
        await dispatcher.deliver_due()
        assert outbox.stored().status == 503
        clock.advance(5)
        await dispatcher.deliver_due()
    assert len(receiver.heard) == 1
    assert receiver.heard[0].headers["host"].startswith("name.example:")
    assert "where clouds keep their metadata" in outbox.stored().error


async def test_while_secrets_rotate_both_fit(outbox: Outbox, receiver: Receiver) -> None:
    old, new = outbox.webhook.secrets[0], new_secret()
    outbox.change(replace(outbox.webhook, secrets=[new, old]))
    outbox.post()
    async with dispatching(outbox) as dispatcher:
        await dispatcher.deliver_due()
    (heard,) = receiver.heard
    for secret in (old, new):
        verify([secret], heard.headers, heard.body, outbox.clock.now())
    with pytest.raises(SignatureError):
        verify([new_secret()], heard.headers, heard.body, outbox.clock.now())


@pytest.mark.parametrize("asked", [timedelta(minutes=2), timedelta(hours=2), timedelta(days=3)], ids=str)
@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "a date"])
async def test_retry_after_is_respected_up_to_a_day(
    outbox: Outbox, receiver: Receiver, asked: timedelta, as_date: bool
) -> None:
    outbox.post()
    value = format_datetime(outbox.clock.now() + asked, usegmt=True) if as_date else f"{asked.total_seconds():g}"
    receiver.answers = [Answer(status=429, headers={"retry-after": value})]
    async with dispatching(outbox) as dispatcher:
        await dispatcher.deliver_due()
    assert outbox.stored().next_at == outbox.clock.now() + min(asked, timedelta(days=1))


async def test_a_message_that_is_too_large_is_never_sent(outbox: Outbox, receiver: Receiver) -> None:
    outbox.post(text="x" * 20_000)
    async with dispatching(outbox) as dispatcher:
        await dispatcher.deliver_due()
    assert receiver.heard == []
    assert (outbox.stored().state, outbox.stored().attempts) == ("failed", 1)


async def test_nobody_at_the_address_is_a_failed_try(webhooks: SqlWebhooks, clock: FixedClock) -> None:
    with open_receiver() as gone:
        url = gone.url
    outbox = Outbox(webhooks, clock, url)
    outbox.post()
    async with dispatching(outbox) as dispatcher:
        await dispatcher.deliver_due()
    assert (outbox.stored().state, outbox.stored().error) == ("pending", "it cannot be reached (ConnectError)")


class Away(SqlWebhooks):
    """A database that is away for the first questions and the first answers."""

    def __init__(self, inner: SqlWebhooks) -> None:
        self.__dict__ = inner.__dict__
        self.asked = self.told = 0

    def due(self, *words: Any) -> list[tuple[Webhook, Delivery]]:
        self.asked += 1
        if self.asked <= 2:
            raise StorageAwayError("the database does not answer")
        return super().due(*words)

    def attempted(self, delivery: Delivery) -> None:
        self.told += 1
        if self.told == 1:
            raise StorageAwayError("the database does not answer")
        super().attempted(delivery)


async def test_the_loop_outlives_a_database_that_is_away(outbox: Outbox, receiver: Receiver) -> None:
    outbox.post()
    away = Away(outbox.webhooks)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        outbox.clock.advance(seconds or 1)
        await asyncio.sleep(0.001)

    async with dispatching(outbox, webhooks=away, sleep=sleep) as dispatcher:
        loop = asyncio.create_task(dispatcher.run())
        await until(lambda: outbox.stored().state == "delivered")
        loop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loop
    assert waits[:2] == [5.0, 5.0]
    ids = [heard.headers["webhook-id"] for heard in receiver.heard]
    assert ids == ["dlv_1", "dlv_1"]  # the first was not stored, so that it came again


async def test_a_message_that_breaks_its_sender_keeps_no_other(outbox: Outbox, receiver: Receiver) -> None:
    draws = iter([0.0])
    outbox.post("dlv_1")
    outbox.post("dlv_2")
    outbox.post("dlv_3")
    receiver.answers = [Answer(status=500), Answer(status=500), Answer()]
    async with dispatching(
        outbox, draw=lambda: next(draws), at_once=1, sleep=lambda _: asyncio.sleep(0.001)
    ) as dispatcher:
        loop = asyncio.create_task(dispatcher.run())
        await until(lambda: len(receiver.heard) == 3)
        await until(lambda: outbox.state("dlv_3") == "delivered")
        loop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loop
    assert (outbox.state("dlv_1"), outbox.state("dlv_2")) == ("pending", "pending")


async def test_a_slow_receiver_keeps_no_other_waiting(
    webhooks: SqlWebhooks, clock: FixedClock, receiver: Receiver
) -> None:
    held = threading.Event()
    with open_receiver() as slow:
        slow.answers = [Answer(held=held)]
        waiting = Outbox(webhooks, clock, slow.url, "whk_slow")
        quick = Outbox(webhooks, clock, receiver.url, "whk_quick")
        waiting.post("dlv_0")
        async with dispatching(quick, at_once=2, sleep=lambda _: asyncio.sleep(0.001)) as dispatcher:
            loop = asyncio.create_task(dispatcher.run())
            await until(lambda: bool(slow.heard))
            for number in range(1, 5):
                quick.post(f"dlv_{number}")
            await until(lambda: len(receiver.heard) == 4)
            assert waiting.stored().state == "pending"
            held.set()
            await until(lambda: waiting.stored().state == "delivered")
            loop.cancel()
            with pytest.raises(asyncio.CancelledError):
                await loop


async def until(happened: Any) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not happened():  # noqa: ASYNC110 - other threads make it so
            await asyncio.sleep(0.005)
