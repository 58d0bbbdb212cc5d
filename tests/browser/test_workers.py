"""Workers, queue and policies, as they are now."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service

NAME = "elsewhere-1"
WORD = {"slots": 3, "busy": 2, "isolation": "strong", "version": "1", "started_at": "2026-03-01T12:00:00Z"}


@pytest.fixture
def beating(service: Service) -> Iterator[Any]:
    """Has a worker of another machine say that it lives, in a pool where no run looks for one; what it is told."""

    def heartbeat() -> dict[str, Any]:
        path = f"/v1/workers/{NAME}/heartbeat"
        told: dict[str, Any] = service.client.post(path, json={**WORD, "pool": "far"}).raise_for_status().json()
        return told

    heartbeat()
    yield heartbeat
    service.client.post(f"/v1/workers/{NAME}/leave", json={"pool": "far"}).raise_for_status()


def test_the_page_shows_who_lives(page: Page, service: Service, beating: Any) -> None:
    told = service.get("/v1/workers")["items"]
    page.goto("/workers")
    rows = page.get_by_role("region", name="Workers").locator("tbody tr")
    expect(rows).to_have_count(len(told))
    assert len(told) == 2  # the service has one in its own process
    expect(rows.filter(has_text=NAME)).to_contain_text("2 of 3")
    expect(page.get_by_role("region", name="Queue").locator("tbody tr").filter(has_text="far")).to_contain_text(
        "2 of 3"
    )
    expect(page.locator("dl .tile").filter(has_text="Workers")).to_contain_text("of 5 slots busy")


def test_a_worker_shows_its_devices_and_whether_their_clocks_are_locked(
    page: Page, service: Service, beating: Any
) -> None:
    read = {"clock_mhz": 900, "min_reading_mhz": 900, "max_reading_mhz": 900, "readings": 4}
    devices = [
        {"name": "nvidia0", "model": "NVIDIA H100", "driver": "550.54", "max_clock_mhz": 1980, **read},
        {"name": "renderD129"},
    ]
    word = {**WORD, "pool": "far", "devices": devices}
    service.client.post(f"/v1/workers/{NAME}/heartbeat", json=word).raise_for_status()
    page.goto("/workers")
    row = page.get_by_role("region", name="Workers").locator("tbody tr").filter(has_text=NAME)
    expect(row).to_contain_text("nvidia0: NVIDIA H100, driver 550.54, 900 MHz, clocks locked")
    expect(row).to_contain_text("renderD129: model unknown, clocks unknown")
    assert_accessible(page)


def test_a_worker_is_drained_by_a_button(page: Page, beating: Any) -> None:
    assert beating() == {"drain": False}
    page.goto("/workers")
    page.get_by_role("button", name=f"Drain {NAME}").click()
    expect(page.get_by_role("heading", name="Workers and queue")).to_be_visible()
    assert beating() == {"drain": True}


def test_what_a_worker_has_in_hand_stands_in_a_strip_of_its_own(page: Page, service: Service, beating: Any) -> None:
    word = {**WORD, "pool": "far", "tasks": [{"evaluation_id": "evl_of_nobody", "seconds": 90.0}]}
    service.client.post(f"/v1/workers/{NAME}/heartbeat", json=word).raise_for_status()
    page.goto("/workers")
    strip = page.locator("figure.occupancy").filter(has_text=NAME)
    expect(strip).to_contain_text("1 running, 0 done in 10 minutes")
    bar = strip.locator("rect.now")
    expect(bar).to_have_count(1)
    # A minute and a half of ten, up to the right edge, as far as the clock of the test goes on.
    width, left = float(bar.get_attribute("width") or 0), float(bar.get_attribute("x") or 0)
    assert 150 <= width < 200
    assert left + width == pytest.approx(1000, abs=1)
    expect(strip.locator("li")).to_contain_text("that has just ended, or belongs to another tenant")
    assert_accessible(page)


def test_figures_change_by_themselves_and_are_announced(page: Page, service: Service, beating: Any) -> None:
    page.goto("/workers")
    rows = page.get_by_role("region", name="Workers").locator("tbody tr")
    expect(rows).to_have_count(2)
    service.client.post(f"/v1/workers/{NAME}/leave", json={"pool": "far"}).raise_for_status()
    expect(rows).to_have_count(1)
    expect(page.locator("[data-announcer]")).to_contain_text("1 worker,")


def test_what_is_under_way_stands_with_its_pace(page: Page, live_run: str) -> None:
    page.goto("/workers")
    row = (
        page.get_by_role("region", name="Active runs")
        .locator("tbody tr")
        .filter(has=page.locator(f"a[href='/runs/{live_run}']"))
    )
    expect(row).to_contain_text(re.compile(r"of 1\u202f000\u202f000"))
    policy = page.get_by_role("region", name="Policies").locator("tbody tr").filter(has_text="syntax").first
    expect(policy).to_contain_text("answers")


def test_figures_stay_while_the_service_is_away_and_go_on_after_it(page: Page, complaints: Complaints) -> None:
    complaints.expect("503")
    page.goto("/workers")
    away = re.compile("/workers/standing$")
    page.route(away, lambda route: route.fulfill(status=503, content_type="text/html", body="<p>Away</p>"))
    with page.expect_response(lambda answer: answer.status == 503):
        pass
    page.unroute(away)
    with page.expect_response(lambda answer: bool(away.search(answer.url)) and answer.ok):
        pass
    expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()


def test_without_script_the_tables_are_there(open_page: OpenPage) -> None:
    page = open_page("/workers", javascript=False)
    expect(page.get_by_role("region", name="Policies").locator("tbody tr").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_shuts_nobody_out(open_page: OpenPage, beating: Any, live_run: str, theme: str) -> None:
    page = open_page("/workers", theme=theme)
    expect(page.get_by_role("region", name="Active runs")).to_be_visible()
    assert_accessible(page)


def test_a_phone_scrolls_no_page_sideways(open_page: OpenPage, beating: Any) -> None:
    page = open_page("/workers", width=360)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
