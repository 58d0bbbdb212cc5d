"""Requests with an Idempotency-Key have their effect once."""

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from service.api.dependencies import ApiDependencies
from service.errors import InProgressError
from service.ports import StoredResponse
from tests.api.conftest import FILES
from tests.api.told import Told, open_told, small_run
from tests.contract.story import RUN

KEY = {"Idempotency-Key": "k-1"}
VIEW = {"name": "v", "settings": {}}


async def views(client: httpx.AsyncClient) -> list[Any]:
    items: list[Any] = (await client.get("/v1/saved-filters")).json()["items"]
    return items


async def test_a_repeated_request_is_answered_as_before_and_has_no_second_effect(owner: httpx.AsyncClient) -> None:
    first = await owner.post("/v1/saved-filters", json=VIEW, headers=KEY)
    again = await owner.post("/v1/saved-filters", json=VIEW, headers=KEY)
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["Location"] == first.headers["Location"]
    assert again.headers["X-Request-ID"] != first.headers["X-Request-ID"]
    assert len(await views(owner)) == 1
    await owner.post("/v1/saved-filters", json=VIEW)
    await owner.post("/v1/saved-filters", json=VIEW, headers={"Idempotency-Key": "k-2"})
    assert len(await views(owner)) == 3


async def test_a_key_belongs_to_one_request(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    await owner.post("/v1/saved-filters", json=VIEW, headers=KEY)
    for path, body in (("/v1/saved-filters", VIEW | {"name": "w"}), (f"/v1/runs/{RUN}/notes", {"body": "x"})):
        other = await owner.post(path, json=body, headers=KEY)
        assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert len(await views(owner)) == 1
    async with told.client() as another:
        assert (await another.post("/v1/saved-filters", json=VIEW, headers=KEY)).status_code == 201
    assert len(await views(owner)) == 2


async def test_what_was_refused_is_not_remembered(owner: httpx.AsyncClient) -> None:
    run = {"problem": "p"}
    assert (await owner.post("/v1/runs", json=run, headers=KEY)).status_code == 404
    assert (await owner.post("/v1/problems", json={"files": FILES})).status_code == 201
    assert (await owner.post("/v1/runs", json=run, headers=KEY)).status_code == 201


async def test_of_many_at_once_one_has_its_effect(owner: httpx.AsyncClient, problem: str) -> None:
    answers = await asyncio.gather(*(owner.post("/v1/runs", json={"problem": "p"}, headers=KEY) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) == 1
    assert len((await owner.get("/v1/runs")).json()["items"]) == 1


class _Breaking:
    """Requests whose process ends between the effect and the keeping of its answer."""

    def __init__(self, parts: ApiDependencies) -> None:
        self._requests, self.broken = parts.requests, True

    def begin(self, *words: Any) -> StoredResponse | None:
        return self._requests.begin(*words)

    def finish(self, actor: str, key: str, response: StoredResponse) -> None:
        if self.broken:
            raise SystemError("the process ends here")
        self._requests.finish(actor, key, response)


async def test_an_effect_whose_answer_is_not_kept_did_not_happen(tmp_path: Path) -> None:
    made: list[_Breaking] = []

    def change(parts: ApiDependencies) -> ApiDependencies:
        made.append(_Breaking(parts))
        return replace(parts, requests=made[0])

    async with open_told(tmp_path, change) as told, told.client() as owner:
        await owner.post("/v1/problems", json={"files": FILES})
        body = {"name": "b", "runs": [{"problem": "p"}, {"problem": "p"}]}
        assert (await owner.post("/v1/batches", json=body, headers=KEY)).status_code == 500
        for path in ("/v1/runs", "/v1/batches"):
            assert (await owner.get(path)).json()["items"] == []
        made[0].broken = False
        assert (await owner.post("/v1/batches", json=body, headers=KEY)).status_code == 201
        assert len((await owner.get("/v1/runs")).json()["items"]) == 2


async def test_who_comes_while_the_first_is_at_work_may_come_again(tmp_path: Path) -> None:
    class AtWork(_Breaking):
        def begin(self, *words: Any) -> StoredResponse | None:
            raise InProgressError("the first request with this idempotency key is still at work: try again")

    def change(parts: ApiDependencies) -> ApiDependencies:
        return replace(parts, requests=AtWork(parts))

    async with open_told(tmp_path, change) as told, told.client() as owner:
        answer = await owner.post("/v1/saved-filters", json=VIEW, headers=KEY)
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (409, "in_progress", "1")


class _Held(_Breaking):
    """Requests that wait between the effect and the keeping of its answer until they are let go."""

    def __init__(self, parts: ApiDependencies) -> None:
        super().__init__(parts)
        self.entered, self.go, self.broken = threading.Event(), threading.Event(), False

    def finish(self, actor: str, key: str, response: StoredResponse) -> None:
        self.entered.set()
        assert self.go.wait(30)
        super().finish(actor, key, response)


async def test_nobody_sees_an_effect_before_its_answer_is_kept(tmp_path: Path) -> None:
    made: list[_Held] = []

    def change(parts: ApiDependencies) -> ApiDependencies:
        made.append(_Held(parts))
        return replace(parts, requests=made[0])

    async with open_told(tmp_path, change) as told, told.client() as owner:
        await owner.post("/v1/problems", json={"files": FILES})
        first = asyncio.create_task(owner.post("/v1/runs", json={"problem": "p"}, headers=KEY))
        await asyncio.to_thread(made[0].entered.wait, 30)
        second = asyncio.create_task(owner.post("/v1/runs", json={"problem": "p"}, headers=KEY))
        assert (await owner.get("/v1/runs")).json()["items"] == []
        made[0].go.set()
        answers = await asyncio.gather(first, second)
    assert {answer.status_code for answer in answers} == {201}
    assert answers[0].content == answers[1].content


@pytest.mark.parametrize(
    ("path", "body", "member"),
    [
        ("/v1/api-keys", {"name": "k", "scopes": ["runs:read"]}, "key"),
        (f"/v1/runs/{RUN}/shares", {}, "token"),
    ],
)
async def test_secrets_are_kept_in_no_answer(
    told: Told, owner: httpx.AsyncClient, path: str, body: Any, member: str
) -> None:
    small_run(told)
    first = (await owner.post(path, json=body, headers=KEY)).json()
    again = (await owner.post(path, json=body, headers=KEY)).json()
    assert first[member].startswith("ev")
    assert again == first | {member: None}
    with told.database.read() as connection:
        rows = connection.execute(text("select * from idempotency_keys")).all()
    assert len(rows) == 1
    assert first[member] not in repr(rows)
    assert json.loads(rows[0].body)[member] is None
