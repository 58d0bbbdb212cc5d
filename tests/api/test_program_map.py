"""The map of a run's programs in the API: complete after some requests, tagged, and for readers alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from service.ports import Scope
from service.projections import program_map
from tests.api.told import Told, open_told, small_run
from tests.contract.story import RUN, new_run

EMPTY = "run_0190bbbb000000000000000000000002"


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
async def client(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with told.client() as opened:
        yield opened


async def test_a_map_grows_until_it_is_complete(
    told: Told, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_map, "PLACED_AT_ONCE", 2)
    small_run(told)
    columns = (await client.get(f"/v1/runs/{RUN}/columns")).json()
    first = await client.get(f"/v1/runs/{RUN}/program-map")
    assert (len(first.json()["place"]), first.json()["complete"]) == (2, False)
    seen = {"If-None-Match": first.headers["etag"]}
    while not (answer := await client.get(f"/v1/runs/{RUN}/program-map", headers=seen)).json()["complete"]:
        seen = {"If-None-Match": answer.headers["etag"]}
    found = answer.json()
    assert found["total"] == columns["total"] == len(found["place"])
    for name in ("place", "proposal_number", "position", "island", "fitness"):
        assert found[name] == columns[name]
    assert {len(found[name]) for name in ("x", "y", "outcome", "operator")} == {found["total"]}
    again = await client.get(f"/v1/runs/{RUN}/program-map", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


async def test_a_run_without_evaluations_has_an_empty_map(told: Told, client: httpx.AsyncClient) -> None:
    told.create(new_run(EMPTY))
    found = (await client.get(f"/v1/runs/{EMPTY}/program-map")).json()
    assert (found["place"], found["complete"], found["correlation"], found["compared"]) == ([], True, None, 0)


async def test_a_map_is_for_those_who_may_read_runs(told: Told) -> None:
    small_run(told)
    async with told.client(Scope.RUNS_WRITE) as other:
        assert (await other.get(f"/v1/runs/{RUN}/program-map")).status_code == 403
