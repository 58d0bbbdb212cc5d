"""Pages about a run that come before their figures."""

import asyncio
import re

import pytest

from service.dashboard import loading
from service.dashboard.run_page import TABS, Tab
from tests.api.told import Told, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN

SHELL = "data-loading"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers who wait for nothing."""
    monkeypatch.setattr(loading, "PATIENCE_SECONDS", 0.0)


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.name)
@pytest.mark.usefixtures("hurried")
async def test_a_page_that_takes_longer_comes_with_head_and_tabs(told: Told, tab: Tab) -> None:
    small_run(told)
    async with visitor(told) as client:
        del client.headers["X-Evolve-Wait"]
        first = await client.get(tab.of(RUN))
        whole = await client.get(tab.of(RUN), headers={"X-Evolve-Wait": "1"})
    assert SHELL in first.text
    assert re.search(rf'<a href="{tab.of(RUN)}"[^>]*aria-current="page">{tab.title}</a>', first.text)
    assert re.search(r"Reading \d+ evaluations? of this run\.", first.text)
    assert whole.status_code == 200
    assert SHELL not in whole.text


@pytest.mark.usefixtures("hurried")
async def test_who_has_no_script_is_led_to_the_whole_page_with_what_was_asked(told: Told) -> None:
    small_run(told)
    async with visitor(told) as client:
        del client.headers["X-Evolve-Wait"]
        first = await client.get(f"/runs/{RUN}/candidates", params={"outcome": "ok"})
        found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', first.text)
        assert found
        whole = await client.get(f"/runs/{RUN}/candidates{found[1].replace('&amp;', '&')}")
    assert SHELL not in whole.text
    assert found[1] == "?outcome=ok&amp;wait=1"


@pytest.mark.usefixtures("hurried")
async def test_a_page_that_is_not_there_is_said_to_be_so_at_once(told: Told) -> None:
    async with visitor(told) as client:
        del client.headers["X-Evolve-Wait"]
        assert (await client.get("/runs/run_none/objectives")).status_code == 404
    async with visitor(told) as client:
        del client.headers["X-Evolve-Wait"]
        client.cookies.clear()
        answer = await client.get(f"/runs/{RUN}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next=%2Fruns%2F{RUN}")


@pytest.mark.usefixtures("hurried")
async def test_what_a_page_reads_is_read_to_its_end_though_nobody_waits(told: Told) -> None:
    small_run(told)
    async with visitor(told) as client:
        del client.headers["X-Evolve-Wait"]
        await client.get(f"/runs/{RUN}/metrics")
        while loading._under_way:
            await asyncio.wait(set(loading._under_way))
    assert told.app.state.run_cache._kept[RUN].columns is not None


async def test_a_page_in_time_comes_whole(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PATIENCE_SECONDS", 60.0)
    small_run(told)
    async with visitor(told) as client:
        del client.headers["X-Evolve-Wait"]
        page = await client.get(f"/runs/{RUN}")
    assert page.status_code == 200
    assert SHELL not in page.text
