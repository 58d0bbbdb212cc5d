"""The table of a run's candidates."""

import re

import pytest
from playwright.sync_api import Page, expect

from service.dashboard.numbers import number
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service


def test_rows_are_those_of_the_api_in_the_order_asked_for(page: Page, service: Service, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/candidates")
    page.get_by_role("columnheader", name="Fitness").get_by_role("link").click()
    expect(page.get_by_role("columnheader", name="Fitness")).to_have_attribute("aria-sort", "descending")
    told = service.get(f"/v1/runs/{finished_run}/candidates?order=fitness&limit=50")["items"]
    rows = page.locator("#candidates tbody tr")
    assert rows.locator("td:nth-child(4)").all_text_contents() == [number(one["fitness"]) for one in told]
    assert [link.get_attribute("href") for link in rows.locator("td:nth-child(2) a").all()] == [
        f"/candidates/{one['id']}" for one in told
    ]


def test_a_walk_over_the_pages_sees_every_program_once(page: Page, service: Service, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/candidates")
    seen = page.locator("#candidates tbody td:nth-child(2) a").all_text_contents()
    while (following := page.locator("[rel=next]")).count():
        following.click()
        page.wait_for_url(re.compile("cursor="))
        seen += page.locator("#candidates tbody td:nth-child(2) a").all_text_contents()
        assert len(seen) <= 1000
    told = service.get(f"/v1/runs/{finished_run}/candidates?limit=200")["items"]
    assert seen == [one["name"] for one in told]


def test_filters_and_columns_stand_in_the_address(page: Page, service: Service, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/candidates")
    page.get_by_label("Outcome").select_option("error")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("digits").check()
    page.get_by_role("button", name="Show").first.click()
    expect(page).to_have_url(re.compile(r"outcome=error.*columns=digits"))
    expect(page.get_by_role("columnheader", name="digits")).to_be_visible()
    told = service.get(f"/v1/runs/{finished_run}/candidates?outcome=error&limit=50&include=count")
    assert told["count"] > 0
    expect(page.locator("#candidates tbody tr")).to_have_count(len(told["items"]))
    page.go_back()
    expect(page.get_by_role("columnheader", name="digits")).to_have_count(0)


def test_a_text_is_found_in_sources_and_stands_in_the_address(page: Page, service: Service, finished_run: str) -> None:
    best = service.get(f"/v1/runs/{finished_run}/candidates?order=fitness&limit=1")["items"][0]
    line = service.get(f"/v1/candidates/{best['id']}/source")["files"][0]["text"].strip().splitlines()[-1].strip()
    page.goto(f"/runs/{finished_run}/candidates?order=fitness")
    page.keyboard.press("/")
    page.keyboard.type(line.upper())
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("text="))
    expect(page.get_by_label("Text in the source")).to_have_value(line.upper())
    expect(page.locator(f"#candidates a[href='/candidates/{best['id']}']").first).to_be_visible()
    page.get_by_label("Text in the source").fill("<script>alert(1)</script>%")
    page.get_by_role("button", name="Show").first.click()
    expect(page.get_by_text("0 candidates")).to_contain_text("<script>alert(1)</script>%")
    expect(page.locator("#candidates")).to_have_count(0)
    assert_accessible(page)


def test_two_that_are_selected_stand_side_by_side_with_their_difference(
    page: Page, service: Service, finished_run: str
) -> None:
    page.goto(f"/runs/{finished_run}/candidates?order=fitness")
    boxes = page.locator("#candidates tbody input")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.get_by_role("button", name="Compare").click()
    first, second = service.get(f"/v1/runs/{finished_run}/candidates?order=fitness&limit=2")["items"]
    row = page.locator("tr", has=page.locator("th", has_text=re.compile("^fitness$")))
    assert row.locator("td").all_text_contents() == [number(first["fitness"]), number(second["fitness"])]
    diff = service.get(f"/v1/candidates/{second['id']}/diff?against={first['id']}")
    expect(page.locator("tr.added")).to_have_count(diff["added"])
    expect(page.locator("tr.removed")).to_have_count(diff["removed"])


def test_a_run_at_work_moves_no_row_and_says_how_many_are_new(page: Page, live_run: str) -> None:
    page.goto(f"/runs/{live_run}/candidates")
    rows = page.locator("#candidates tbody tr")
    before = rows.count()
    news = page.locator("news-count a")
    expect(news).to_have_text(re.compile(r"^\+\d+ new$"))
    assert rows.count() == before
    news.click()
    expect(news).to_have_count(0)
    assert rows.count() > before or page.locator("[rel=next]").count() == 1


def test_the_table_is_there_without_script(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/candidates", javascript=False)
    expect(page.locator("#candidates tbody tr")).to_have_count(50)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_table_of_programs_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: str) -> None:
    assert_accessible(open_page(f"/runs/{finished_run}/candidates", theme=theme))
    page = open_page(f"/runs/{finished_run}/candidates?order=fitness", theme=theme, width=400)
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
