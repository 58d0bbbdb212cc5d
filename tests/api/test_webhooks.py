"""Webhooks and workers over the API."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from evolve.identity import evaluation_id
from service.ports import Scope
from tests.api.told import Told
from tests.contract.story import RUN, Story, new_run

# An address that is nobody's secret; nothing is sent to it here.
URL = "https://192.0.43.8/hook"
HOOK = {"url": URL, "types": ["run.failed", "run.succeeded", "run.failed"]}


async def hook(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.post("/v1/webhooks", json=HOOK)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_secret_is_shown_when_it_is_made_and_never_again(owner: httpx.AsyncClient) -> None:
    made = await hook(owner)
    assert made["secret"].startswith("whsec_")
    assert (made["types"], made["enabled"]) == (["run.failed", "run.succeeded"], True)
    place = f"/v1/webhooks/{made['id']}"
    rotated = (await owner.post(f"{place}/rotate")).json()
    assert rotated["secret"] != made["secret"]
    for path in (place, "/v1/webhooks", "/v1/audit"):
        text = (await owner.get(path)).text
        assert made["secret"] not in text
        assert rotated["secret"] not in text


async def test_a_secret_is_not_shown_again_to_a_request_that_is_repeated(owner: httpx.AsyncClient) -> None:
    body = {"url": URL, "types": ["run.failed"]}
    first, again = [await owner.post("/v1/webhooks", json=body, headers={"Idempotency-Key": "m"}) for _ in range(2)]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json() | {"secret": None}
    rotate = f"/v1/webhooks/{first.json()['id']}/rotate"
    turned, repeated = [await owner.post(rotate, headers={"Idempotency-Key": "r"}) for _ in range(2)]
    assert turned.json()["secret"] not in (None, first.json()["secret"])
    assert repeated.json() == turned.json() | {"secret": None}


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"url": "http://127.0.0.1/hook"}, (403, "refused")),
        ({"url": "http://10.0.0.1/hook"}, (403, "refused")),
        ({"url": "http://169.254.169.254/latest"}, (403, "refused")),
        ({"url": "http://[::1]/hook"}, (403, "refused")),
        ({"url": "http://2130706433/hook"}, (422, "invalid_request")),
        ({"url": "http://0x7f.1/hook"}, (422, "invalid_request")),
        ({"url": "https://user:secret@192.0.43.8/"}, (422, "invalid_request")),
        ({"url": "ftp://192.0.43.8/"}, (422, "invalid_request")),
        ({"url": "https://name.invalid/"}, (422, "invalid_request")),
        ({"url": "https://192.0.43.8:99999/"}, (422, "invalid_request")),
        ({"types": []}, (422, "invalid_request")),
        ({"types": ["run.resumed"]}, (422, "invalid_request")),
    ],
)
async def test_webhooks_lead_to_public_addresses_only(
    owner: httpx.AsyncClient, body: dict[str, Any], outcome: tuple[int, str]
) -> None:
    made = await hook(owner)
    place = f"/v1/webhooks/{made['id']}"
    before = (await owner.get("/v1/webhooks")).json()
    for answer in (await owner.post("/v1/webhooks", json=HOOK | body), await owner.patch(place, json=body)):
        assert (answer.status_code, answer.json()["code"]) == outcome, answer.text
    assert (await owner.get("/v1/webhooks")).json() == before


async def test_what_is_left_out_of_a_change_stays(owner: httpx.AsyncClient) -> None:
    made = await hook(owner)
    place = f"/v1/webhooks/{made['id']}"
    shown = {key: value for key, value in made.items() if key != "secret"}
    assert (await owner.patch(place, json={})).json() == shown
    off = (await owner.patch(place, json={"enabled": False})).json()
    assert (off["enabled"], off["disabled"]) == (False, "disabled over the API")
    assert (await owner.patch(place, json={"types": ["run.improved"]})).json() == off | {"types": ["run.improved"]}
    on = (await owner.patch(place, json={"enabled": True, "url": "https://192.0.43.9/"})).json()
    assert on == shown | {"types": ["run.improved"], "url": "https://192.0.43.9/"}


async def test_messages_are_sent_by_hand_and_listed(owner: httpx.AsyncClient) -> None:
    made = await hook(owner)
    place = f"/v1/webhooks/{made['id']}"
    ping = await owner.post(f"{place}/ping")
    delivery = ping.json()
    assert (ping.status_code, delivery["type"], delivery["state"]) == (202, "webhook.ping", "pending")
    assert delivery["payload"]["data"] == {"id": made["id"]}
    again = (await owner.post(f"{place}/deliveries/{delivery['id']}/redeliver")).json()
    assert (again["payload"], again["id"] == delivery["id"]) == (delivery["payload"], False)
    assert {one["id"] for one in (await owner.get(f"{place}/deliveries")).json()["items"]} == {
        delivery["id"],
        again["id"],
    }
    assert (await owner.post(f"{place}/deliveries/dlv_absent/redeliver")).status_code == 404
    other = await hook(owner)
    answer = await owner.post(f"/v1/webhooks/{other['id']}/deliveries/{delivery['id']}/redeliver")
    assert answer.status_code == 404


async def test_a_disabled_webhook_is_sent_nothing(owner: httpx.AsyncClient) -> None:
    place = f"/v1/webhooks/{(await hook(owner))['id']}"
    delivery = (await owner.post(f"{place}/ping")).json()
    await owner.patch(place, json={"enabled": False})
    for path in ("/ping", f"/deliveries/{delivery['id']}/redeliver"):
        answer = await owner.post(f"{place}{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert len((await owner.get(f"{place}/deliveries")).json()["items"]) == 1


async def test_a_removed_webhook_is_gone_with_its_deliveries(told: Told, owner: httpx.AsyncClient) -> None:
    place = f"/v1/webhooks/{(await hook(owner))['id']}"
    await owner.post(f"{place}/ping")
    async with told.client(tenant="other") as foreign:
        assert (await foreign.delete(place)).status_code == 404
    assert (await owner.delete(place)).status_code == 204
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/deliveries"), ("POST", "/ping"), ("POST", "/rotate")):
        assert (await owner.request(method, place + path)).status_code == 404


async def test_what_workers_evaluate_now_and_did_of_late_is_told(told: Told, owner: httpx.AsyncClient) -> None:
    now = datetime.now(UTC)
    told.create(new_run(created_at=now))
    story = Story(at=now)
    told.append([*story.seed(), story.propose(1, story.id(0)), story.create(1)])
    tasks = [
        {"evaluation_id": evaluation_id(story.id(1), 1), "seconds": 4.0},
        {"evaluation_id": "evl_of_nobody", "seconds": 2.0},
    ]
    word = {"slots": 2, "busy": 2, "started_at": now.isoformat(), "tasks": tasks}
    assert (await owner.post("/v1/workers/w-1/heartbeat", json=word)).status_code == 200
    page = (await owner.get("/v1/workers/evaluations?minutes=60")).json()
    first, unknown, done = page["items"]
    assert (first["worker_id"], first["run_id"], first["candidate_id"]) == ("w-1", RUN, story.id(1))
    assert (first["outcome"], first["ended_at"], page["truncated"]) == (None, None, False)
    assert (
        3.0 < (datetime.fromisoformat(page["until"]) - datetime.fromisoformat(first["began_at"])).total_seconds() < 60
    )
    assert (unknown["run_id"], unknown["candidate_id"]) == (None, None)
    assert (done["worker_id"], done["candidate_id"], done["outcome"]) == ("worker-1", story.id(0), "ok")
    took = datetime.fromisoformat(done["ended_at"]) - datetime.fromisoformat(done["began_at"])
    assert took.total_seconds() == 0.25
    assert (await owner.get("/v1/workers/evaluations?minutes=0")).status_code == 422
    endless = [{"evaluation_id": "evl_of_nobody", "seconds": 1e15}]
    assert (await owner.post("/v1/workers/w-2/heartbeat", json=word | {"tasks": endless})).status_code == 422
    assert (await owner.get("/v1/workers/evaluations?minutes=60")).status_code == 200
    async with told.client(*(scope for scope in Scope if scope is not Scope.OPERATE)) as other:
        assert (await other.get("/v1/workers/evaluations")).status_code == 403


async def test_how_policies_of_running_runs_fare_is_told_to_their_tenant(told: Told, owner: httpx.AsyncClient) -> None:
    told.create(new_run())
    told.append(Story().seed())
    assert (await owner.get("/v1/policies/health")).json() == {"items": []}
    seen = {"breaker": "open", "retry_seconds": 5.0, "reachable": False, "running": None, "waiting": None}
    told.log.renew(RUN, told.fences[RUN], 3600.0, {"syntax": seen | {"calls": 4, "in_flight": 2}})
    (one,) = (await owner.get("/v1/policies/health")).json()["items"]
    assert one == seen | {"run_id": RUN, "policy": "syntax", "at": "2026-03-01T12:00:00Z", "calls": 4, "in_flight": 2}
    async with told.client(tenant="default") as other:
        assert len((await other.get("/v1/policies/health")).json()["items"]) == 1


async def test_devices_of_workers_are_told_with_the_state_of_their_clocks(told: Told, owner: httpx.AsyncClient) -> None:
    device = {"name": "nvidia0", "model": "NVIDIA L4", "driver": "550.54", "clock_mhz": 900, "max_clock_mhz": 2040}
    read = {"min_reading_mhz": 900, "max_reading_mhz": 900, "readings": 3}
    word = {"slots": 2, "started_at": datetime.now(UTC).isoformat(), "devices": [{**device, **read}, {"name": "kfd"}]}
    assert (await owner.post("/v1/workers/w-1/heartbeat", json=word)).status_code == 200
    (worker,) = (await owner.get("/v1/workers")).json()["items"]
    unknown = {"name": "kfd", "model": "", "driver": "", "clock_mhz": 0, "max_clock_mhz": 0, "clocks": "unknown"}
    assert worker["devices"] == [{**device, "clocks": "locked"}, unknown]
    many = word | {"devices": [{"name": f"nvidia{number}"} for number in range(65)]}
    assert (await owner.post("/v1/workers/w-1/heartbeat", json=many)).status_code == 422


async def test_workers_are_seen_and_drained_by_the_operator(told: Told, owner: httpx.AsyncClient) -> None:
    assert (await owner.get("/v1/workers")).json() == {"items": [], "waiting": {}, "oldest_seconds": {}}
    assert (await owner.post("/v1/workers/w-1/drain")).status_code == 404
    word = {"slots": 2, "started_at": datetime.now(UTC).isoformat(), "isolation": "strong", "evaluations": 7}
    assert (await owner.post("/v1/workers/w-1/heartbeat", json=word)).json() == {"drain": False}
    page = (await owner.get("/v1/workers")).json()
    (worker,) = page["items"]
    assert (worker["worker_id"], worker["slots"], worker["evaluations"]) == ("w-1", 2, 7)
    assert page["waiting"] == {"cpu": 0}
    for _ in range(2):
        assert (await owner.post("/v1/workers/w-1/drain")).status_code == 202
    assert (await owner.post("/v1/workers/w-1/heartbeat", json=word)).json() == {"drain": True}
    async with told.client(*(scope for scope in Scope if scope is not Scope.OPERATE)) as other:
        assert (await other.get("/v1/workers")).status_code == 403
    async with told.client(tenant="other") as foreign:
        assert (await foreign.post("/v1/workers/w-1/drain")).status_code == 403
