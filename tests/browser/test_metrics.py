"""What a run came to, in numbers."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service


def test_the_page_shows_what_the_api_says(page: Page, service: Service, finished_run: str) -> None:
    told = service.get(f"/v1/runs/{finished_run}/statistics")
    page.goto(f"/runs/{finished_run}")
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/metrics")
    rows = page.get_by_role("region", name="Best of k answers").locator("tbody tr")
    budgets = {one["k"] for draws in ("answers", "chains") for one in told[draws]["at"]}
    expect(rows).to_have_count(len(budgets))
    expect(rows.first).to_contain_text(f"{told['answers']['at'][0]['best']:.5g}")
    tile = page.locator(".tile", has_text="Distinct reward vectors")
    expect(tile).to_contain_text(str(told["rewards"]["distinct"]))
    expect(page.get_by_role("region", name="By operator").locator("tbody tr")).to_have_count(len(told["operators"]))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: str) -> None:
    page = open_page(f"/runs/{finished_run}/metrics", theme=theme)
    expect(page.get_by_role("heading", name="What the numbers mean")).to_be_visible()
    assert_accessible(page)


def test_a_phone_scrolls_no_page_sideways(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/metrics", width=360)
    expect(page.get_by_role("heading", name="What the numbers mean")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
